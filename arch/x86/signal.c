/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signal frames, as Linux lays them out on x86-64: programs and C libraries know this format (they
 * read the interrupted registers through ucontext, and unwinders recognise the frame).
 *
 *	high   interrupted stack, its 128-byte red zone skipped (or the top of the alternate stack)
 *	       FXSAVE image, 64-byte aligned
 *	       siginfo, ucontext
 *	low    return address = sa_restorer      <- stack pointer of the handler, 16n + 8
 *
 * The handler returns to sa_restorer, which calls rt_sigreturn with the stack pointer at the
 * ucontext. What comes back is the program's to choose, except what could harm the kernel:
 * selectors must be the user's, the address in the user half, flags limited to FLAGS_USER, and
 * MXCSR to bits that exist.
 */
#include "kernel/arch.h"
#include "kernel/mm/mm.h"
#include "kernel/percpu.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/signal.h"
#include "lib/string.h"
#include "x86.h"

struct sigcontext {
	u64 r8, r9, r10, r11, r12, r13, r14, r15;
	u64 di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	u16 cs, gs, fs, ss;
	u64 err, trapno, oldmask, cr2;
	u64 fpstate; /* user address of the FXSAVE image */
	u64 reserved[8];
};

struct ucontext {
	u64 flags, link;
	struct {
		u64 sp;
		u32 flags, pad;
		u64 size;
	} stack;
	struct sigcontext mcontext;
	u64 mask;
};

struct sigframe {
	u64 restorer;
	struct ucontext uc;
	u8 info[128];
};
STATIC_ASSERT(sizeof(struct sigcontext) == 256, "struct sigcontext of the ABI");
STATIC_ASSERT(offsetof(struct ucontext, mcontext) == 40, "uc_mcontext");

#define UC_SIGCONTEXT_SS     2 /* ss is saved and restored */
#define UC_STRICT_RESTORE_SS 4
#define RED_ZONE	     128
#define MXCSR_VALID	     0xffff /* every x86-64 processor that has DAZ; others are long gone */

static void save_context(struct sigcontext *sc, const struct user_regs *regs)
{
	*sc = (struct sigcontext){
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.r12 = regs->r12,
		.r13 = regs->r13,
		.r14 = regs->r14,
		.r15 = regs->r15,
		.di = regs->di,
		.si = regs->si,
		.bp = regs->bp,
		.bx = regs->bx,
		.dx = regs->dx,
		.ax = regs->ax,
		.cx = regs->cx,
		.sp = regs->sp,
		.ip = regs->ip,
		.flags = regs->flags,
		.cs = regs->cs,
		.ss = regs->ss,
	};
}

static void restore_context(struct user_regs *regs, const struct sigcontext *sc)
{
	*regs = (struct user_regs){
		.r8 = sc->r8,
		.r9 = sc->r9,
		.r10 = sc->r10,
		.r11 = sc->r11,
		.r12 = sc->r12,
		.r13 = sc->r13,
		.r14 = sc->r14,
		.r15 = sc->r15,
		.di = sc->di,
		.si = sc->si,
		.bp = sc->bp,
		.bx = sc->bx,
		.dx = sc->dx,
		.ax = sc->ax,
		.cx = sc->cx,
		.sp = sc->sp,
		.ip = sc->ip,
		.cs = SEL_USER_CODE,
		.ss = SEL_USER_DATA,
		.flags = (sc->flags & FLAGS_USER) | FLAGS_FIXED | FLAGS_IF,
		.orig_ax = (u64)-1, /* no system call to restart */
	};
}

static bool on_altstack(const struct sigframe_request *req, u64 sp)
{
	return sp - req->altstack - 1 < req->altstack_size;
}

/* Where the frame begins: @*fpstate above it. 0: the signal stack has no room for it. */
static u64 place_frame(const struct sigframe_request *req, u64 sp, u64 *fpstate)
{
	bool is_on = on_altstack(req, sp);
	bool enters = !is_on && req->altstack_size && req->flags & SA_ONSTACK;

	sp = enters ? req->altstack + req->altstack_size : sp - RED_ZONE;
	*fpstate = ALIGN_DOWN(sp - sizeof(struct fpu_state), 64);
	sp = ALIGN_DOWN(*fpstate - sizeof(struct sigframe), 16) - 8;
	return (is_on || enters) && !on_altstack(req, sp) ? 0 : sp;
}

int arch_signal_frame(struct thread *t, const struct sigframe_request *req)
{
	struct user_regs *regs = arch_user_regs(t);
	struct sigframe frame = { .restorer = req->restorer };
	struct fpu_state fpu = { 0 };
	u64 fpstate, at = place_frame(req, regs->sp, &fpstate);

	if (!at || req->handler >= USER_END)
		return -EFAULT;
	frame.uc.flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	frame.uc.stack.sp = req->altstack;
	frame.uc.stack.size = req->altstack_size;
	frame.uc.mask = req->old_mask;
	save_context(&frame.uc.mcontext, regs);
	frame.uc.mcontext.fpstate = fpstate;
	memcpy(frame.info, req->siginfo, sizeof(frame.info));
	/*
	 * FXSAVE leaves the last 96 bytes as they are: "+m" keeps the zeros that go to user space.
	 */
	__asm__ volatile("fxsave64 %0" : "+m"(fpu));
	if (arch_copy_to_user((void *)fpstate, &fpu, sizeof(fpu)) ||
	    arch_copy_to_user((void *)at, &frame, sizeof(frame)))
		return -EFAULT;
	regs->di = req->sig;
	regs->si = at + offsetof(struct sigframe, info);
	regs->dx = at + offsetof(struct sigframe, uc);
	regs->ax = 0; /* variadic handlers: no vector registers */
	regs->ip = req->handler;
	regs->sp = at;
	regs->flags &= ~(FLAGS_DF | FLAGS_TF | FLAGS_RF);
	regs->vector = 0;
	return 0;
}

static int restore_fpu(u64 fpstate)
{
	struct fpu_state fpu;

	if (!fpstate)
		return 0;
	if (arch_copy_from_user(&fpu, (void *)fpstate, sizeof(fpu)))
		return -EFAULT;
	fpu.mxcsr &= MXCSR_VALID;
	__asm__ volatile("fxrstor64 %0" : : "m"(fpu));
	return 0;
}

int arch_signal_return(struct thread *t, u64 *mask)
{
	struct user_regs *regs = arch_user_regs(t);
	struct ucontext uc;

	/* The handler's return has popped the restorer's address. */
	if (arch_copy_from_user(&uc, (void *)regs->sp, sizeof(uc)))
		return -EFAULT;
	if (uc.mcontext.ip >= USER_END || uc.mcontext.cs != SEL_USER_CODE ||
	    uc.mcontext.ss != SEL_USER_DATA)
		return -EFAULT;
	if (restore_fpu(uc.mcontext.fpstate))
		return -EFAULT;
	restore_context(regs, &uc.mcontext);
	*mask = uc.mask;
	return 0;
}

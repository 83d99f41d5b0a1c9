/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The architecture's types that the rest of the kernel embeds: the registers of user space as
 * an entry saves them, and the per-thread context. Also read by assembly, which knows the
 * offsets of struct user_regs by the names below (asserted in entry.c).
 */
#pragma once

#ifndef __ASSEMBLY__
#include "lib/types.h"

/*
 * The top of the kernel stack of a thread that entered from user space, lowest address first.
 * The order is chosen for the system call path: the six arguments are adjacent and in order, so
 * that handlers read them in place, and the 22 words keep the stack 16-byte aligned.
 */
struct user_regs {
	u64 r15, r14, r13, r12, bp, bx;
	u64 r11, cx, ax;
	u64 di, si, dx, r10, r8, r9; /* system call arguments 0..5 */
	u64 vector;		     /* exception, interrupt, or REGS_SYSCALL */
	u64 orig_ax;		     /* system call number, or the error code of an exception */
	u64 ip, cs, flags, sp, ss;
};

/* FXSAVE image: x87, MMX and SSE. XSAVE is never enabled, so programs find no AVX and use none. */
struct fpu_state {
	u16 fcw, fsw;
	u8 ftw, reserved;
	u16 fop;
	u64 fip, fdp;
	u32 mxcsr, mxcsr_mask;
	u8 regs[480];
} __aligned(16);
STATIC_ASSERT(sizeof(struct fpu_state) == 512, "FXSAVE writes 512 bytes");

/* The state from which a thread that does not run goes on. */
struct arch_thread {
	u64 sp;		      /* saved kernel stack pointer */
	u64 fs_base;	      /* thread pointer (TLS) of user space */
	struct fpu_state fpu; /* unused by kernel threads */
};
#endif

/*
 * user_regs.vector of a system call: the exit may take the short way (sysret), which restores what
 * a system call can change: ax, ip, flags, sp. Code that changes other registers sets vector to 0.
 */
#define REGS_SYSCALL (-1)

/* Address map. Direct map: physical address + DIRECT_MAP. Image: physical + IMAGE_BASE. */
#define USER_END	0x7ffffffff000ull /* programs are below */
#define DIRECT_MAP	0xffff888000000000
#define ARCH_VMAP_START 0xffffc90000000000 /* kernel virtual areas: vmap_alloc, kernel stacks */
#define ARCH_VMAP_END	0xffffc98000000000
#define IMAGE_BASE	0xffffffff80000000
/* Of the shadow of a kernel address (kernel/mm/kasan.h), which stands for eight bytes. */
#define ARCH_KASAN_OFFSET 0xdffffc0000000000

/* For the auxiliary vector. */
#define ARCH_PLATFORM	  "x86_64"
#define ARCH_MIN_SIGSTACK 1440 /* as Linux says when frames hold an FXSAVE image only */

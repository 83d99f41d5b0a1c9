/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every way into the kernel and out of it, and the switch between stacks.
 *
 * All entries from user space leave the same picture, struct user_regs, at the top of the
 * thread's kernel stack; entries from kernel mode leave it below what ran. GS: swapped on each
 * crossing between user and kernel mode and nowhere else, decided by the saved CS. Only an NMI,
 * double fault or machine check can come between a crossing and its swapgs; those have stacks of
 * their own and do not trust GS.
 *
 * Cost matters here and is counted in instructions: a system call is 38 in, 27 out, its handler not
 * counted. That is why its common path, which the kernel has in C for every other entry
 * (kernel_enter_from_user, kernel_exit_to_user), is written out here.
 */
#include "asm.h"

/* Offsets and numbers of C; trap.c asserts them. */
#define CPU_RUNNING 8
#define CPU_KERNEL_SP 16
#define CPU_USER_SP 24
#define CPU_NEED_RESCHED 36
#define CPU_USER_CYCLES 40
#define THREAD_FLAGS 0
#define THREAD_USER_STAMP 4
#define THREAD_USER_CYCLES 8
#define THREAD_EXIT_WORK 0x64
#define REGS_AX 64
#define REGS_DI 72
#define REGS_VECTOR 120
#define REGS_ORIG_AX 128
#define NR_SYSCALLS 512
#define ENOSYS 38
#define RESTART_FIRST 512 /* results -512..-516 restart the call */
#define RESTART_LAST 516

.macro PUSH_REGS
	pushq %r9
	pushq %r8
	pushq %r10
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %rax
	pushq %rcx
	pushq %r11
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
.endm

/* All of struct user_regs up to the words that iretq takes. */
.macro POP_REGS
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	popq %r11
	popq %rcx
	popq %rax
	popq %rdi
	popq %rsi
	popq %rdx
	popq %r10
	popq %r8
	popq %r9
	addq $16, %rsp /* vector, orig_ax */
.endm

	.text
/*
 * syscall: RCX = return address, R11 = flags, interrupts off and AC, DF, TF clear by the flag
 * mask. RBX, RBP, R12-R15 survive the C code, so that the short way out restores only what C may
 * change.
 */
FUNCTION(x86_syscall_entry)
	swapgs
	movq %rsp, %gs:CPU_USER_SP
	movq %gs:CPU_KERNEL_SP, %rsp
	pushq $SEL_USER_DATA
	pushq %gs:CPU_USER_SP
	pushq %r11
	pushq $SEL_USER_CODE
	pushq %rcx
	pushq %rax
	pushq $REGS_SYSCALL
	PUSH_REGS
	/* Time in user space ends. */
	movq %gs:CPU_RUNNING, %rcx
	rdtsc
	subl THREAD_USER_STAMP(%rcx), %eax
	movl $0, THREAD_USER_STAMP(%rcx)
	addq %rax, THREAD_USER_CYCLES(%rcx)
	addq %rax, %gs:CPU_USER_CYCLES
	movq REGS_ORIG_AX(%rsp), %rax
	leaq REGS_DI(%rsp), %rdi
	sti
	cmpq $NR_SYSCALLS, %rax
	jae .Lno_syscall
	call *kernel_syscalls(, %rax, 8)
.Lsyscall_done:
	movq %rax, REGS_AX(%rsp)
	addq $RESTART_LAST, %rax
	cmpq $RESTART_LAST - RESTART_FIRST, %rax
	jbe .Lsyscall_restarts
.Lleave_syscall:
	cli
	cmpl $0, %gs:CPU_NEED_RESCHED
	jne .Lsyscall_exit_work
	movq %gs:CPU_RUNNING, %rcx
	testb $THREAD_EXIT_WORK, THREAD_FLAGS(%rcx)
	jnz .Lsyscall_exit_work
	rdtsc
	movl %eax, THREAD_USER_STAMP(%rcx)
.Lsyscall_return:
	cmpq $REGS_SYSCALL, REGS_VECTOR(%rsp)
	jne x86_user_return
	/*
	 * sysret with a non-canonical RCX would fault in kernel mode on the user's stack. That
	 * cannot happen: RCX is the address after a syscall instruction, or two less (restart), and
	 * all code is below USER_END.
	 */
	addq $REGS_AX, %rsp
	popq %rax
	popq %rdi
	popq %rsi
	popq %rdx
	popq %r10
	popq %r8
	popq %r9
	movq 16(%rsp), %rcx
	movq 32(%rsp), %r11
	movq 40(%rsp), %rsp
	swapgs
	sysretq
.Lno_syscall:
	movq $-ENOSYS, %rax
	jmp .Lsyscall_done
.Lsyscall_restarts:
	movq %rsp, %rdi
	call kernel_syscall_restarts
	jmp .Lleave_syscall
.Lsyscall_exit_work:
	movq %rsp, %rdi
	call kernel_exit_to_user
	jmp .Lsyscall_return
END(x86_syscall_entry)

/* Vector number and error code (0 if the processor has none) are on the stack. */
FUNCTION(x86_trap_entry)
	testb $3, 24(%rsp) /* saved CS: from user mode? */
	jz 1f
	swapgs
	PUSH_REGS
	CLAC
	cld
	xorl %ebp, %ebp
	movq %rsp, %rdi
	call x86_trap_user
	.globl x86_user_return
x86_user_return: /* %rsp -> struct user_regs, interrupts off */
	POP_REGS
	swapgs
	iretq
1:	PUSH_REGS
	CLAC
	cld
	movq %rsp, %rdi
	call x86_trap_kernel
	POP_REGS
	iretq
END(x86_trap_entry)

/*
 * Loads the kernel's GS at whatever instruction we came from: only a kernel address is negative.
 * RBX: was it swapped?
 */
.macro LOAD_GS
	movl $MSR_GS_BASE, %ecx
	rdmsr
	xorl %ebx, %ebx
	testl %edx, %edx
	js .Lloaded\@
	swapgs
	incl %ebx
.Lloaded\@:
.endm

/* An NMI comes on its own stack, at any instruction. */
FUNCTION(x86_nmi_entry)
	PUSH_REGS
	CLAC
	cld
	LOAD_GS
	movq %rsp, %rdi
	call x86_nmi
	testl %ebx, %ebx
	jz 1f
	swapgs
1:	POP_REGS
	iretq
END(x86_nmi_entry)

/* Double fault and machine check never return. */
FUNCTION(x86_fatal_entry)
	PUSH_REGS
	CLAC
	cld
	LOAD_GS
	movq %rsp, %rdi
	call x86_fatal
	ud2
END(x86_fatal_entry)

/* 256 stubs of 16 bytes. */
	.balign 16
	.globl x86_vectors
x86_vectors:
	.set vector, 0
	.rept 256
	.balign 16
	.if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21)
	pushq $0
	.endif
	pushq $vector
	.if vector == VECTOR_NMI
	jmp x86_nmi_entry
	.elseif vector == VECTOR_DOUBLE_FAULT || vector == VECTOR_MACHINE_CHECK
	jmp x86_fatal_entry
	.else
	jmp x86_trap_entry
	.endif
	.set vector, vector + 1
	.endr

/*
 * Lab 11, stacks: void x86_switch_stacks(u64 *save, u64 load) leaves the registers that a function
 * must keep on the stack, in the order of struct switch_frame (thread.c), stores the stack pointer
 * in *save, takes `load` for it, and returns on that stack as the thread that left it.
 */
FUNCTION(x86_switch_stacks)
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
END(x86_switch_stacks)

/*
 * First return of a new kernel thread: RBX = function, R12 = argument, %rsp -> its struct
 * user_regs.
 */
FUNCTION(x86_thread_start)
	call kernel_thread_begin /* turns interrupts on */
	movq %r12, %rdi
	call *%rbx
	/* It has become a program. */
thread_to_user:
	cli
	movq %rsp, %rdi
	call kernel_exit_to_user
	jmp x86_user_return
END(x86_thread_start)

/* First return of a forked thread. */
FUNCTION(x86_fork_return)
	call kernel_thread_begin
	jmp thread_to_user
END(x86_fork_return)

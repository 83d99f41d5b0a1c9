/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of code that the kernel does not trust, and the way out of them. */
#include "asm.h"

	.text
/* bool arch_guarded_call(struct arch_guard *g, void *fn, const u64 args[4], u64 *result) */
FUNCTION(arch_guarded_call)
	pushq %rbp
	movq %rsp, %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	pushq %rcx /* the stack is aligned now, as a call needs it */
	movq %rsp, (%rdi)
	movq %rsi, %rax
	movq (%rdx), %rdi
	movq 8(%rdx), %rsi
	movq 24(%rdx), %rcx
	movq 16(%rdx), %rdx
	call *%rax
	popq %rcx
	movq %rax, (%rcx)
	movl $1, %eax
1:	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret

/* void arch_guard_leave(struct arch_guard *g): that call returns false. */
	.globl arch_guard_leave
	.type arch_guard_leave, @function
arch_guard_leave:
	movq (%rdi), %rsp
	popq %rcx
	xorl %eax, %eax
	cld
	jmp 1b
	.size arch_guard_leave, . - arch_guard_leave
END(arch_guarded_call)

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A place, that is basic block, of a kernel of COVER=1 counts how often threads reach it that
 * make-it-fail marks, and not interrupts. The compiler puts the call of a function there, which may
 * destroy the registers that calls do. This macro makes a few instructions of it, for under an
 * emulator a call and a return cost twenty times as much.
 *
 * A place has a byte in .cover_reached and, at the same index, its address in .cover_places, which
 * is in the file alone. The Makefile has gcc include this header first. Counts are not exact when
 * two CPUs reach a place at once.
 */
#pragma once

/* The numbers: struct cpu's irq_depth and running, struct thread's injection.may_fail (cover.c). */
__asm__(".macro call target:vararg\n"
	"	.ifeqs \"\\target\", \"__sanitizer_cov_trace_pc\"\n"
	".Lplace\\@:\n"
	"	.pushsection .cover_places, \"\", @progbits\n"
	"	.quad .Lplace\\@\n"
	"	.popsection\n"
	"	.pushsection .cover_reached, \"aw\", @nobits\n"
	".Lreached\\@: .skip 1\n"
	"	.popsection\n"
	"	cmpl $0, %gs:48\n"
	"	jne .Lend\\@\n"
	"	movq %gs:8, %rax\n"
	"	testq %rax, %rax\n"
	"	je .Lend\\@\n"
	"	cmpb $0, 20(%rax)\n"
	"	je .Lend\\@\n"
	"	addb $1, .Lreached\\@(%rip)\n"
	"	adcb $0, .Lreached\\@(%rip)\n" /* reached 256 times is not never */
	".Lend\\@:\n"
	"	.else\n"
	"	callq \\target\n"
	"	.endif\n"
	".endm");

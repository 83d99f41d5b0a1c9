/* SPDX-License-Identifier: GPL-2.0-only */
/* The vDSO as the build made it (mk/vdso.mk), for kernel/exec/vdso.c to copy into a file. */
#include "asm.h"

	.section .rodata
	.globl arch_vdso_start, arch_vdso_end
	.balign 16
arch_vdso_start:
	.incbin VDSO_IMAGE
arch_vdso_end:

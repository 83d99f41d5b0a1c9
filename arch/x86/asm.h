/* SPDX-License-Identifier: GPL-2.0-only */
/* Macros that the assembly files share. */
#pragma once

#include "machine.h"
#include "x86.h"

/* clang-format off */
#define FUNCTION(name) .globl name; .type name, @function; .balign 16; name:
#define END(name) .size name, . - name

/* A no-op that cpu.c replaces by stac or clac if the boot CPU has SMAP. */
.macro SMAP_SITE byte
771:	.byte 0x0f, 0x1f, 0x00
	.pushsection .smap_sites, "a"
	.quad 771b
	.quad \byte
	.popsection
.endm
#define STAC SMAP_SITE 0xcb
#define CLAC SMAP_SITE 0xca

/* If @fault faults on a user address that cannot be resolved, execution goes on at @fixup. */
.macro EXTABLE fault, fixup
	.pushsection .extable, "a"
	.quad \fault, \fixup
	.popsection
.endm

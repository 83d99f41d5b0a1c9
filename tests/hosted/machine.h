/* SPDX-License-Identifier: GPL-2.0-only */
/* The architecture "host": the types of kernel/arch.h for kernel objects that run in a program. */
#pragma once

#include "lib/types.h"

struct user_regs {
	u64 ax; /* the result of a system call */
};

struct arch_thread {
	unsigned fiber; /* its number */
};

/* Of a fiber's CPU. */
struct arch_cpu {
	bool irqs_off;
};

#define USER_END	  0x7ffffffff000ull
#define ARCH_VMAP_START	  0ull
#define ARCH_VMAP_END	  0ull
#define ARCH_PLATFORM	  "host"
#define ARCH_MIN_SIGSTACK 2048

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stack canaries of debug kernels: a function with an array keeps a copy of the guard between its
 * variables and its return address, and the compiler's code compares both before it returns.
 *
 * Interface: gcc's and clang's -fstack-protector-strong -mstack-protector-guard=global, which name
 * the variable and the function.
 */
#include "kernel/kernel.h"
#include "lib/prng.h"

extern u64 __stack_chk_guard;
u64 __stack_chk_guard;

/* The lowest byte is zero: a string that is too long ends there, or is noticed. */
void canary_draw(u64 seed)
{
	struct prng random;

	prng_seed(&random, seed);
	WRITE_ONCE(__stack_chk_guard, prng_u64(&random) << 8);
}

__noreturn void __stack_chk_fail(void);
__noreturn void __stack_chk_fail(void)
{
	char name[96];

	panic("stack-protector: Kernel stack is corrupted in: %s",
	      symbol_name((u64)__builtin_return_address(0), name, sizeof(name)));
}

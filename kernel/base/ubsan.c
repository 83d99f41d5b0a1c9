/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Undefined behaviour is a panic that says where: SAN=undefined builds this file, and has the
 * compiler call these functions. Each gets a structure that begins with the place. Interface:
 * LLVM's and gcc's UndefinedBehaviorSanitizer, which name the functions.
 */
#include "kernel/kernel.h"
#include "kernel/task/thread.h"

struct place {
	const char *file;
	u32 line, column;
};

static const struct thread *under_test; /* its undefined behaviour is counted */
static unsigned nr_noticed;

static __noinline void report(const struct place *p, const char *what)
{
	if (READ_ONCE(under_test) != current)
		panic("UBSAN: %s at %s:%u:%u", what, p->file, p->line, p->column);
	WRITE_ONCE(nr_noticed, nr_noticed + 1);
}

#define HANDLER(name, what)                                                                        \
	void __ubsan_handle_##name(const struct place *p);                                         \
	void __ubsan_handle_##name(const struct place *p)                                          \
	{                                                                                          \
		report(p, what);                                                                   \
	}

HANDLER(add_overflow, "an addition overflows")
HANDLER(sub_overflow, "a subtraction overflows")
HANDLER(mul_overflow, "a multiplication overflows")
HANDLER(negate_overflow, "a negation overflows")
HANDLER(divrem_overflow, "a division by zero, or its result overflows")
HANDLER(shift_out_of_bounds, "a shift by too much, or of a negative number")
HANDLER(out_of_bounds, "an index beyond the array")
HANDLER(type_mismatch_v1, "an access by a null or misaligned pointer")
HANDLER(load_invalid_value, "a value that its type does not have")
HANDLER(nonnull_arg, "null for an argument that must not be null")
HANDLER(nonnull_return_v1, "null from a function that must not return it")
HANDLER(vla_bound_not_positive, "an array of no elements")
HANDLER(invalid_builtin, "a builtin function called with 0")
HANDLER(builtin_unreachable, "an unreachable place is reached")
HANDLER(missing_return, "a function ends without a value")

/* Is the sanitizer on? A kernel in which it is off looks like one without faults. */
SELFTEST(undefined_behaviour_is_noticed)
{
	volatile struct {
		u32 inside[4], beyond[4];
	} array = {};
	volatile unsigned shift = 32, index = 4;

	WRITE_ONCE(nr_noticed, 0);
	WRITE_ONCE(under_test, current);
	array.beyond[1] = 1u << shift;
	array.beyond[2] = array.inside[index];
	*(volatile u32 *)((volatile char *)array.inside + shift - 31) = 1;
	WRITE_ONCE(under_test, NULL);
	/* gcc believes that the handlers change no variable. */
	SELFTEST_CHECK(READ_ONCE(nr_noticed) == 3);
	return 0;
}

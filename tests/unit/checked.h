/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a test: which checks it makes, in their order, and the numbers that it finds equal.
 * A test that prints that it passed, and ended before it checked anything, has another record than
 * one that was made to its end. So has a test whose memory the scheduler changed: what is right
 * there is then another number. What does not pass is in the record before cmocka is called: one
 * that made cmocka go on has another, too.
 *
 * UNIT_RECORD=KEY prints it at the end, as `# record COUNT DIGEST`; the digest depends on the key.
 * `# record at LINE DIGEST` is the record up to one of the first checks.
 */
#pragma once

#include <stdint.h>
#include <string.h>

/* A check at this line of the test is about to be made: of a value, or whether it passes. */
void host_checked(unsigned line, uint64_t value);

/* @check of a and b, of whatever type, after what @value makes of checked_ and with_. */
#define CHECKED_TWO(line, value, check, a, b, ...)                                                 \
	({                                                                                         \
		__auto_type checked_ = (a);                                                        \
		__auto_type with_ = (b);                                                           \
		host_checked(line, value);                                                         \
		check(checked_, with_, __VA_ARGS__);                                               \
	})
#define CHECKED_ONE(line, check, a, ...)                                                           \
	({                                                                                         \
		uintmax_t checked_ = (a);                                                          \
		host_checked(line, checked_ != 0);                                                 \
		check(checked_, __VA_ARGS__);                                                      \
	})
/* Without a comparison: which end of the range a right value equals is not a test's matter. */
#define CHECKED_RANGE(line, a, low, high, ...)                                                     \
	({                                                                                         \
		uintmax_t checked_ = (a), low_ = (low), high_ = (high);                            \
		host_checked(line, ~((checked_ - low_) | (high_ - checked_)) >> 63);               \
		_assert_in_range(checked_, low_, high_, __VA_ARGS__);                              \
	})
#define CHECKED_BYTES(line, a, b, size, ...)                                                       \
	({                                                                                         \
		const void *checked_ = (a), *with_ = (b);                                          \
		size_t size_ = (size);                                                             \
		host_checked(line, !memcmp(checked_, with_, size_));                               \
		_assert_memory_equal(checked_, with_, size_, __VA_ARGS__);                         \
	})

/* cmocka's macros call these. A macro is not expanded again within itself. */
#define _assert_true(...) CHECKED_ONE(__LINE__, _assert_true, __VA_ARGS__)
#define _assert_int_equal(...)                                                                     \
	CHECKED_TWO(__LINE__, checked_ == with_ ? checked_ : ~checked_, _assert_int_equal,         \
		    __VA_ARGS__)
#define _assert_int_not_equal(...)                                                                 \
	CHECKED_TWO(__LINE__, checked_ != with_, _assert_int_not_equal, __VA_ARGS__)
#define _assert_in_range(...) CHECKED_RANGE(__LINE__, __VA_ARGS__)
#define _assert_string_equal(...)                                                                  \
	CHECKED_TWO(__LINE__, !strcmp(checked_, with_), _assert_string_equal, __VA_ARGS__)
#define _assert_memory_equal(...) CHECKED_BYTES(__LINE__, __VA_ARGS__)
#define _fail(...)		  (host_checked(__LINE__, UINT64_MAX), _fail(__VA_ARGS__))
/* Of a check that cmocka does not know. */
#define CHECKED() host_checked(__LINE__, 0)

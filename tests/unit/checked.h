/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a test: which checks it makes, in their order, and the numbers that it finds equal.
 * A test that prints that it passed, and ended before it checked anything, has another record than
 * one that was made to its end. So has a test whose memory the scheduler changed: what is right
 * there is then another number.
 *
 * UNIT_RECORD=KEY prints it at the end, as `# record COUNT DIGEST`; the digest depends on the key.
 * `# record at LINE DIGEST` is the record up to one of the first checks.
 */
#pragma once

#include <stdint.h>

/* A check at this line of the test is about to be made, of a value that is right if it passes. */
void host_checked(unsigned line, uint64_t value);

#define CHECKED_TWO(line, check, a, b, ...)                                                        \
	({                                                                                         \
		uintmax_t checked_ = (a);                                                          \
		host_checked(line, checked_);                                                      \
		check(checked_, b, __VA_ARGS__);                                                   \
	})

/* cmocka's macros call these. A macro is not expanded again within itself. */
#define _assert_true(...)	   (host_checked(__LINE__, 0), _assert_true(__VA_ARGS__))
#define _assert_int_equal(...)	   CHECKED_TWO(__LINE__, _assert_int_equal, __VA_ARGS__)
#define _assert_int_not_equal(...) (host_checked(__LINE__, 0), _assert_int_not_equal(__VA_ARGS__))
#define _assert_in_range(...)	   (host_checked(__LINE__, 0), _assert_in_range(__VA_ARGS__))
#define _assert_string_equal(...)  (host_checked(__LINE__, 0), _assert_string_equal(__VA_ARGS__))
#define _assert_memory_equal(...)  (host_checked(__LINE__, 0), _assert_memory_equal(__VA_ARGS__))
/* Of a check that cmocka does not know. */
#define CHECKED() host_checked(__LINE__, 0)

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a test: which checks it makes, in their order. A test that prints that it passed,
 * and ended before it checked anything, has another record than one that was made to its end.
 *
 * UNIT_RECORD=KEY prints it at the end, as `# record COUNT DIGEST`; the digest depends on the key.
 */
#pragma once

/* A check at this line of the test is about to be made. */
void host_checked(unsigned line);

/* cmocka's macros call these. A macro is not expanded again within itself. */
#define _assert_true(...)	   (host_checked(__LINE__), _assert_true(__VA_ARGS__))
#define _assert_int_equal(...)	   (host_checked(__LINE__), _assert_int_equal(__VA_ARGS__))
#define _assert_int_not_equal(...) (host_checked(__LINE__), _assert_int_not_equal(__VA_ARGS__))
#define _assert_in_range(...)	   (host_checked(__LINE__), _assert_in_range(__VA_ARGS__))
#define _assert_string_equal(...)  (host_checked(__LINE__), _assert_string_equal(__VA_ARGS__))
#define _assert_memory_equal(...)  (host_checked(__LINE__), _assert_memory_equal(__VA_ARGS__))
/* Of a check that cmocka does not know. */
#define CHECKED() host_checked(__LINE__)

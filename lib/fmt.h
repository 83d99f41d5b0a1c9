/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounded formatting, the same for the kernel, the scheduler's dumps and the
 * simulator. Conversions: %d %i %u %x %X %o %c %s %p %%, lengths hh h l ll L z t,
 * flags 0 - + space #, width and precision as numbers or *. No floating point. The length l stands
 * for 64 bits, as u64 is written, also where a long has 32.
 */
#pragma once

#include <stdarg.h>
#include "lib/types.h"

/*
 * Write at most @size bytes, terminator included (nothing if @size is 0). Returns the length the
 * full text has, as C's snprintf.
 */
int fmt_snprintf(char *buf, size_t size, const char *format, ...) __printf(3, 4);
int fmt_vsnprintf(char *buf, size_t size, const char *format, va_list args) __printf(3, 0);

/* Freestanding code may use the familiar names; hosted code has its libc's. */
#if !__STDC_HOSTED__
#define snprintf  fmt_snprintf
#define vsnprintf fmt_vsnprintf
#endif

/* Text that grows piece by piece into a buffer of fixed size; @len counts on when it is full. */
struct text {
	char *buf;
	size_t size, len;
};

static inline struct text text_of(char *buf, size_t size)
{
	if (size)
		buf[0] = '\0';
	return (struct text){ buf, size, 0 };
}

void text_add(struct text *t, const char *format, ...) __printf(2, 3);

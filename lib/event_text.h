/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions that print formats of events may call, beside printf's conversions: names of bits
 * and names of numbers. Each spelling in a list such as event.def is code here, and text in the
 * event's `format` file, where trace-cmd and KernelShark know it too.
 */
#pragma once

#include "lib/fmt.h"

struct event_symbol {
	u64 value;
	const char *name;
};

/* The names of the bits set in @value, @delimiter between them. */
static inline const char *event_flags(struct text out, u64 value, const char *delimiter,
				      const struct event_symbol *flags, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		if (value & flags[i].value)
			text_add(&out, "%s%s", out.len ? delimiter : "", flags[i].name);
	return out.buf;
}

/* The name of @value; a number in hexadecimal if it has none. */
static inline const char *event_name(struct text out, u64 value, const struct event_symbol *names,
				     unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		if (value == names[i].value)
			return names[i].name;
	text_add(&out, "0x%llx", (unsigned long long)value);
	return out.buf;
}

#define EVENT_SYMBOLS(...)                                                                         \
	(const struct event_symbol[]){ __VA_ARGS__ },                                              \
		ARRAY_SIZE(((const struct event_symbol[]){ __VA_ARGS__ }))
#define __print_flags(value, delimiter, ...)                                                       \
	event_flags(text_of((char[64]){ 0 }, 64), (u64)(value), delimiter,                         \
		    EVENT_SYMBOLS(__VA_ARGS__))
#define __print_symbolic(value, ...)                                                               \
	event_name(text_of((char[20]){ 0 }, 20), (u64)(value), EVENT_SYMBOLS(__VA_ARGS__))

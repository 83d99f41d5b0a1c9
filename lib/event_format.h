/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The `format` text of events, which tells tools their binary layout, from the rows of a list such
 * as event.def: for the one file of a host that has these texts. With EVENT defined as EVENT_FORMAT
 * each row of the list becomes `format_NAME(out)`; event_format_begin() and event_format_end()
 * write what stands before and after it.
 */
#pragma once

#include "lib/fmt.h"

/* events/header_page of Linux: the page header and the size of what follows it. */
#define EVENT_HEADER_PAGE                                                                          \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                 \
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"                                \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"                                 \
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"

static inline void event_field(struct text *out, const char *declaration, size_t offset,
			       size_t size, bool is_signed)
{
	text_add(out, "\tfield:%s;\toffset:%zu;\tsize:%zu;\tsigned:%d;\n", declaration, offset,
		 size, is_signed);
}

static inline void event_format_begin(struct text *out, const char *name, int id)
{
	text_add(out, "name: %s\nID: %d\nformat:\n", name, id);
	event_field(out, "unsigned short common_type", 0, 2, false);
	event_field(out, "unsigned char common_flags", 2, 1, false);
	event_field(out, "unsigned char common_preempt_count", 3, 1, false);
	event_field(out, "int common_pid", 4, 4, true);
	text_add(out, "\n");
}

static inline void event_format_end(struct text *out, const char *print_fmt)
{
	text_add(out, "\nprint fmt: %s\n", print_fmt);
}

#define EVENT_FIELD(declaration, name, size, is_signed)                                            \
	event_field(out, declaration, offsetof(__typeof__(*REC), name), size, is_signed);
#define IS_SIGNED(type)	       ((type)-1 < (type)1)
#define FIELD(type, name, ...) EVENT_FIELD(#type " " #name, name, sizeof(type), IS_SIGNED(type))
#define LONG(name, ...)	       EVENT_FIELD("long " #name, name, 8, true)
#define PID(name, ...)	       EVENT_FIELD("pid_t " #name, name, 4, true)
#define COMM(name, ...)	       EVENT_FIELD("char " #name "[16]", name, 16, true)
#define STRING(name)	       EVENT_FIELD("__data_loc char[] " #name, name, 4, true)
#define CHOICE(name, list)     EVENT_FIELD("u8 " #name, name, 1, false)
#define WORDS(name, n, ...)    EVENT_FIELD("unsigned long " #name "[" #n "]", name, 8 * (n), false)
#define TEXT(name)	       EVENT_FIELD("char " #name "[]", name, 0, true)

#define EVENT_FORMAT(system, name, id, fields, ...)                                                \
	static void format_##name(struct text *out)                                                \
	{                                                                                          \
		const struct event_##name *REC = NULL; /* for its type only */                     \
                                                                                                   \
		(void)REC;                                                                         \
		fields                                                                             \
	}

/* The print arguments of a row as they are spelled. */
#define EVENT_PRINT_TEXT(...)  EVENT_PRINT_TEXT_(__VA_ARGS__)
#define EVENT_PRINT_TEXT_(...) #__VA_ARGS__

/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls of the terminal that is tried, its settings and screen, for ldisc.c and the model. */
#pragma once

#include "kernel/tty/ldisc.h"
#include "lib/string.h"
#include "object.h"

enum { CELLS = 64 };
enum { THREE = 3, VMIN_AND_VTIME = 5 }; /* three threads begin with VMIN 2 and VTIME */

/* The number of a call: which byte is typed; how many are pasted or read; which settings. */
enum op {
	OP_TYPE,
	OP_PASTE,
	OP_READ,
	OP_TRY_READ,
	OP_WRITE,
	OP_MODE,
	OP_ECHO,
	OP_INPUT,
	OP_FLUSH,
	OP_COUNT,
	OP_POLL,
	OP_WAIT_OUT,
	OP_ADVANCE
};

enum { ERASE = 127, KILL = 21, END = 4, LITERAL = 22, WORD = 23, STOP = 19, START = 17, INTR = 3 };
static const char keys[] = { 'a',     'z',  ' ',  '\t',	 '\n', '\n', ERASE, ERASE, KILL, END, END,
			     LITERAL, WORD, STOP, START, INTR, 1,    0,	    '\r',  '9',	 '-' };
static const u16 sizes[] = { 1, 2, 3, 256 };

/* The screen: the line of the cursor, and how many lines there were. */
struct screen {
	char cell[CELLS];
	u32 column, row, bells;
	u32 others; /* bytes that show nothing */
};

static inline void draw_char(struct screen *s, char c)
{
	if (s->column < CELLS)
		s->cell[s->column] = c;
	s->column++;
}

static inline void new_line(struct screen *s)
{
	memset(s->cell, ' ', CELLS);
	s->row++;
}

static inline u64 fold(const void *data, size_t n)
{
	const u8 *s = data;
	u64 digest = n;

	for (size_t i = 0; i < n; i++)
		digest = mix(digest, s[i]);
	return digest;
}

static const struct termios settings = {
	.iflag = ICRNL | IXON,
	.oflag = OPOST | ONLCR,
	.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
	.cc = { INTR, 28, ERASE, KILL, END, 0, 1, 0, START, STOP, 26, 0, 18, 15, WORD, LITERAL, 0 },
};

/* Six raw modes, and the canonical one. */
static inline struct termios mode_of(struct termios t, u32 n)
{
	static const u8 vmin[] = { 1, 0, 2 };

	t.lflag = n < 6 ? t.lflag & ~(u32)ICANON : t.lflag | ICANON;
	t.cc[VMIN] = vmin[n % 3];
	t.cc[VTIME] = n / 3 == 1;
	return t;
}

static inline struct termios echo_of(struct termios t, u32 n)
{
	t.lflag &= ~(u32)(ECHO | ECHOE | ECHOCTL | ECHOKE | ECHONL);
	t.lflag |= n & 1 ? 0 : ECHO | (n & 8 ? 0 : ECHOKE);
	t.lflag |= (n & 2 ? 0 : ECHOE) | (n & 4 ? 0 : ECHOCTL) | (n & 8 ? ECHONL : 0);
	return t;
}

/* Settings for what is done to a return, a newline, ^S and ^Q that are typed; and to output. */
static inline struct termios input_of(struct termios t, u32 n)
{
	t.iflag = (n & 1 ? 0 : ICRNL) | (n & 2 ? 0 : IXON) | (n & 4 ? IGNCR : 0) |
		  (n & 8 ? INLCR : 0);
	t.oflag = n & 16 ? ONLCR : OPOST | ONLCR;
	return t;
}

/* The settings of @t after @call, which changes them. */
static inline struct termios settings_after(struct termios t, const struct call *call)
{
	return call->op == OP_MODE   ? mode_of(t, call->n)
	       : call->op == OP_ECHO ? echo_of(t, call->n)
				     : input_of(t, call->n);
}

extern bool ldisc_alone, ldisc_time_went_by; /* in the last run */

struct ldisc_model {
	struct termios termios;
	struct screen screen;
	bool literal, stopped;
	bool pushed;	/* the first line is what was typed in raw mode */
	u32 nr, nr_cut; /* bytes; of those what is in complete lines */
	u32 line_column;
	char byte[INPUT_SIZE];
	bool ends[INPUT_SIZE]; /* the byte ends a line; as a NUL it is the end of file */
};

DECLARE_MODEL(ldisc);

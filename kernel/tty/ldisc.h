/* SPDX-License-Identifier: GPL-2.0-only */
/* The inside of the terminal: what tty.c (the device) and ldisc.c (the line discipline) share. */
#pragma once

#include "kernel/fs/vfs.h"
#include "kernel/tty/tty.h"

#define INPUT_SIZE 4096u
#define RAW_SIZE   1024u
STATIC_ASSERT(!(INPUT_SIZE & (INPUT_SIZE - 1)) && !(RAW_SIZE & (RAW_SIZE - 1)),
	      "counters that wrap index the rings");
STATIC_ASSERT(INPUT_SIZE % 64 == 0, "whole words of stop bits");

/* termios: the flags that mean something to a serial terminal without modem lines */
/* clang-format off */
enum iflag { ISTRIP = 040, INLCR = 0100, IGNCR = 0200, ICRNL = 0400, IXON = 02000 };
enum oflag { OPOST = 01, ONLCR = 04, OCRNL = 010, ONOCR = 020, ONLRET = 040, TABDLY = 014000 };
enum lflag {
	ISIG = 01, ICANON = 02, ECHO = 010, ECHOE = 020, ECHOK = 040, ECHONL = 0100, NOFLSH = 0200,
	TOSTOP = 0400, ECHOCTL = 01000, ECHOKE = 04000, IEXTEN = 0100000,
};
enum cc {
	VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL, VREPRINT,
	VDISCARD, VWERASE, VLNEXT, VEOL2, NCC = 19,
};
/* clang-format on */

struct termios { /* as TCGETS copies it: 36 bytes */
	u32 iflag, oflag, cflag, lflag;
	u8 line;
	u8 cc[NCC];
};
STATIC_ASSERT(sizeof(struct termios) == 36, "the kernel's struct termios");

struct winsize {
	u16 row, col, xpixel, ypixel;
};

/*
 * Where the command line has the size of the terminal at the other end (rows=), a new one comes
 * among the input: SIZE_BEGINS, rows, a blank, columns, a newline. No text in UTF-8 has that byte.
 */
#define SIZE_BEGINS ((char)0xff)
struct told_size {
	bool begun;
	u8 at; /* 0: its rows are read, 1: its columns */
	u16 is[2];
};

struct tty {
	struct mutex lock;
	GUARDED(lock, "one word");
	struct termios termios;

	struct winsize winsize;
	struct told_size told; /* by ttyd alone */
	GUARDED(lock, "one word");
	int pgrp, sid; /* foreground group, session; 0: none */

	char input[INPUT_SIZE];
	u64 stop[INPUT_SIZE / 64];
	GUARDED(lock, "poll, which looks again");
	u32 head, tail, ready; /* counters; tail <= ready <= head */
	GUARDED(lock);
	u32 column, line_column; /* of the cursor; where the edited line began */

	bool literal; /* ^V was typed */
	bool pushed;  /* the first line is what was typed before canonical mode */
	bool stopped; /* ^S was typed */
	struct waitq readers, writers;

	struct spinlock raw_lock;
	char raw[RAW_SIZE];
	GUARDED(raw_lock, "ttyd, which looks again");
	u32 raw_head, raw_tail;

	struct waitq raw_wait; /* ttyd */
};

/* Without tty->lock it may be out of date. */
static inline __racy bool tty_local(const struct tty *t, u32 flag)
{
	return t->termios.lflag & flag;
}

/*
 * The number of bytes received, and of those that a reader may have: in canonical mode, up to the
 * end of the first line. Without tty->lock it may be out of date.
 */
u32 ldisc_pending(const struct tty *t);
u32 ldisc_available(const struct tty *t);
/* FIONREAD, tty->lock held: in canonical mode all complete lines, without the marks of ^D. */
u32 ldisc_count(const struct tty *t);

/* Where output goes: to the serial line, unless kernel/tty/screen.c has changed it. */
extern void (*tty_line)(const char *s, size_t n);
/* The terminal is that large, if the command line does not say otherwise. Before tty_init(). */
void tty_use_size(unsigned rows, unsigned cols);

/* Bytes from the line: editing, echo, signals. Takes tty->lock, and wakes the readers. */
void ldisc_input(struct tty *t, const char *s, size_t n);

/* The rest with tty->lock held. */
/* Bytes to the line. */
void ldisc_write(struct tty *t, const char *s, size_t n);
/* Take up to @n of the available bytes; the mark of ^D is consumed but not delivered. */
size_t ldisc_take(struct tty *t, char *buf, size_t n);
void ldisc_flush(struct tty *t);
/* Canonical mode begins or ends. When it begins all that was typed ahead is one line. */
void ldisc_mode_changed(struct tty *t);

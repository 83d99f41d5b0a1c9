/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The line discipline: what a terminal does between the line and the programs. Output becomes what
 * the device wants (newline to carriage return and newline); input is echoed, edited, turned into
 * signals and cut into lines.
 *
 * `input` is a ring addressed by counters. In canonical mode a reader gets only what lies before
 * `ready`, the end of the last complete line; the `stop` bit of a byte says that it ends a line (a
 * newline, or the place where ^D was typed, stored as a NUL). Bytes that were typed ahead in raw
 * mode are one line, `pushed`, when canonical mode begins.
 *
 * Reference: termios(3), POSIX.1-2017 chapter 11.
 */
#include "kernel/tty/ldisc.h"

#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "lib/signal.h"
#include "lib/string.h"

/* --- output --------------------------------------------------------------------------- */

static bool is_control(char c)
{
	return (u8)c < 32 || c == 127;
}

/* The column of the cursor after @c. */
static u32 next_column(u32 column, char c)
{
	switch (c) {
	case '\r':
		return 0;
	case '\b':
		return column - (column > 0);
	case '\t':
		return (column | 7) + 1;
	default:
		/* Continuation bytes of UTF-8 do not move the cursor. */
		return column + (!is_control(c) && ((u8)c & 0xc0) != 0x80);
	}
}

/* Write @c to @out as the device needs it (at most 8 bytes). Returns the number of bytes. */
static size_t process_output(struct tty *t, char c, char *out)
{
	u32 oflag = t->termios.oflag, spaces;

	debug_assert(mutex_is_held(&t->lock));
	if (!(oflag & OPOST)) {
		t->column = next_column(t->column, c);
		out[0] = c;
		return 1;
	}
	if (c == '\n' && (oflag & ONLCR)) {
		t->column = 0;
		memcpy(out, "\r\n", 2);
		return 2;
	}
	if (c == '\r' && (oflag & OCRNL))
		c = '\n';
	if (c == '\r' && (oflag & ONOCR) && !t->column)
		return 0;
	if (c == '\t' && (oflag & TABDLY) == TABDLY) {
		spaces = next_column(t->column, c) - t->column;
		t->column += spaces;
		memset(out, ' ', spaces);
		return spaces;
	}
	t->column = c == '\n' && (oflag & ONLRET) ? 0 : next_column(t->column, c);
	out[0] = c;
	return 1;
}

void (*tty_line)(const char *s, size_t n) = arch_serial_write;

void ldisc_write(struct tty *t, const char *s, size_t n)
{
	char out[256 + 8];
	size_t len = 0;

	assert(mutex_is_held(&t->lock));
	for (size_t i = 0; i < n; i++) {
		len += process_output(t, s[i], out + len);
		if (len >= 256 || i + 1 == n) {
			tty_line(out, len);
			len = 0;
		}
	}
}

/* --- echo and editing: by ttyd, lock held --------------------------------------------- */

/* Is @c echoed as a pair such as ^X? So is a newline that ends no line. */
static bool echoes_as_pair(const struct tty *t, char c)
{
	return is_control(c) && c != '\t' && tty_local(t, ECHOCTL);
}

static void echo(struct tty *t, char c)
{
	char pair[2] = { '^', (char)(c ^ 0100) };

	debug_assert(mutex_is_held(&t->lock));
	if (!tty_local(t, ECHO))
		return;
	if (echoes_as_pair(t, c))
		ldisc_write(t, pair, 2);
	else
		ldisc_write(t, &c, 1);
}

u32 ldisc_pending(const struct tty *t)
{
	u32 tail = READ_ONCE(t->tail), nr = READ_ONCE(t->head) - tail;

	return nr <= INPUT_SIZE ? nr : 0; /* flushed between the two looks, so there is none */
}

/*
 * Append @c to the input; @stop if it ends a line. False if the input is full; one place is kept
 * for the newline.
 */
static bool append(struct tty *t, char c, bool stop)
{
	u32 i = t->head % INPUT_SIZE;

	debug_assert(mutex_is_held(&t->lock));
	if (ldisc_pending(t) >= INPUT_SIZE - !stop)
		return false;
	t->input[i] = c;
	if (stop)
		t->stop[i / 64] |= BIT(i % 64);
	else
		t->stop[i / 64] &= ~BIT(i % 64);
	t->head++;
	if (stop || !tty_local(t, ICANON))
		t->ready = t->head;
	return true;
}

/* The column of the cursor behind the echo of the line typed so far. */
static u32 column_of_line(const struct tty *t)
{
	u32 column = t->line_column;

	debug_assert(mutex_is_held(&t->lock));
	for (u32 i = t->ready; i != t->head; i++) {
		char c = t->input[i % INPUT_SIZE];

		column = echoes_as_pair(t, c) ? column + 2 : c == '\n' ? 0 : next_column(column, c);
	}
	return column;
}

/* The line being edited ends at @head from now on, also on the screen. */
static void erase_to(struct tty *t, u32 head)
{
	bool any = t->head != head;

	debug_assert(mutex_is_held(&t->lock));
	t->head = head;
	if (!any || !tty_local(t, ECHO))
		return;
	for (u32 before = t->column, after = column_of_line(t); before > after; before--)
		ldisc_write(t, "\b \b", 3);
}

/* Erase the last character, with its UTF-8 continuation bytes, from the line being edited. */
static void erase_one(struct tty *t)
{
	u32 head = t->head;

	debug_assert(t->head != t->ready);
	debug_assert(mutex_is_held(&t->lock));
	do
		head--;
	while (head != t->ready && ((u8)t->input[head % INPUT_SIZE] & 0xc0) == 0x80);
	if (tty_local(t, ECHOE)) {
		erase_to(t, head);
		return;
	}
	t->head = head;
	echo(t, (char)t->termios.cc[VERASE]);
}

static bool is_word(char c)
{
	return c == '_' || (u8)(c - '0') < 10 || (u8)((c | 32) - 'a') < 26 || (c & 0x80);
}

static void erase_word(struct tty *t)
{
	u32 head = t->head;
	bool in_word = false;

	debug_assert(mutex_is_held(&t->lock));
	while (head != t->ready) {
		bool word = is_word(t->input[(head - 1) % INPUT_SIZE]);

		if (in_word && !word)
			break;
		in_word |= word;
		head--;
	}
	erase_to(t, head);
}

static void erase_line(struct tty *t)
{
	debug_assert(mutex_is_held(&t->lock));
	if (tty_local(t, ECHOKE) && tty_local(t, ECHOE)) {
		erase_to(t, t->ready);
		return;
	}
	t->head = t->ready;
	echo(t, (char)t->termios.cc[VKILL]);
	if (tty_local(t, ECHOK) && tty_local(t, ECHO))
		ldisc_write(t, "\n", 1);
}

void ldisc_flush(struct tty *t)
{
	assert(mutex_is_held(&t->lock));
	t->head = t->ready = t->tail = 0;
	t->literal = t->pushed = false;
}

/* --- input: by ttyd, lock held -------------------------------------------------------- */

static bool is_cc(const struct tty *t, enum cc which, char c)
{
	return t->termios.cc[which] && t->termios.cc[which] == (u8)c;
}

static int signal_of(const struct tty *t, char c)
{
	if (!tty_local(t, ISIG))
		return 0;
	if (is_cc(t, VINTR, c))
		return SIGINT;
	if (is_cc(t, VQUIT, c))
		return SIGQUIT;
	return is_cc(t, VSUSP, c) ? SIGTSTP : 0;
}

/* ^S and ^Q. True if @c was one of them. */
static bool flow_control(struct tty *t, char c)
{
	debug_assert(mutex_is_held(&t->lock));
	if (!(t->termios.iflag & IXON))
		return false;
	if (is_cc(t, VSTOP, c)) {
		t->stopped = true;
		return true;
	}
	if (!is_cc(t, VSTART, c))
		return false;
	t->stopped = false;
	waitq_wake(&t->writers, 0);
	return true;
}

/* Editing of the current line. True if @c was an editing character. */
static bool edit(struct tty *t, char c)
{
	bool any = t->head != t->ready;

	debug_assert(mutex_is_held(&t->lock));
	if (is_cc(t, VERASE, c)) {
		if (any)
			erase_one(t);
		return true;
	}
	if (is_cc(t, VKILL, c)) {
		erase_line(t);
		return true;
	}
	if (!tty_local(t, IEXTEN))
		return false;
	if (is_cc(t, VWERASE, c)) {
		erase_word(t);
		return true;
	}
	if (!is_cc(t, VLNEXT, c))
		return false;
	t->literal = true;
	if (tty_local(t, ECHO) && tty_local(t, ECHOCTL))
		ldisc_write(t, "^\b", 2);
	return true;
}

static void add_char(struct tty *t, char c)
{
	debug_assert(mutex_is_held(&t->lock));
	if (t->head == t->ready)
		t->line_column = t->column;
	if (append(t, c, false))
		echo(t, c);
	else
		ldisc_write(t, "\a", 1);
}

static void canonical_char(struct tty *t, char c)
{
	debug_assert(mutex_is_held(&t->lock));
	if (edit(t, c))
		return;
	if (is_cc(t, VEOF, c)) {
		append(t, 0, true);
		return;
	}
	if (c == '\n') {
		if (tty_local(t, ECHO) || tty_local(t, ECHONL))
			ldisc_write(t, "\n", 1);
		append(t, c, true);
		return;
	}
	if (is_cc(t, VEOL, c) || is_cc(t, VEOL2, c)) {
		echo(t, c);
		append(t, c, true);
		return;
	}
	add_char(t, c);
}

static void receive(struct tty *t, char c)
{
	u32 iflag = t->termios.iflag;
	int sig;

	assert(mutex_is_held(&t->lock));
	if (t->literal) {
		t->literal = false;
		add_char(t, c);
		return;
	}
	if (iflag & ISTRIP)
		c &= 0x7f;
	if (c == '\r' && (iflag & IGNCR))
		return;
	if (c == '\r' && (iflag & ICRNL))
		c = '\n';
	else if (c == '\n' && (iflag & INLCR))
		c = '\r';
	sig = signal_of(t, c);
	if (sig) {
		t->stopped = false;
		waitq_wake(&t->writers, 0);
		if (!tty_local(t, NOFLSH))
			ldisc_flush(t);
		echo(t, c);
		if (t->pgrp)
			signal_send_group(t->pgrp, sig, NULL);
		return;
	}
	if (flow_control(t, c))
		return;
	if (tty_local(t, ICANON))
		canonical_char(t, c);
	else
		add_char(t, c);
}

void ldisc_input(struct tty *t, const char *s, size_t n)
{
	mutex_lock(&t->lock);
	for (size_t i = 0; i < n; i++)
		receive(t, s[i]);
	mutex_unlock(&t->lock);
	waitq_wake(&t->readers, 0);
}

/* --- readers -------------------------------------------------------------------------- */

static bool stops_at(const struct tty *t, u32 at)
{
	return t->stop[at % INPUT_SIZE / 64] >> (at % 64) & 1;
}

/* Bytes a reader may have: in canonical mode up to the end of the first line. */
u32 ldisc_available(const struct tty *t)
{
	u32 tail = READ_ONCE(t->tail), len = READ_ONCE(t->ready) - tail;

	if (!tty_local(t, ICANON))
		return ldisc_pending(t);
	/*
	 * Read without the lock, tail and ready may not match; the bound makes the loop end anyway.
	 */
	for (u32 i = 0; i < min(len, INPUT_SIZE); i++)
		if (stops_at(t, tail + i))
			return i + 1;
	return 0;
}

u32 ldisc_count(const struct tty *t)
{
	u32 nr = 0;

	debug_assert(mutex_is_held(&t->lock));
	if (!tty_local(t, ICANON))
		return ldisc_pending(t);
	for (u32 i = t->tail; i != t->ready; i++)
		nr += t->input[i % INPUT_SIZE] || !stops_at(t, i);
	return nr;
}

/* Is the next byte the mark of ^D? */
static bool is_at_mark(const struct tty *t)
{
	return t->tail != t->ready && !t->pushed && !t->input[t->tail % INPUT_SIZE] &&
	       stops_at(t, t->tail);
}

static size_t take_line(struct tty *t, char *buf, size_t n)
{
	bool ended = false;
	size_t i;

	debug_assert(mutex_is_held(&t->lock));
	for (i = 0; i < n && !ended && !is_at_mark(t); i++) {
		ended = stops_at(t, t->tail);
		buf[i] = t->input[t->tail++ % INPUT_SIZE];
	}
	/*
	 * If the buffer just held the text before a ^D, that mark must not be read as an end of
	 * file next time. Behind the end of a line it is one.
	 */
	if (!ended && is_at_mark(t))
		t->tail++;
	t->pushed &= !ended;
	return i;
}

/* Take up to @n bytes of what is available; the mark of ^D is consumed but not delivered. */
size_t ldisc_take(struct tty *t, char *buf, size_t n)
{
	size_t len = min(n, (size_t)ldisc_available(t));

	assert(mutex_is_held(&t->lock));
	if (tty_local(t, ICANON))
		return take_line(t, buf, len);
	for (size_t i = 0; i < len; i++)
		buf[i] = t->input[t->tail++ % INPUT_SIZE];
	return len;
}

void ldisc_mode_changed(struct tty *t)
{
	assert(mutex_is_held(&t->lock));
	t->literal = false;
	t->pushed = tty_local(t, ICANON) && t->head != t->tail;
	t->ready = t->head;
	memset(t->stop, 0, sizeof(t->stop));
	if (t->pushed)
		t->stop[(t->head - 1) % INPUT_SIZE / 64] |= BIT((t->head - 1) % 64);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a terminal: a queue of bytes, some of which end a line, and the line of the screen
 * that the cursor is in.
 *
 * It is lenient in one thing: once a call let time go by, a read may end early, because an
 * inter-byte time may have begun when a reader looked.
 */
#include "kernel/fs/poll.h"
#include "ldisc.h"
#include "lib/errno.h"

void ldisc_model_create(void *model, unsigned nr_threads)
{
	struct ldisc_model *m = model;

	memset(m, 0, sizeof(*m));
	m->termios = nr_threads == THREE ? mode_of(settings, VMIN_AND_VTIME) : settings;
	memset(m->screen.cell, ' ', CELLS);
}

static bool has(const struct ldisc_model *m, u32 flag)
{
	return m->termios.lflag & flag;
}

static void show_newline(struct ldisc_model *m)
{
	if (m->termios.oflag & OPOST)
		m->screen.column = 0;
	new_line(&m->screen);
}

static bool is_pair(const struct ldisc_model *m, char c)
{
	return ((u8)c < ' ' || c == ERASE) && c != '\t' && has(m, ECHOCTL);
}

static void show(struct ldisc_model *m, char c)
{
	if (is_pair(m, c)) {
		draw_char(&m->screen, '^');
		draw_char(&m->screen, (char)(c ^ 64));
	} else if (c == '\n') {
		show_newline(m);
	} else if (c == '\t') {
		m->screen.column = (m->screen.column | 7) + 1;
	} else if (c == '\r') {
		m->screen.column = 0;
	} else if ((u8)c >= ' ' && c != ERASE) {
		draw_char(&m->screen, c);
	} else {
		m->screen.others++;
	}
}

static void model_echo(struct ldisc_model *m, char c)
{
	if (has(m, ECHO))
		show(m, c);
}

static void forget(struct ldisc_model *m)
{
	m->nr = m->nr_cut = 0;
	m->literal = m->pushed = false;
}

static bool put(struct ldisc_model *m, char c, bool ends)
{
	if (m->nr >= INPUT_SIZE - !ends)
		return false;
	m->byte[m->nr] = c;
	m->ends[m->nr++] = ends;
	if (ends || !has(m, ICANON))
		m->nr_cut = m->nr;
	return true;
}

/* The cursor goes back to where the rest of the line ends, and nothing is behind it. */
static void show_erased(struct ldisc_model *m)
{
	struct screen old = m->screen;
	u32 from, oflag = m->termios.oflag;

	m->screen.column = m->line_column;
	m->termios.oflag |= OPOST; /* its newlines count as the beginning of one */
	for (u32 i = m->nr_cut; i < m->nr; i++)
		show(m, m->byte[i]);
	m->termios.oflag = oflag;
	from = m->screen.column;
	m->screen = old;
	if (from > old.column)
		return;
	for (u32 i = from; i < min(old.column, (u32)CELLS); i++)
		m->screen.cell[i] = ' ';
	m->screen.column = from;
}

static void erase(struct ldisc_model *m)
{
	m->nr--;
	if (has(m, ECHO) && has(m, ECHOE))
		show_erased(m);
	else
		model_echo(m, ERASE);
}

/* All on the screen at once. */
static void erase_many(struct ldisc_model *m, u32 left)
{
	if (m->nr == left)
		return;
	m->nr = left;
	if (has(m, ECHO))
		show_erased(m);
}

static void erase_word(struct ldisc_model *m)
{
	u32 left = m->nr;

	while (left > m->nr_cut && !memchr("az9x", m->byte[left - 1], 4))
		left--;
	while (left > m->nr_cut && memchr("az9x", m->byte[left - 1], 4))
		left--;
	erase_many(m, left);
}

static void erase_line(struct ldisc_model *m)
{
	if (has(m, ECHOKE) && has(m, ECHOE)) {
		erase_many(m, m->nr_cut);
		return;
	}
	m->nr = m->nr_cut;
	model_echo(m, KILL);
	if (has(m, ECHO))
		show_newline(m);
}

static void add(struct ldisc_model *m, char c)
{
	if (m->nr == m->nr_cut)
		m->line_column = m->screen.column;
	if (put(m, c, false))
		model_echo(m, c);
	else
		m->screen.bells++;
}

static void edit(struct ldisc_model *m, char c)
{
	switch (c) {
	case ERASE:
		if (m->nr > m->nr_cut)
			erase(m);
		return;
	case KILL:
		erase_line(m);
		return;
	case WORD:
		erase_word(m);
		return;
	case LITERAL:
		m->literal = true;
		if (has(m, ECHO) && has(m, ECHOCTL)) {
			draw_char(&m->screen, '^');
			m->screen.column--;
		}
		return;
	case END:
		put(m, 0, true);
		return;
	case '\n':
		if (has(m, ECHO | ECHONL))
			show_newline(m);
		put(m, c, true);
		return;
	default:
		add(m, c);
	}
}

/* Of a key that is neither taken literally nor a return or newline to be changed. */
static void model_key(struct ldisc_model *m, char c)
{
	if (c == INTR) {
		m->stopped = false;
		forget(m);
		model_echo(m, c);
	} else if ((c == STOP || c == START) && (m->termios.iflag & IXON)) {
		m->stopped = c == STOP;
	} else if (has(m, ICANON)) {
		edit(m, c);
	} else {
		add(m, c);
	}
}

static void model_type(struct ldisc_model *m, char c)
{
	u32 iflag = m->termios.iflag;

	if (m->literal) {
		m->literal = false;
		add(m, c);
	} else if (c == '\n') {
		model_key(m, iflag & INLCR ? '\r' : c);
	} else if (c != '\r') {
		model_key(m, c);
	} else if (!(iflag & IGNCR)) {
		model_key(m, iflag & ICRNL ? '\n' : c);
	}
}

static void model_mode(struct ldisc_model *m, const struct call *call)
{
	bool was_canonical = has(m, ICANON);

	m->termios = settings_after(m->termios, call);
	m->stopped &= (m->termios.iflag & IXON) != 0;
	if (call->op == OP_ECHO)
		forget(m);
	if (was_canonical == has(m, ICANON))
		return;
	m->literal = false;
	m->nr_cut = m->nr;
	memset(m->ends, 0, sizeof(m->ends));
	m->pushed = has(m, ICANON) && m->nr;
	if (m->pushed)
		m->ends[m->nr - 1] = true;
}

static bool is_mark(const struct ldisc_model *m, u32 i)
{
	return i < m->nr_cut && m->ends[i] && !m->byte[i] && !m->pushed;
}

/* Gives @n bytes, and throws away the end of file behind them if @mark. */
static void take(struct ldisc_model *m, struct answer *a, u32 n, bool mark)
{
	u32 gone = n + mark;

	a->value = n;
	a->digest = n ? fold(m->byte, n) : 0;
	m->nr -= gone;
	m->nr_cut -= min(gone, m->nr_cut);
	memmove(m->byte, m->byte + gone, m->nr);
	memmove(m->ends, m->ends + gone, m->nr * sizeof(m->ends[0]));
}

static void take_line(struct ldisc_model *m, struct answer *a, u32 most)
{
	u32 n = 0;
	bool ended = false;

	while (n < most && !ended && !is_mark(m, n))
		ended = m->ends[n++];
	take(m, a, n, !ended && is_mark(m, n));
	if (ended)
		m->pushed = false;
}

static enum model_says model_read(struct ldisc_model *m, const struct call *call, struct answer *a)
{
	u32 most = sizes[call->n], vmin = m->termios.cc[VMIN];
	bool waits = call->op == OP_READ, timed = m->termios.cc[VTIME];
	long seen_value = a->value;

	a->value = -EAGAIN;
	a->digest = 0;
	if (has(m, ICANON)) {
		if (m->nr_cut)
			take_line(m, a, most);
		return m->nr_cut || a->value >= 0 ? ENDS : waits ? MUST_SLEEP : ENDS;
	}
	if (m->nr >= min(max(vmin, 1u), most) || (m->nr && !waits)) {
		take(m, a, min(m->nr, most), false);
		return ENDS;
	}
	if (!waits || (!vmin && !timed)) {
		a->value = vmin || timed ? -EAGAIN : 0;
		return ENDS;
	}
	if (timed && ldisc_time_went_by && seen_value >= 0 && (!vmin || m->nr)) {
		take(m, a, min(m->nr, most), false);
		return ENDS;
	}
	return MUST_SLEEP;
}

static long model_count(const struct ldisc_model *m)
{
	long nr = 0;

	for (u32 i = 0; i < (has(m, ICANON) ? m->nr_cut : m->nr); i++)
		nr += m->byte[i] || !m->ends[i] || !has(m, ICANON);
	return nr;
}

static long model_poll(const struct ldisc_model *m)
{
	u32 wanted = m->termios.cc[VTIME] ? 1 : max((u32)m->termios.cc[VMIN], 1u);
	bool readable = has(m, ICANON) ? m->nr_cut : m->nr >= wanted;

	return (m->stopped ? 0 : POLLOUT | POLLWRNORM) | (readable ? POLLIN | POLLRDNORM : 0);
}

enum model_says ldisc_model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				    struct answer *a)
{
	struct ldisc_model *m = model;
	bool waits = m->stopped && (call->op == OP_WRITE || call->op == OP_WAIT_OUT);

	(void)nr, (void)id;
	if (call->op == OP_READ || call->op == OP_TRY_READ)
		return model_read(m, call, a);
	if (call->op == OP_TYPE)
		model_type(m, keys[call->n]);
	else if (call->op == OP_MODE || call->op == OP_ECHO || call->op == OP_INPUT)
		model_mode(m, call);
	else if (call->op == OP_FLUSH)
		forget(m);
	for (u32 i = 0; call->op == OP_PASTE && i < call->n; i++)
		model_type(m, 'x');
	a->value = call->op == OP_COUNT	     ? model_count(m)
		   : call->op == OP_POLL     ? model_poll(m)
		   : call->op == OP_WRITE    ? 1
		   : call->op == OP_WAIT_OUT ? POLLOUT
					     : 0;
	a->digest = ldisc_alone ? fold(&m->screen, sizeof(m->screen)) : 0;
	return waits ? MUST_SLEEP : ENDS;
}

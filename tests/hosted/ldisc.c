/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The terminal: its line discipline, readers and settings (kernel/tty/ldisc.c and tty.c). The model
 * is a queue of bytes, some of which end a line, and the line of the screen that the cursor is in.
 *
 * It is lenient in one thing: once a call let time go by, a read may end early, because an
 * inter-byte time may have begun when a reader looked.
 */
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "kernel/tty/ldisc.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { CELLS = 64, TCSETS = 0x5402, TCSETSF = 0x5404, TCFLSH = 0x540b, FIONREAD = 0x541b };

#define STEP_NS 100000000ull		/* VTIME is one such, or none */
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
	OP_FLUSH,
	OP_COUNT,
	OP_POLL,
	OP_WAIT_OUT,
	OP_ADVANCE
};
static const char *const op_names[] = { "type",	    "paste",   "read",	"try_read", "write",
					"mode",	    "echo",    "flush", "count",    "poll",
					"wait_out", "advance", NULL };

enum { ERASE = 127, KILL = 21, END = 4, LITERAL = 22, WORD = 23, STOP = 19, START = 17, INTR = 3 };
static const char keys[] = { 'a', 'b', ' ',	'\t', '\n', '\n',  ERASE, ERASE, KILL,
			     END, END, LITERAL, WORD, STOP, START, INTR,  1,	 0 };
static const u16 sizes[] = { 1, 2, 3, 256 };

/* The screen: the line of the cursor, and how many lines there were. */
struct screen {
	char cell[CELLS];
	u32 column, row, bells;
};

static struct tty *tty;
static struct proc proc;
static struct screen seen;
static bool alone, time_went_by; /* in the last run */

/* --- the machine ---------------------------------------------------------------------------- */

static void draw_char(struct screen *s, char c)
{
	if (s->column < CELLS)
		s->cell[s->column] = c;
	s->column++;
}

static void new_line(struct screen *s)
{
	memset(s->cell, ' ', CELLS);
	s->row++;
}

void arch_serial_write(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\n')
			new_line(&seen);
		else if (s[i] == '\r')
			seen.column = 0;
		else if (s[i] == '\b')
			seen.column -= seen.column > 0;
		else if (s[i] == '\t')
			seen.column = (seen.column | 7) + 1;
		else if (s[i] == '\a')
			seen.bells++;
		else if ((u8)s[i] >= ' ' && s[i] != ERASE)
			draw_char(&seen, s[i]);
	}
}

static u64 fold(const void *data, size_t n)
{
	const u8 *s = data;
	u64 digest = n;

	for (size_t i = 0; i < n; i++)
		digest = (digest ^ s[i]) * 0x100000001b3ull;
	return digest;
}

/* --- the object -------------------------------------------------------------------------- */

static const struct termios settings = {
	.iflag = ICRNL | IXON,
	.oflag = OPOST | ONLCR,
	.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
	.cc = { INTR, 28, ERASE, KILL, END, 0, 1, 0, START, STOP, 26, 0, 18, 15, WORD, LITERAL, 0 },
};

/* Six raw modes, and the canonical one. */
static struct termios mode_of(struct termios t, u32 n)
{
	static const u8 vmin[] = { 1, 0, 2 };

	t.lflag = n < 6 ? t.lflag & ~(u32)ICANON : t.lflag | ICANON;
	t.cc[VMIN] = vmin[n % 3];
	t.cc[VTIME] = n / 3 == 1;
	return t;
}

static void *create(unsigned nr_threads)
{
	struct file f = { .flags = O_NOCTTY };

	alone = nr_threads == 1;
	time_went_by = false;
	seen = (struct screen){ 0 };
	memset(seen.cell, ' ', CELLS);
	current->proc = &proc;
	tty_ops.open(NULL, &f);
	tty = f.private;
	tty->termios = nr_threads == THREE ? mode_of(settings, VMIN_AND_VTIME) : settings;
	tty->head = tty->tail = tty->ready = tty->column = 0;
	tty->literal = tty->pushed = tty->stopped = false;
	return tty;
}

static void destroy(void *object)
{
	(void)object;
}

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = {
		OP_TYPE, OP_TYPE,  OP_TYPE,  OP_TYPE,	  OP_TYPE,     OP_TYPE,
		OP_TYPE, OP_TYPE,  OP_TYPE,  OP_TRY_READ, OP_TRY_READ, OP_PASTE,
		OP_MODE, OP_FLUSH, OP_COUNT, OP_POLL,	  OP_TRY_READ, OP_ECHO
	};
	static const u8 among_others[] = { OP_TYPE,	OP_TYPE,     OP_TYPE,	OP_READ,
					   OP_READ,	OP_READ,     OP_MODE,	OP_WRITE,
					   OP_WAIT_OUT, OP_TRY_READ, OP_ADVANCE };
	static const u16 numbers[OP_ADVANCE + 1] = {
		[OP_TYPE] = ARRAY_SIZE(keys),	   [OP_PASTE] = 1500, [OP_READ] = ARRAY_SIZE(sizes),
		[OP_TRY_READ] = ARRAY_SIZE(sizes), [OP_MODE] = 9,     [OP_ECHO] = 16,
	};
	struct call call = {
		.op = one ? often[prng_below(random, ARRAY_SIZE(often))]
			  : among_others[prng_below(random, ARRAY_SIZE(among_others))]
	};

	if (one && !prng_below(random, 50))
		call.op = OP_READ;
	call.n = numbers[call.op] ? prng_below(random, numbers[call.op]) : 0;
	return call;
}

static struct termios echo_of(struct termios t, u32 n)
{
	t.lflag &= ~(u32)(ECHO | ECHOE | ECHOCTL | ECHOKE | ECHONL);
	t.lflag |= n & 1 ? 0 : ECHO | (n & 8 ? 0 : ECHOKE);
	t.lflag |= (n & 2 ? 0 : ECHOE) | (n & 4 ? 0 : ECHOCTL) | (n & 8 ? ECHONL : 0);
	return t;
}

/* As ppoll(): until it may be written to. */
static long wait_out(struct file *f)
{
	struct poll_entry entries[POLL_QUEUES_MAX];
	struct waitq nothing;
	struct waiter self = { .thread = current };
	long ret = 0;

	list_init(&self.link);
	waitq_init(&nothing, "poll");
	while (!ret) {
		struct poll_table pt = { .max = POLL_QUEUES_MAX, .entries = entries };

		waitq_prepare(&nothing, &self, TASK_INTERRUPTIBLE);
		ret = f->ops->poll(f, &pt) & POLLOUT;
		if (!ret && signal_pending())
			ret = -ERESTARTSYS;
		else if (!ret)
			schedule();
		for (unsigned i = 0; i < pt.nr; i++)
			waitq_finish(entries[i].q, &entries[i].waiter);
		waitq_finish(&nothing, &self);
	}
	return ret;
}

static long change(struct file *f, const struct call *call)
{
	struct termios new = call->op == OP_MODE ? mode_of(tty->termios, call->n)
						 : echo_of(tty->termios, call->n);

	return f->ops->ioctl(f, call->op == OP_MODE ? TCSETS : TCSETSF, (u64) & new);
}

static long receive(const struct call *call)
{
	static char text[1500];

	if (call->op == OP_TYPE) {
		ldisc_input(tty, &keys[call->n], 1);
	} else {
		memset(text, 'x', sizeof(text));
		ldisc_input(tty, text, call->n);
	}
	return 0;
}

static void do_call(struct file *f, const struct call *call, struct answer *a)
{
	char buf[256];
	u32 count = 0;
	u64 pos = 0;

	switch ((enum op)call->op) {
	case OP_TYPE:
	case OP_PASTE:
		a->value = receive(call);
		break;
	case OP_READ:
	case OP_TRY_READ:
		a->value = f->ops->read(f, buf, sizes[call->n], &pos);
		a->digest = a->value > 0 ? fold(buf, (size_t)a->value) : 0;
		return;
	case OP_WRITE:
		a->value = f->ops->write(f, "w", 1, &pos);
		break;
	case OP_MODE:
	case OP_ECHO:
		a->value = change(f, call);
		break;
	case OP_FLUSH:
		a->value = f->ops->ioctl(f, TCFLSH, 0);
		break;
	case OP_COUNT:
		a->value = f->ops->ioctl(f, FIONREAD, (u64)&count) ?: (long)count;
		break;
	case OP_POLL:
		a->value = f->ops->poll(f, NULL);
		break;
	case OP_WAIT_OUT:
		a->value = wait_out(f);
		break;
	default:
		time_went_by = true;
		clock_advance(STEP_NS);
	}
	a->digest = alone ? fold(&seen, sizeof(seen)) : 0;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct file f = { .ops = &tty_ops,
			  .private = object,
			  .flags = call->op == OP_TRY_READ ? O_NONBLOCK : 0 };
	struct answer answer = { 0 };

	(void)nr, (void)id;
	current->proc = &proc;
	user_memory_is(USER_PRESENT, 0);
	do_call(&f, call, &answer);
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	struct termios termios;
	struct screen screen;
	bool literal, stopped;
	bool pushed;	/* the first line is what was typed in raw mode */
	u32 nr, nr_cut; /* bytes; of those what is in complete lines */
	u32 line_column;
	char byte[INPUT_SIZE];
	bool ends[INPUT_SIZE]; /* the byte ends a line; as a NUL it is the end of file */
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	memset(m, 0, sizeof(*m));
	m->termios = nr_threads == THREE ? mode_of(settings, VMIN_AND_VTIME) : settings;
	memset(m->screen.cell, ' ', CELLS);
}

static bool has(const struct model *m, u32 flag)
{
	return m->termios.lflag & flag;
}

static void show_newline(struct model *m)
{
	m->screen.column = 0;
	new_line(&m->screen);
}

static bool is_pair(const struct model *m, char c)
{
	return ((u8)c < ' ' || c == ERASE) && c != '\t' && has(m, ECHOCTL);
}

static void show(struct model *m, char c)
{
	if (is_pair(m, c)) {
		draw_char(&m->screen, '^');
		draw_char(&m->screen, (char)(c ^ 64));
	} else if (c == '\n') {
		show_newline(m);
	} else if (c == '\t') {
		m->screen.column = (m->screen.column | 7) + 1;
	} else if ((u8)c >= ' ' && c != ERASE) {
		draw_char(&m->screen, c);
	}
}

static void model_echo(struct model *m, char c)
{
	if (has(m, ECHO))
		show(m, c);
}

static void forget(struct model *m)
{
	m->nr = m->nr_cut = 0;
	m->literal = m->pushed = false;
}

static bool put(struct model *m, char c, bool ends)
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
static void show_erased(struct model *m)
{
	struct screen old = m->screen;
	u32 from;

	m->screen.column = m->line_column;
	for (u32 i = m->nr_cut; i < m->nr; i++)
		show(m, m->byte[i]);
	from = m->screen.column;
	m->screen = old;
	if (from > old.column)
		return;
	for (u32 i = from; i < min(old.column, (u32)CELLS); i++)
		m->screen.cell[i] = ' ';
	m->screen.column = from;
}

static void erase(struct model *m)
{
	m->nr--;
	if (has(m, ECHO) && has(m, ECHOE))
		show_erased(m);
	else
		model_echo(m, ERASE);
}

/* All on the screen at once. */
static void erase_many(struct model *m, u32 left)
{
	if (m->nr == left)
		return;
	m->nr = left;
	if (has(m, ECHO))
		show_erased(m);
}

static void erase_word(struct model *m)
{
	u32 left = m->nr;

	while (left > m->nr_cut && !memchr("abx", m->byte[left - 1], 3))
		left--;
	while (left > m->nr_cut && memchr("abx", m->byte[left - 1], 3))
		left--;
	erase_many(m, left);
}

static void erase_line(struct model *m)
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

static void add(struct model *m, char c)
{
	if (m->nr == m->nr_cut)
		m->line_column = m->screen.column;
	if (put(m, c, false))
		model_echo(m, c);
	else
		m->screen.bells++;
}

static void edit(struct model *m, char c)
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

static void model_type(struct model *m, char c)
{
	if (m->literal) {
		m->literal = false;
		add(m, c);
	} else if (c == INTR) {
		m->stopped = false;
		forget(m);
		model_echo(m, c);
	} else if (c == STOP || c == START) {
		m->stopped = c == STOP;
	} else if (has(m, ICANON)) {
		edit(m, c);
	} else {
		add(m, c);
	}
}

static void model_mode(struct model *m, const struct call *call)
{
	bool was_canonical = has(m, ICANON);

	m->termios =
		call->op == OP_MODE ? mode_of(m->termios, call->n) : echo_of(m->termios, call->n);
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

static bool is_mark(const struct model *m, u32 i)
{
	return i < m->nr_cut && m->ends[i] && !m->byte[i] && !m->pushed;
}

/* Gives @n bytes, and throws away the end of file behind them if @mark. */
static void take(struct model *m, struct answer *a, u32 n, bool mark)
{
	u32 gone = n + mark;

	a->value = n;
	a->digest = n ? fold(m->byte, n) : 0;
	m->nr -= gone;
	m->nr_cut -= min(gone, m->nr_cut);
	memmove(m->byte, m->byte + gone, m->nr);
	memmove(m->ends, m->ends + gone, m->nr * sizeof(m->ends[0]));
}

static void take_line(struct model *m, struct answer *a, u32 most)
{
	u32 n = 0;
	bool ended = false;

	while (n < most && !ended && !is_mark(m, n))
		ended = m->ends[n++];
	take(m, a, n, !ended && is_mark(m, n));
	if (ended)
		m->pushed = false;
}

static enum model_says model_read(struct model *m, const struct call *call, struct answer *a)
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
	if (timed && time_went_by && seen_value >= 0 && (!vmin || m->nr)) {
		take(m, a, min(m->nr, most), false);
		return ENDS;
	}
	return MUST_SLEEP;
}

static long model_count(const struct model *m)
{
	long nr = 0;

	for (u32 i = 0; i < (has(m, ICANON) ? m->nr_cut : m->nr); i++)
		nr += m->byte[i] || !m->ends[i] || !has(m, ICANON);
	return nr;
}

static long model_poll(const struct model *m)
{
	u32 wanted = m->termios.cc[VTIME] ? 1 : max((u32)m->termios.cc[VMIN], 1u);
	bool readable = has(m, ICANON) ? m->nr_cut : m->nr >= wanted;

	return (m->stopped ? 0 : POLLOUT | POLLWRNORM) | (readable ? POLLIN | POLLRDNORM : 0);
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	bool waits = m->stopped && (call->op == OP_WRITE || call->op == OP_WAIT_OUT);

	(void)nr, (void)id;
	if (call->op == OP_READ || call->op == OP_TRY_READ)
		return model_read(m, call, a);
	if (call->op == OP_TYPE)
		model_type(m, keys[call->n]);
	else if (call->op == OP_MODE || call->op == OP_ECHO)
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
	a->digest = alone ? fold(&m->screen, sizeof(m->screen)) : 0;
	return waits ? MUST_SLEEP : ENDS;
}

/* ^S stops output, and threads that write or poll wait for ^Q. */
static const char *const known[] = { "type:13 write:0 / wait_out:0 / type:14", NULL };

DEFINE_OBJECT(ldisc, .known = known);

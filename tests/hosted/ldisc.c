/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The terminal: its line discipline, readers and settings (kernel/tty/ldisc.c and tty.c). Its model
 * is in ldisc_model.c.
 */
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "ldisc.h"
#include "libc.h"

enum { TCSETS = 0x5402, TCSETSF = 0x5404, TCFLSH = 0x540b, FIONREAD = 0x541b };

#define STEP_NS 100000000ull /* VTIME is one such, or none */
static const char *const op_names[] = { "type", "paste",    "read",    "try_read", "write",
					"mode", "echo",	    "input",   "flush",	   "count",
					"poll", "wait_out", "advance", NULL };

static struct tty *tty;
static struct proc proc;
static struct screen seen;
bool ldisc_alone, ldisc_time_went_by; /* in the last run */

/* --- the machine ---------------------------------------------------------------------------- */

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
		else
			seen.others++;
	}
}

/* --- the object -------------------------------------------------------------------------- */

static void *create(unsigned nr_threads)
{
	struct file f = { .flags = O_NOCTTY };

	ldisc_alone = nr_threads == 1;
	ldisc_time_went_by = false;
	seen = (struct screen){ 0 };
	memset(seen.cell, ' ', CELLS);
	current->proc = &proc;
	if (tty_ops.open(NULL, &f))
		panic("the terminal is not opened");
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

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_TYPE] = { 0, ARRAY_SIZE(keys) - 1 },
	[OP_PASTE] = { 0, 1499 },
	[OP_READ... OP_TRY_READ] = { 0, ARRAY_SIZE(sizes) - 1 },
	[OP_MODE] = { 0, 8 },
	[OP_ECHO] = { 0, 15 },
	[OP_INPUT] = { 0, 31 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_TYPE,	 OP_TYPE,     OP_TYPE, OP_TYPE,	 OP_TYPE,
				    OP_TYPE,	 OP_TYPE,     OP_TYPE, OP_TYPE,	 OP_TRY_READ,
				    OP_TRY_READ, OP_PASTE,    OP_MODE, OP_FLUSH, OP_COUNT,
				    OP_POLL,	 OP_TRY_READ, OP_ECHO, OP_INPUT };
	static const u8 among_others[] = { OP_TYPE,	OP_TYPE,     OP_TYPE,	OP_READ,
					   OP_READ,	OP_READ,     OP_MODE,	OP_WRITE,
					   OP_WAIT_OUT, OP_TRY_READ, OP_ADVANCE };
	struct call call = {
		.op = one ? often[prng_below(random, ARRAY_SIZE(often))]
			  : among_others[prng_below(random, ARRAY_SIZE(among_others))]
	};

	if (one && !prng_below(random, 50))
		call.op = OP_READ;
	if (ranges[call.op].most)
		call.n = prng_below(random, ranges[call.op].most + 1);
	return call;
}

static unsigned look_out(void *file, struct poll_table *pt)
{
	struct file *f = file;

	return f->ops->poll(f, pt);
}

static long change(struct file *f, const struct call *call)
{
	struct termios new = settings_after(tty->termios, call);

	return f->ops->ioctl(f, call->op == OP_ECHO ? TCSETSF : TCSETS, (u64) & new);
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
	case OP_INPUT:
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
		a->value = wait_for_events(look_out, f, POLLOUT);
		break;
	default:
		ldisc_time_went_by = true;
		clock_advance(STEP_NS);
	}
	a->digest = ldisc_alone ? fold(&seen, sizeof(seen)) : 0;
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

/*
 * ^S stops output, and threads that write or poll wait for ^Q; a newline of a line that is echoed
 * as one and then erased; of three threads one reads two bytes, and another takes the first.
 */
static const char *const known[] = { "type:13 write:0 / wait_out:0 / type:14",
				     "echo:4 type:11 type:4 type:0 type:6",
				     "read:3 / type:0 type:1 / try_read:0", NULL };

DEFINE_OBJECT_BESIDE(ldisc, "*tty; seen", .known = known);

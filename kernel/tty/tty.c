/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The terminal on the serial line: the device, job control, window size. The line discipline is in
 * ldisc.c.
 *
 * Received bytes go from the interrupt into a small ring and from there, by the kernel thread
 * "ttyd", through the line discipline. A thread may take mutexes and send signals to whole groups;
 * an interrupt handler may not.
 *
 * Reference: tty_ioctl(4), POSIX.1-2017 chapter 11. Sizes and initial settings are Linux's.
 *
 * LOCKING. lock (a mutex) guards every change. What fits one word is read without it, as are the
 * settings by TCGETS. raw_lock guards the ring between the interrupt and ttyd.
 */
#include "kernel/contract.h"
#include "kernel/tty/ldisc.h"

#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "kernel/time/time.h"
#include "lib/signal.h"
#include "lib/string.h"

static struct tty console = {
	.termios = {
		.iflag = ICRNL | IXON,
		.oflag = OPOST | ONLCR,
		.cflag = 0x1cb2, /* 115200, 8 bits, receiver on, local */
		.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
		.cc = { 3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0 },
	},
	.winsize = { .row = 24, .col = 80 },
	.lock = MUTEX_INIT(console.lock),
	.readers = WAITQ_INIT(console.readers),
	.writers = WAITQ_INIT(console.writers),
	.raw_lock = SPINLOCK_INIT("tty raw"),
	.raw_wait = WAITQ_INIT(console.raw_wait),
};

void tty_receive(const char *s, size_t n)
{
	struct tty *t = &console;
	unsigned long flags = spin_lock_irqsave(&t->raw_lock);

	debug_assert(arch_in_irq());
	for (size_t i = 0; i < n && t->raw_head - t->raw_tail < RAW_SIZE; i++)
		t->raw[t->raw_head++ % RAW_SIZE] = s[i];
	spin_unlock_irqrestore(&t->raw_lock, flags);
	waitq_wake(&t->raw_wait, 0);
}

static size_t take_raw(struct tty *t, char *buf, size_t size)
{
	unsigned long flags = spin_lock_irqsave(&t->raw_lock);
	size_t n = 0;

	debug_assert(t->raw_head - t->raw_tail <= RAW_SIZE);
	while (n < size && t->raw_tail != t->raw_head)
		buf[n++] = t->raw[t->raw_tail++ % RAW_SIZE];
	spin_unlock_irqrestore(&t->raw_lock, flags);
	return n;
}

/* Another size of the terminal. Its programs are told. */
static void change_winsize(struct tty *t, struct winsize new)
{
	mutex_lock(&t->lock);
	if (memcmp(&new, &t->winsize, sizeof(new)) && t->pgrp)
		signal_send_group(t->pgrp, SIGWINCH, NULL);
	t->winsize = new;
	mutex_unlock(&t->lock);
}

/* True if @c belongs to a message about the size, which takes effect with its last byte. */
static bool tells_size(struct tty *t, char c)
{
	struct told_size *s = &t->told;

	if (c == SIZE_BEGINS) {
		*s = (struct told_size){ .begun = true };
		return true;
	}
	if (!s->begun)
		return false;
	if (c >= '0' && c <= '9') {
		s->is[s->at] = (u16)(s->is[s->at] * 10 + (c - '0'));
	} else if (c == ' ' && !s->at) {
		s->at = 1;
	} else {
		s->begun = false;
		if (c == '\n' && s->at)
			change_winsize(t, (struct winsize){ .row = s->is[0], .col = s->is[1] });
	}
	return true;
}

/* The number of those of the @n bytes in @buf that were typed; they are moved together. */
static size_t take_sizes(struct tty *t, char *buf, size_t n)
{
	size_t typed = 0;

	if (!cmdline_get("rows")) /* nobody at the other end sends sizes */
		return n;
	for (size_t i = 0; i < n; i++)
		if (!tells_size(t, buf[i]))
			buf[typed++] = buf[i];
	return typed;
}

static void ttyd(void *arg)
{
	struct tty *t = arg;
	char buf[64];
	size_t n;

	for (;;) {
		wait_event_idle(&t->raw_wait, (n = take_raw(t, buf, sizeof(buf))));
		ldisc_input(t, buf, take_sizes(t, buf, n));
	}
}

/* --- job control ---------------------------------------------------------------------- */

/*
 * May the current process use the terminal? A background process may not: its group gets @sig, and
 * the call is restarted once the group is in the foreground again.
 */
static long check_background(struct tty *t, int sig)
{
	struct proc *p = current->proc;

	debug_assert(may_sleep());
	if (p->tty != t || p->pgid == READ_ONCE(t->pgrp) || !READ_ONCE(t->pgrp))
		return 0;
	if (signal_is_blocked_or_ignored(sig))
		return sig == SIGTTIN ? -EIO : 0;
	if (proc_group_is_orphaned(p->pgid))
		return -EIO;
	signal_send_group(p->pgid, sig, NULL);
	return -ERESTARTSYS;
}

/* @t, or none (NULL), is the running process's terminal: others read that under proc_tree_lock. */
static void set_own_tty(struct tty *t)
{
	spin_lock(&proc_tree_lock);
	current->proc->tty = t;
	spin_unlock(&proc_tree_lock);
}

/* Make @t the controlling terminal of the current session leader. */
static void take_control(struct tty *t)
{
	struct proc *p = current->proc;

	debug_assert(p->pid == p->sid);
	assert(mutex_is_held(&t->lock));
	t->sid = p->sid;
	t->pgrp = p->pgid;
	set_own_tty(t);
}

static long set_controlling(struct tty *t)
{
	struct proc *p = current->proc;

	long err = 0;

	mutex_lock(&t->lock);
	if (p->tty != t || t->sid != p->sid) {
		if (p->pid != p->sid || p->tty || t->sid)
			err = -EPERM;
		else
			take_control(t);
	}
	mutex_unlock(&t->lock);
	return err;
}

/* Take the terminal away from every process of session @sid. */
static void forget_session(struct tty *t, int sid)
{
	struct proc *p;

	debug_assert(mutex_is_held(&t->lock));
	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		if (p->sid == sid && p->tty == t)
			p->tty = NULL;
	spin_unlock(&proc_tree_lock);
}

/* 0 if the group @pgid is in the session @sid, -EPERM if in another, -ESRCH if there is none. */
static int check_group(int pgid, int sid)
{
	struct proc *p;
	int err = -ESRCH;

	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		if (pgid && p->pgid == pgid)
			err = p->sid == sid ? 0 : -EPERM;
	spin_unlock(&proc_tree_lock);
	return err;
}

void tty_leave_session(struct proc *leader)
{
	struct tty *t = leader->tty;

	debug_assert(leader->pid == leader->sid);
	if (!t)
		return;
	mutex_lock(&t->lock);
	if (t->sid == leader->pid) {
		if (t->pgrp) {
			signal_send_group(t->pgrp, SIGHUP, NULL);
			signal_send_group(t->pgrp, SIGCONT, NULL);
		}
		t->sid = t->pgrp = 0;
		forget_session(t, leader->pid);
	}
	mutex_unlock(&t->lock);
}

int tty_foreground(const struct tty *t)
{
	return READ_ONCE(t->pgrp) ?: -1;
}

static long set_foreground(struct tty *t, u64 arg)
{
	long err;
	int pgid;

	if (arch_copy_from_user(&pgid, (void *)arg, sizeof(pgid)))
		return -EFAULT;
	if (current->proc->tty != t || t->sid != current->proc->sid)
		return -ENOTTY;
	if (pgid < 0)
		return -EINVAL;
	err = check_background(t, SIGTTOU);
	if (err) /* as on Linux, where nobody would continue the process */
		return err == -EIO ? -ENOTTY : err;
	mutex_lock(&t->lock);
	err = t->sid == current->proc->sid ? check_group(pgid, t->sid) : -EPERM;
	if (!err)
		t->pgrp = pgid;
	mutex_unlock(&t->lock);
	return err;
}

/* --- reading and writing -------------------------------------------------------------- */

/* VMIN and VTIME of one read(2). */
struct raw_wait {
	u32 have;	 /* when last looked */
	u64 deadline_ns; /* 0: none */
};

/* In non-canonical mode: do the pending bytes complete the read? If not, *w gets the deadline. */
static bool raw_complete(const struct tty *t, size_t n, struct raw_wait *w)
{
	u32 vmin = t->termios.cc[VMIN], have = ldisc_pending(t);
	u64 time_ns = t->termios.cc[VTIME] * (NS_PER_SEC / 10);

	debug_assert(mutex_is_held(&t->lock));
	if (have >= min((size_t)max(vmin, 1u), n) || (!vmin && !time_ns))
		return true;
	if (!vmin && !w->deadline_ns)
		w->deadline_ns = clock_ns() + time_ns;
	if (vmin && time_ns && have != w->have)
		/* Between characters, after the first; another reader may have taken it. */
		w->deadline_ns = have ? clock_ns() + time_ns : 0;
	w->have = have;
	return false;
}

/*
 * Sleep until input arrives, @deadline_ns passes (0: none) or a signal comes. The lock is held
 * before and after. It has been held since the caller found too little input, so bytes that arrive
 * from then on find the waiter.
 */
static long wait_for_input(struct tty *t, u64 deadline_ns)
{
	struct waiter w = { .thread = current };
	long ret = 0;

	assert(mutex_is_held(&t->lock));
	list_init(&w.link);
	waitq_prepare(&t->readers, &w, TASK_INTERRUPTIBLE);
	mutex_unlock(&t->lock);
	if (signal_pending())
		ret = -ERESTARTSYS;
	else if (!schedule_until(deadline_ns))
		ret = -ETIMEDOUT;
	waitq_finish(&t->readers, &w);
	mutex_lock(&t->lock);
	return ret;
}

/* True if nothing can be typed: the run has no terminal at the other end of the line. */
static bool input_has_ended(void)
{
	return !cmdline_get("interactive");
}

/* Does a read that must not wait take bytes that are fewer than VMIN? */
static bool takes_fewer(const struct tty *t)
{
	debug_assert(mutex_is_held(&t->lock));
	return !tty_local(t, ICANON) && ldisc_pending(t);
}

static long wait_until_readable(struct tty *t, size_t n, bool block)
{
	struct raw_wait w = { 0 };
	long ret;

	debug_assert(mutex_is_held(&t->lock));
	for (;;) {
		ret = check_background(t, SIGTTIN);
		if (ret || (tty_local(t, ICANON) ? ldisc_available(t) > 0 : raw_complete(t, n, &w)))
			return ret;
		if (input_has_ended())
			return 0;
		if (!block)
			return takes_fewer(t) ? 0 : -EAGAIN;
		ret = wait_for_input(t, tty_local(t, ICANON) ? 0 : w.deadline_ns);
		bool raw = !tty_local(t, ICANON);
		if (ret == -ETIMEDOUT && raw && (ldisc_pending(t) || !t->termios.cc[VMIN]))
			return 0;
		if (ret && ret != -ETIMEDOUT)
			return ret;
		if (ret) /* The mode has changed, or another reader took the bytes. */
			w = (struct raw_wait){ 0 };
	}
}

static long tty_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct tty *t = f->private;
	char buf[256]; /* a terminal may give less than was asked for */
	long ret;

	(void)pos;
	n = min(n, sizeof(buf));
	if (!n)
		return 0;
	mutex_lock(&t->lock);
	ret = wait_until_readable(t, n, !(f->flags & O_NONBLOCK));
	if (!ret)
		ret = (long)ldisc_take(t, buf, n);
	debug_assert(ret <= (long)n);
	mutex_unlock(&t->lock);
	return ret > 0 && arch_copy_to_user(user_buf, buf, (size_t)ret) ? -EFAULT : ret;
}

static long tty_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	struct tty *t = f->private;
	char buf[256];
	size_t done = 0;
	long err = tty_local(t, TOSTOP) ? check_background(t, SIGTTOU) : 0;

	(void)pos;
	while (!err && done < n) {
		size_t len = min(n - done, sizeof(buf));

		err = wait_event_interruptible(&t->writers, !READ_ONCE(t->stopped));
		if (!err && arch_copy_from_user(buf, (const char *)user_buf + done, len))
			err = -EFAULT;
		if (err)
			break;
		mutex_lock(&t->lock);
		ldisc_write(t, buf, len);
		mutex_unlock(&t->lock);
		done += len;
	}
	return done ? (long)done : err;
}

static unsigned tty_poll(struct file *f, struct poll_table *pt)
{
	struct tty *t = f->private;
	unsigned events = 0;

	poll_wait(&t->readers, pt);
	poll_wait(&t->writers, pt);

	bool one = tty_local(t, ICANON) || t->termios.cc[VTIME];
	u32 wanted = one ? 1 : max((u32)t->termios.cc[VMIN], 1u);

	if (!READ_ONCE(t->stopped))
		events |= POLLOUT | POLLWRNORM;
	if (ldisc_available(t) >= wanted || input_has_ended())
		events |= POLLIN | POLLRDNORM;
	return events;
}

/* --- settings ------------------------------------------------------------------------- */

static long set_termios(struct tty *t, u64 arg, bool flush)
{
	struct termios next;
	long err = check_background(t, SIGTTOU);
	bool was_canonical;

	if (err)
		return err;
	if (arch_copy_from_user(&next, (void *)arg, sizeof(next)))
		return -EFAULT;
	mutex_lock(&t->lock);
	was_canonical = tty_local(t, ICANON);
	t->termios = next;
	if (flush)
		ldisc_flush(t);
	if (was_canonical != tty_local(t, ICANON))
		ldisc_mode_changed(t);
	if (!(next.iflag & IXON))
		t->stopped = false;
	mutex_unlock(&t->lock);
	waitq_wake(&t->readers, 0);
	waitq_wake(&t->writers, 0);
	return 0;
}

static long set_winsize(struct tty *t, u64 arg)
{
	struct winsize new;

	if (arch_copy_from_user(&new, (void *)arg, sizeof(new)))
		return -EFAULT;
	change_winsize(t, new);
	return 0;
}

static long give(u64 arg, const void *value, size_t size)
{
	return arch_copy_to_user((void *)arg, value, size) ? -EFAULT : 0;
}

/* TCFLSH: 0 input, 1 output (nothing is buffered), 2 both. */
static long flush(struct tty *t, u64 which)
{
	if (which > 2)
		return -EINVAL;
	mutex_lock(&t->lock);
	if (which != 1)
		ldisc_flush(t);
	mutex_unlock(&t->lock);
	return 0;
}

/* TCXONC: 0 suspend output, 1 resume it; 2 and 3 would send ^S and ^Q to the other end. */
static long set_flow(struct tty *t, u64 action)
{
	if (action > 3)
		return -EINVAL;
	mutex_lock(&t->lock);
	if (action < 2)
		t->stopped = action == 0;
	mutex_unlock(&t->lock);
	waitq_wake(&t->writers, 0);
	return 0;
}

/* clang-format off */
enum tty_ioctl {
	TCGETS = 0x5401, TCSETS, TCSETSW, TCSETSF, TCSBRK = 0x5409, TCXONC, TCFLSH,
	TIOCSCTTY = 0x540e, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ, TIOCGWINSZ = 0x5413, TIOCSWINSZ,
	FIONREAD = 0x541b, TIOCNOTTY = 0x5422, TIOCGSID = 0x5429,
};
/* clang-format on */

/* FIONREAD's answer. */
static u32 count_input(struct tty *t)
{
	u32 nr;

	mutex_lock(&t->lock);
	nr = ldisc_count(t);
	mutex_unlock(&t->lock);
	return nr;
}

static long tty_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	struct tty *t = f->private;
	struct proc *p = current->proc;
	u32 count = cmd == FIONREAD ? count_input(t) : 0;

	switch (cmd) {
	case TCGETS:
		return give(arg, &t->termios, sizeof(t->termios));
	case TCSETS:
	case TCSETSW: /* output is never pending */
		return set_termios(t, arg, false);
	case TCSETSF:
		return set_termios(t, arg, true);
	case TCSBRK:
		return check_background(t, SIGTTOU);
	case TCXONC:
		return check_background(t, SIGTTOU) ?: set_flow(t, arg);
	case TCFLSH:
		return check_background(t, SIGTTOU) ?: flush(t, arg);
	case TIOCSCTTY:
		return set_controlling(t);
	case TIOCNOTTY:
		if (p->tty != t)
			return -ENOTTY;
		if (p->pid == p->sid)
			tty_leave_session(p);
		set_own_tty(NULL);
		return 0;
	case TIOCGPGRP:
		return p->tty == t ? give(arg, &t->pgrp, sizeof(t->pgrp)) : -ENOTTY;
	case TIOCSPGRP:
		return set_foreground(t, arg);
	case TIOCGSID:
		return p->tty == t ? give(arg, &t->sid, sizeof(t->sid)) : -ENOTTY;
	case TIOCGWINSZ:
		return give(arg, &t->winsize, sizeof(t->winsize));
	case TIOCSWINSZ:
		return set_winsize(t, arg);
	case FIONREAD:
	case TIOCOUTQ:
		return give(arg, &count, sizeof(count));
	default:
		return -ENOTTY;
	}
}

/* --- the devices ---------------------------------------------------------------------- */

/* /dev/ttyS0: becomes the controlling terminal of a session leader that has none. */
static int open_serial(struct inode *i, struct file *f)
{
	struct proc *p = current->proc;

	(void)i;
	f->private = &console;
	if (f->flags & O_NOCTTY)
		return 0;
	mutex_lock(&console.lock);
	if (p->pid == p->sid && p->sid && !p->tty && !console.sid)
		take_control(&console);
	mutex_unlock(&console.lock);
	return 0;
}

/* /dev/console: the same line, but opening it does not make it a controlling terminal. */
static int open_console(struct inode *i, struct file *f)
{
	(void)i;
	f->private = &console;
	return 0;
}

/* /dev/tty: the controlling terminal, whatever it is. */
static int open_current(struct inode *i, struct file *f)
{
	(void)i;
	f->private = current->proc->tty;
	return f->private ? 0 : -ENXIO;
}

#define TTY_OPS(open_fn)                                                                           \
	{                                                                                          \
		.read = tty_read, .write = tty_write, .ioctl = tty_ioctl, .poll = tty_poll,        \
		.open = (open_fn)                                                                  \
	}

const struct file_ops tty_ops = TTY_OPS(open_serial);
const struct file_ops console_ops = TTY_OPS(open_console);
const struct file_ops tty_current_ops = TTY_OPS(open_current);

void tty_use_size(unsigned rows, unsigned cols)
{
	console.winsize = (struct winsize){ .row = (u16)rows, .col = (u16)cols };
}

void tty_init(void)
{
	console.winsize.row = (u16)cmdline_get_u64("rows", console.winsize.row);
	console.winsize.col = (u16)cmdline_get_u64("cols", console.winsize.col);
	if (!kthread_create("ttyd", ttyd, &console))
		panic("no memory for the terminal");
}

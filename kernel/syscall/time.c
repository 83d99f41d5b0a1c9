/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks, sleeping and interval timers.
 *
 * CLOCK_MONOTONIC, its RAW and COARSE kinds and CLOCK_BOOTTIME are one clock here: nothing
 * disciplines it, and the machine never suspends. The CPU-time clocks are exact to the nanosecond.
 */
#include "kernel/fs/event.h"
#include "kernel/fs/vfs.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/proc.h"
#include "kernel/time/itimer.h"
#include "kernel/time/timespec.h"
#include "lib/signal.h"

enum clock_id {
	CLOCK_REALTIME,
	CLOCK_MONOTONIC,
	CLOCK_PROCESS_CPUTIME_ID,
	CLOCK_THREAD_CPUTIME_ID,
	CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE,
	CLOCK_MONOTONIC_COARSE,
	CLOCK_BOOTTIME,
	CLOCK_TAI = 11,
};

#define TIMER_ABSTIME 1

/*
 * The CPU-time clock of another process or thread, as clock_getcpuclockid(3) encodes it: ~id in the
 * upper bits.
 */
static long foreign_cpu_clock(int id, u64 *ns)
{
	enum { KIND = 3, KIND_SCHED = 2, THREAD = 4 };
	int pid = ~(id >> 3);
	struct thread *t = pid ? thread_find(pid) : thread_get(current);
	long err = 0;

	if (!t || (id & KIND) > KIND_SCHED) {
		err = -EINVAL;
	} else if (id & THREAD) {
		struct usage u = thread_usage(t);
		*ns = u.user_ns + u.system_ns;
	} else {
		struct usage u = proc_usage(t->proc);
		*ns = u.user_ns + u.system_ns;
	}
	if (t)
		thread_put(t);
	return err;
}

static u64 own_runtime(struct thread *t)
{
	unsigned long flags = arch_irq_save();
	u64 ns = sched_task_runtime(machine, &t->task);

	arch_irq_restore(flags);
	return ns;
}

static __noinline long read_clock(int id, u64 *ns)
{
	struct usage u;

	switch (id) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = clock_ns();
		return 0;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		*ns = clock_realtime_ns();
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = own_runtime(current);
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		u = proc_usage(current->proc);
		*ns = u.user_ns + u.system_ns;
		return 0;
	default:
		return id < 0 ? foreign_cpu_clock(id, ns) : -EINVAL;
	}
}

SYSCALL2(clock_gettime, int, id, struct timespec *, ts)
{
	if (likely(id == CLOCK_MONOTONIC))
		return timespec_put(ts, clock_ns());
	u64 ns;
	long err = read_clock(id, &ns);
	return err ? err : timespec_put(ts, ns);
}

SYSCALL2(clock_getres, int, id, struct timespec *, ts)
{
	u64 ns;
	long err = read_clock(id, &ns);

	return err || !ts ? err : timespec_put(ts, 1);
}

SYSCALL2(clock_settime, int, id, const struct timespec *, ts)
{
	u64 ns;
	long err = id == CLOCK_REALTIME ? timespec_get(ts, &ns) : -EINVAL;

	if (!err && !capable(CAP_SYS_TIME))
		err = -EPERM;
	if (!err)
		clock_set_realtime(ns);
	return err;
}

SYSCALL2(gettimeofday, struct timeval *, tv, u64 *, zone)
{
	struct timeval now = timeval_of(clock_realtime_ns());
	u64 utc = 0;

	if (tv && arch_copy_to_user(tv, &now, sizeof(now)))
		return -EFAULT;
	return zone && arch_copy_to_user(zone, &utc, sizeof(utc)) ? -EFAULT : 0;
}

SYSCALL2(settimeofday, const struct timeval *, user, const u64 *, zone)
{
	struct timeval tv;
	(void)zone;

	if (!user)
		return 0;
	if (arch_copy_from_user(&tv, user, sizeof(tv)))
		return -EFAULT;
	if (tv.sec < 0 || (u64)tv.usec >= NS_PER_SEC / NS_PER_US)
		return -EINVAL;
	if (!capable(CAP_SYS_TIME))
		return -EPERM;
	clock_set_realtime(ns_of((u64)tv.sec, (u64)tv.usec * NS_PER_US));
	return 0;
}

SYSCALL1(time, s64 *, user)
{
	s64 now = (s64)(clock_realtime_ns() / NS_PER_SEC);

	return user && arch_copy_to_user(user, &now, sizeof(now)) ? -EFAULT : now;
}

/* --- sleeping --------------------------------------------------------------------------- */

/* How much later than asked the current thread may wake, so that wakeups coalesce. */
static u64 slack(void)
{
	return sched_task_prio(&current->task) < 100 ? 0 : current->timer_slack_ns;
}

/*
 * Sleep until @deadline_ns. If interrupted, the time left goes to @rest (may be NULL), and a
 * restart sleeps until the same deadline.
 */
static long sleep_restartable(u64 deadline_ns, struct timespec *rest);

static long restart_sleep(struct restart_block *rb)
{
	return sleep_restartable(rb->deadline_ns, (struct timespec *)rb->arg[0]);
}

static long sleep_restartable(u64 deadline_ns, struct timespec *rest)
{
	if (!sleep_until(deadline_ns, slack()))
		return 0;
	u64 now = clock_ns();
	if (rest && timespec_put(rest, deadline_ns > now ? deadline_ns - now : 0))
		return -EFAULT;
	current->restart = (struct restart_block){
		.fn = restart_sleep,
		.deadline_ns = deadline_ns,
		.arg = { (u64)(uintptr_t)rest },
	};
	return -ERESTART_RESTARTBLOCK;
}

SYSCALL2(nanosleep, const struct timespec *, request, struct timespec *, rest)
{
	u64 ns;
	long err = timespec_get(request, &ns);

	return err ? err : sleep_restartable(deadline_after(ns), rest);
}

SYSCALL4(clock_nanosleep, int, id, int, flags, const struct timespec *, request, struct timespec *,
	 rest)
{
	bool real = id == CLOCK_REALTIME || id == CLOCK_TAI;
	u64 ns;
	long err = timespec_get(request, &ns);

	if (!real && id != CLOCK_MONOTONIC && id != CLOCK_BOOTTIME)
		return id == CLOCK_THREAD_CPUTIME_ID	? -EINVAL
		       : id == CLOCK_PROCESS_CPUTIME_ID ? -EOPNOTSUPP
							: -EINVAL;
	if (err)
		return err;
	if (!(flags & TIMER_ABSTIME))
		return sleep_restartable(deadline_after(ns), rest);
	/* An absolute time stays right when the call is restarted. */
	if (real)
		ns = clock_monotonic_of(ns);
	return ns > clock_ns() && sleep_until(ns, slack()) ? -ERESTARTNOHAND : 0;
}

SYSCALL0(restart_syscall)
{
	struct restart_block *rb = &current->restart;

	return rb->fn ? rb->fn(rb) : -EINTR;
}

/* --- interval timers ---------------------------------------------------------------------- */

struct user_itimerval {
	struct timeval interval, value;
};

static u64 ns_of_timeval(const struct timeval *tv)
{
	return ns_of((u64)tv->sec, (u64)tv->usec * NS_PER_US);
}

static bool timeval_ok(const struct timeval *tv)
{
	return tv->sec >= 0 && (u64)tv->usec < NS_PER_SEC / NS_PER_US;
}

static long set_real(const struct user_itimerval *user_new, struct user_itimerval *user_old)
{
	struct itimer_setting new, old;
	struct user_itimerval v;

	if (user_new) {
		if (arch_copy_from_user(&v, user_new, sizeof(v)))
			return -EFAULT;
		if (!timeval_ok(&v.interval) || !timeval_ok(&v.value))
			return -EINVAL;
		new = (struct itimer_setting){ ns_of_timeval(&v.value),
					       ns_of_timeval(&v.interval) };
	}
	long err = itimer_real_set(user_new ? &new : NULL, &old);
	if (err || !user_old)
		return err;
	v = (struct user_itimerval){ timeval_of(old.interval_ns), timeval_of(old.value_ns) };
	return arch_copy_to_user(user_old, &v, sizeof(v)) ? -EFAULT : 0;
}

SYSCALL2(getitimer, int, which, struct user_itimerval *, old)
{
	return which ? -EINVAL : set_real(NULL, old);
}

SYSCALL3(setitimer, int, which, const struct user_itimerval *, new, struct user_itimerval *, old)
{
	struct itimer_setting off = { 0 }, was;

	if (which)
		return -EINVAL;
	return new ? set_real(new, old) : itimer_real_set(&off, &was);
}

SYSCALL1(alarm, unsigned, seconds)
{
	struct itimer_setting new = { seconds * NS_PER_SEC, 0 }, old;
	long err = itimer_real_set(&new, &old);

	/* Rounded to seconds, but never to 0 if an alarm was running. */
	u64 left = (old.value_ns + NS_PER_SEC / 2) / NS_PER_SEC;

	return err ? err : old.value_ns ? (long)max(left, 1ul) : 0;
}

/* --- timer_create ---------------------------------------------------------------------------- */

struct user_sigevent { /* struct sigevent, 64 bytes */
	u64 value;
	int signo, notify, tid;
	int pad[11];
};
STATIC_ASSERT(sizeof(struct user_sigevent) == 64, "struct sigevent of the ABI");

/* Read what the caller wants to happen at each expiry. 0 or -EINVAL. */
static long decode_event(const struct user_sigevent *se, struct timer_event *event)
{
	enum { SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, SIGEV_THREAD_ID = 4 };

	*event = (struct timer_event){ .value = se->value };
	if (se->notify == SIGEV_NONE)
		return 0;
	if (se->signo < 1 || se->signo > NSIG)
		return -EINVAL;
	event->sig = se->signo;
	if (se->notify == SIGEV_SIGNAL || se->notify == SIGEV_THREAD)
		return 0;
	if (se->notify != SIGEV_THREAD_ID)
		return -EINVAL;
	event->thread = se->tid > 0 ? thread_find(se->tid) : NULL;
	if (event->thread && event->thread->proc == current->proc)
		return 0;
	if (event->thread)
		thread_put(event->thread);
	return -EINVAL;
}

SYSCALL3(timer_create, int, clock, const struct user_sigevent *, user_event, int *, user_id)
{
	bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_TAI;
	struct user_sigevent se = { .signo = SIGALRM };
	struct timer_event event;

	if (clock >= CLOCK_MONOTONIC_RAW && clock <= CLOCK_MONOTONIC_COARSE)
		return -EOPNOTSUPP;
	if (!is_wall && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return -EINVAL;
	if (user_event && arch_copy_from_user(&se, user_event, sizeof(se)))
		return -EFAULT;
	long err = decode_event(&se, &event);
	if (err)
		return err;
	event.value_is_id = !user_event;
	long id = posix_timer_create(&event, is_wall);
	if (id < 0 && event.thread)
		thread_put(event.thread);
	if (id < 0)
		return id;
	int number = (int)id;
	if (arch_copy_to_user(user_id, &number, sizeof(number))) {
		posix_timer_delete(number);
		return -EFAULT;
	}
	return 0;
}

struct user_itimerspec {
	struct timespec interval, value;
};

static bool timespec_ok(const struct timespec *ts)
{
	return ts->sec >= 0 && (u64)ts->nsec < NS_PER_SEC;
}

static long put_itimerspec(struct user_itimerspec *user, const struct itimer_setting *s)
{
	struct user_itimerspec v = { timespec_of(s->interval_ns), timespec_of(s->value_ns) };

	return arch_copy_to_user(user, &v, sizeof(v)) ? -EFAULT : 0;
}

static long get_itimerspec(const struct user_itimerspec *user, struct itimer_setting *s)
{
	struct user_itimerspec v;

	if (arch_copy_from_user(&v, user, sizeof(v)))
		return -EFAULT;
	if (!timespec_ok(&v.interval) || !timespec_ok(&v.value))
		return -EINVAL;
	s->value_ns = ns_of((u64)v.value.sec, (u64)v.value.nsec);
	s->interval_ns = ns_of((u64)v.interval.sec, (u64)v.interval.nsec);
	return 0;
}

SYSCALL4(timer_settime, int, id, int, flags, const struct user_itimerspec *, user_new,
	 struct user_itimerspec *, user_old)
{
	struct itimer_setting old, new;
	long err = user_new ? get_itimerspec(user_new, &new) : -EINVAL;

	if (err)
		return err;
	err = posix_timer_set(id, &new, flags & TIMER_ABSTIME, &old);
	return err || !user_old ? err : put_itimerspec(user_old, &old);
}

SYSCALL2(timer_gettime, int, id, struct user_itimerspec *, user)
{
	struct itimer_setting now;
	long err = posix_timer_set(id, NULL, false, &now);

	return err ? err : put_itimerspec(user, &now);
}

SYSCALL1(timer_getoverrun, int, id)
{
	return posix_timer_overrun(id);
}

SYSCALL1(timer_delete, int, id)
{
	return posix_timer_delete(id);
}

/* --- timers with a descriptor ---------------------------------------------------------------- */

SYSCALL2(timerfd_create, int, clock, u32, flags)
{
	struct file *f;

	if (flags & ~(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return -EINVAL;
	f = timerfd_open(clock == CLOCK_REALTIME, flags & O_NONBLOCK);
	return f ? fd_install(f, 0, flags & O_CLOEXEC) : file_shortage();
}

static long set_timerfd(int fd, const struct itimer_setting *new, bool absolute,
			struct itimer_setting *old)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = timerfd_set(ref.file, new, absolute, old);
	fd_release(ref);
	return ret;
}

/* TFD_TIMER_CANCEL_ON_SET is refused: a change of CLOCK_REALTIME moves no timer. */
SYSCALL4(timerfd_settime, int, fd, int, flags, const struct user_itimerspec *, user_new,
	 struct user_itimerspec *, user_old)
{
	struct itimer_setting old, new;
	long err = flags & ~TIMER_ABSTIME ? -EINVAL : get_itimerspec(user_new, &new);

	if (!err)
		err = set_timerfd(fd, &new, flags & TIMER_ABSTIME, &old);
	return err || !user_old ? err : put_itimerspec(user_old, &old);
}

SYSCALL2(timerfd_gettime, int, fd, struct user_itimerspec *, user)
{
	struct itimer_setting now;
	long err = set_timerfd(fd, NULL, false, &now);

	return err ? err : put_itimerspec(user, &now);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's system calls: policies, priorities, affinity, yield.
 *
 * Linux's face on sched/sched.h: argument checks and errno as measured on Linux 6.1 (a bad pid
 * before a bad parameter, a NULL parameter is EINVAL and not EFAULT), the work itself is the
 * scheduler's. `pid` arguments name threads, and 0 is the caller.
 */
#include "kernel/contract.h"
#include "kernel/syscall/syscall.h"
#include "lib/errno.h"

/* struct sched_attr of sched_setattr(2): version 0 is the first 48 bytes, version 1 all 56. */
struct user_sched_attr {
	u32 size; /* first, and read before the rest: a program's pointer to it may be misaligned */
	u32 policy;
	u64 flags;
	s32 nice;
	u32 priority;
	u64 runtime_ns, deadline_ns, period_ns;
	u32 util_min, util_max;
};
#define SCHED_ATTR_SIZE_VER0 48u

enum sched_attr_flags {
	ATTR_RESET_ON_FORK = 0x01,
	ATTR_RECLAIM = 0x02, /* with SCHED_DEADLINE, also the next */
	ATTR_DL_OVERRUN = 0x04,
	ATTR_KEEP_POLICY = 0x08,
	ATTR_KEEP_PARAMS = 0x10,
	ATTR_UTIL_MIN = 0x20,
	ATTR_UTIL_MAX = 0x40,
	ATTR_UTIL_CLAMP = ATTR_UTIL_MIN | ATTR_UTIL_MAX,
	ATTR_ALL = 0x7f,
};

/* The thread @pid with a reference, or NULL with *err set. */
static struct thread *get_thread(int pid, long *err)
{
	if (pid < 0) {
		*err = -EINVAL;
		return NULL;
	}
	struct thread *t = pid ? thread_find(pid) : thread_get(current);
	if (!t)
		*err = -ESRCH;
	return t;
}

/* The attributes of @t, as its scheduler has them now. */
static struct sched_attr_req attr_of(struct thread *t)
{
	struct sched_attr_req attr;

	with_irqs_off(sched_read_attr(machine, &t->task, &attr));
	return attr;
}

/* --- who may change what, as sched(7) has it ------------------------------------------- */

/* May a thread that is now @old become @new without being privileged? */
static bool is_modest(const struct thread *t, const struct sched_attr_req *old,
		      const struct sched_attr_req *new)
{
	u64 limit = READ_ONCE(t->proc->rlimit[RLIMIT_RTPRIO].cur);
	struct sched_policy_info wanted = sched_policy_info(new->policy);

	if (old->reset_on_fork && !new->reset_on_fork)
		return false;
	if (wanted.priority)
		return (new->policy == old->policy || limit) &&
		       (new->rt_priority <= old->rt_priority || (u64) new->rt_priority <= limit);
	if (!wanted.nice)
		return false;
	if (old->policy == SCHED_IDLE && new->policy != SCHED_IDLE && !cred_may_nice(t, old->nice))
		return false;
	return new->nice >= old->nice || cred_may_nice(t, new->nice);
}

/*
 * Held from reading the attributes that a call keeps to writing them all, so that no call undoes
 * another. Nests inside proc_tree_lock.
 */
static struct spinlock attr_lock = SPINLOCK_INIT("task attributes");

static long set_attr(struct thread *t, const struct sched_attr_req *req)
{
	long err;

	assert_held(&attr_lock);
	/* Parameters that nobody may have are invalid, not forbidden. */
	if (!sched_attr_is_valid(machine, req))
		return -EINVAL;
	struct sched_attr_req old = attr_of(t);
	if (!capable(CAP_SYS_NICE) && !(cred_may_schedule(t) && is_modest(t, &old, req)))
		return -EPERM;

	with_irqs_off(err = sched_set_attr(machine, &t->task, req));
	return err;
}

/*
 * Policy (negative: keep) and real-time priority from sched_setscheduler(2) and sched_setparam(2).
 */
static long set_policy(int pid, int policy, const int *user_param)
{
	int rt_priority;
	long err = 0;

	if (!user_param || pid < 0)
		return -EINVAL;
	if (arch_copy_from_user(&rt_priority, user_param, sizeof(rt_priority)))
		return -EFAULT;
	struct thread *t = get_thread(pid, &err);
	if (!t)
		return err;
	spin_lock(&attr_lock);
	struct sched_attr_req req = attr_of(t);
	if (policy >= 0) {
		req.reset_on_fork = policy & SCHED_RESET_ON_FORK;
		req.policy = policy & ~SCHED_RESET_ON_FORK;
	}
	req.rt_priority = rt_priority;
	/* SCHED_DEADLINE has parameters that these calls cannot give. */
	req.deadline_ns = 0;
	err = set_attr(t, &req);
	spin_unlock(&attr_lock);
	preempt_check();
	thread_put(t);
	return err;
}

SYSCALL3(sched_setscheduler, int, pid, int, policy, const int *, param)
{
	if (policy < 0)
		return -EINVAL;
	return set_policy(pid, policy, param);
}

SYSCALL2(sched_setparam, int, pid, const int *, param)
{
	return set_policy(pid, -1, param);
}

SYSCALL1(sched_getscheduler, int, pid)
{
	long err = 0;
	struct thread *t = get_thread(pid, &err);

	if (!t)
		return err;
	struct sched_attr_req req = attr_of(t);
	thread_put(t);
	return req.policy | (req.reset_on_fork ? SCHED_RESET_ON_FORK : 0);
}

SYSCALL2(sched_getparam, int, pid, int *, param)
{
	long err = 0;

	if (!param)
		return -EINVAL;
	struct thread *t = get_thread(pid, &err);
	if (!t)
		return err;
	struct sched_attr_req req = attr_of(t);
	thread_put(t);
	int rt_priority = sched_policy_info(req.policy).priority ? req.rt_priority : 0;
	return arch_copy_to_user(param, &rt_priority, sizeof(rt_priority)) ? -EFAULT : 0;
}

/* Real-time policies have a range, which ends at @limit; the others have none. */
static long priority_limit(int policy, int limit)
{
	struct sched_policy_info info = sched_policy_info(policy);

	if (!info.name)
		return -EINVAL;
	return info.priority ? limit : 0;
}

SYSCALL1(sched_get_priority_max, int, policy)
{
	return priority_limit(policy, 99);
}

SYSCALL1(sched_get_priority_min, int, policy)
{
	return priority_limit(policy, 1);
}

SYSCALL2(sched_rr_get_interval, int, pid, u64 *, interval)
{
	long err = 0;
	struct thread *t = get_thread(pid, &err);

	if (!t)
		return err;
	u64 ns;
	with_irqs_off(ns = sched_rr_interval(machine, &t->task));
	thread_put(t);
	u64 timespec[2] = { ns / NS_PER_SEC, ns % NS_PER_SEC };
	return arch_copy_to_user(interval, timespec, sizeof(timespec)) ? -EFAULT : 0;
}

/* --- sched_setattr, sched_getattr --------------------------------------------------- */

/* Tells the caller which size the kernel knows. */
static long attr_size_error(struct user_sched_attr *uattr)
{
	u32 size = sizeof(*uattr);

	return arch_copy_to_user(uattr, &size, sizeof(size)) ? -EFAULT : -E2BIG;
}

/*
 * Copies a sched_attr of any version: a shorter one is extended by zeros, a longer one must end in
 * zeros.
 */
static long copy_attr(struct user_sched_attr *attr, struct user_sched_attr *uattr)
{
	u32 size;
	int err;

	if (arch_copy_from_user(&size, uattr, sizeof(size)))
		return -EFAULT;
	if (!size)
		size = SCHED_ATTR_SIZE_VER0;
	if (size < SCHED_ATTR_SIZE_VER0 || size > 4096)
		return attr_size_error(uattr);
	err = check_unknown(uattr, sizeof(*attr), size);
	if (err)
		return err == -E2BIG ? attr_size_error(uattr) : err;
	*attr = (struct user_sched_attr){ 0 };
	if (arch_copy_from_user(attr, uattr, min(size, (u32)sizeof(*attr))))
		return -EFAULT;
	/* Version 0 has no room for clamps. */
	return size < sizeof(*attr) && attr->flags & ATTR_UTIL_CLAMP ? -EINVAL : 0;
}

static void fill_request(struct sched_attr_req *req, const struct user_sched_attr *attr)
{
	struct sched_policy_info info;

	if (!(attr->flags & ATTR_KEEP_POLICY)) {
		req->policy = (int)attr->policy;
		req->reset_on_fork = attr->flags & ATTR_RESET_ON_FORK;
	}
	req->clamps = (attr->flags & ATTR_UTIL_CLAMP) / ATTR_UTIL_MIN;
	req->util[SCHED_CLAMP_MIN] = attr->util_min;
	req->util[SCHED_CLAMP_MAX] = attr->util_max;
	if (attr->flags & ATTR_KEEP_PARAMS)
		return;
	info = sched_policy_info(req->policy);
	req->rt_priority = (int)attr->priority;
	if (!info.priority)
		req->nice = max(NICE_MIN, min(NICE_MAX, attr->nice));
	if (info.nice && req->policy != SCHED_IDLE) /* Linux takes no slice for SCHED_IDLE */
		req->slice_ns = attr->runtime_ns;
	req->runtime_ns = attr->runtime_ns;
	req->deadline_ns = attr->deadline_ns;
	req->period_ns = attr->period_ns;
}

SYSCALL3(sched_setattr, int, pid, struct user_sched_attr *, uattr, unsigned, flags)
{
	struct user_sched_attr attr;
	long err;

	if (!uattr || pid < 0 || flags)
		return -EINVAL;
	err = copy_attr(&attr, uattr);
	if (err)
		return err;
	if ((attr.flags & ~(u64)ATTR_ALL) || (int)attr.policy < 0)
		return -EINVAL;
	if (sched_policy_info((int)attr.policy).deadline &&
	    attr.flags & (ATTR_RECLAIM | ATTR_DL_OVERRUN))
		return -EOPNOTSUPP;
	struct thread *t = get_thread(pid, &err);
	if (!t)
		return err;
	spin_lock(&attr_lock);
	struct sched_attr_req req = attr_of(t);
	fill_request(&req, &attr);
	err = set_attr(t, &req);
	spin_unlock(&attr_lock);
	preempt_check();
	thread_put(t);
	return err;
}

SYSCALL4(sched_getattr, int, pid, void *, uattr, unsigned, size, unsigned, flags)
{
	long err = 0;

	if (!uattr || pid < 0 || size < SCHED_ATTR_SIZE_VER0 || size > 4096 || flags)
		return -EINVAL;
	struct thread *t = get_thread(pid, &err);
	if (!t)
		return err;
	struct sched_attr_req req = attr_of(t);
	unsigned long irq = arch_irq_save();
	u64 slice_ns = sched_task_slice(machine, &t->task);
	arch_irq_restore(irq);
	thread_put(t);
	struct sched_policy_info info = sched_policy_info(req.policy);
	struct user_sched_attr attr = {
		.size = min(size, (unsigned)sizeof(attr)),
		.policy = (u32)req.policy,
		.flags = req.reset_on_fork ? ATTR_RESET_ON_FORK : 0,
		.nice = info.nice ? req.nice : 0,
		.priority = info.priority ? (u32)req.rt_priority : 0,
		.runtime_ns = slice_ns ?: req.runtime_ns,
		.deadline_ns = req.deadline_ns,
		.period_ns = req.period_ns,
		.util_min = req.util[SCHED_CLAMP_MIN],
		.util_max = req.util[SCHED_CLAMP_MAX],
	};
	return arch_copy_to_user(uattr, &attr, attr.size) ? -EFAULT : 0;
}

/* --- affinity ------------------------------------------------------------------------- */

SYSCALL3(sched_setaffinity, int, pid, unsigned, len, const void *, user_mask)
{
	struct cpumask mask = { 0 };
	long err = 0;

	if (arch_copy_from_user(&mask, user_mask, min((size_t)len, sizeof(mask))))
		return -EFAULT;
	struct thread *t = get_thread(pid, &err);
	if (!t)
		return pid < 0 ? -ESRCH : err;
	if (cred_may_schedule(t)) {
		with_irqs_off(err = sched_set_affinity(machine, &t->task, &mask));
		preempt_check();
	} else {
		err = -EPERM;
	}
	thread_put(t);
	return err;
}

/*
 * Returns the bytes written: enough whole words for every CPU, whatever the size of the caller's
 * buffer.
 */
SYSCALL3(sched_getaffinity, int, pid, unsigned, len, void *, user_mask)
{
	unsigned bytes = ALIGN_UP(arch_nr_cpus, 64) / 8;
	long err = 0;

	if (len < bytes || len % sizeof(u64))
		return -EINVAL;
	struct thread *t = get_thread(pid, &err);
	if (!t)
		return pid < 0 ? -ESRCH : err;
	struct cpumask mask;
	with_irqs_off(sched_get_affinity(machine, &t->task, &mask));
	thread_put(t);
	return arch_copy_to_user(user_mask, &mask, bytes) ? -EFAULT : (long)bytes;
}

SYSCALL0(sched_yield)
{
	yield();
	return 0;
}

/* --- nice ---------------------------------------------------------------------------------- */

enum prio_which { PRIO_PROCESS, PRIO_PGRP, PRIO_USER };

/*
 * Calls @fn for each thread that (@which, @who) names and returns how many there were. Linux takes
 * a thread id for PRIO_PROCESS.
 */
static unsigned for_each_selected(int which, int who, void (*fn)(struct thread *t, void *arg),
				  void *arg)
{
	unsigned found = 0;

	if (which == PRIO_PROCESS) {
		struct thread *t = who ? thread_find(who) : thread_get(current);
		if (t) {
			fn(t, arg);
			thread_put(t);
		}
		return t != NULL;
	}
	u32 user = which == PRIO_USER && who ? (u32)who : current->cred.user.real;
	int pgid = which == PRIO_PGRP ? (who ? who : current->proc->pgid) : 0;
	spin_lock(&proc_tree_lock);
	struct proc *p;
	list_for_each(p, &all_procs, all_link) {
		struct thread *t;
		if (pgid && p->pgid != pgid)
			continue;
		list_for_each(t, &p->threads, proc_link) {
			if (which == PRIO_USER && t->cred.user.real != user)
				continue;
			fn(t, arg);
			found++;
		}
	}
	spin_unlock(&proc_tree_lock);
	return found;
}

struct nice_change {
	int nice;
	long err; /* the last refusal */
};

static void set_nice(struct thread *t, void *arg)
{
	struct nice_change *change = arg;

	spin_lock(&attr_lock);
	struct sched_attr_req old = attr_of(t);
	if (!cred_may_schedule(t))
		change->err = -EPERM;
	else if (change->nice < old.nice && !cred_may_nice(t, change->nice))
		change->err = -EACCES;
	else
		with_irqs_off(sched_set_nice(machine, &t->task, change->nice));
	spin_unlock(&attr_lock);
}

SYSCALL3(setpriority, int, which, int, who, int, nice)
{
	struct nice_change change = { .nice = max(NICE_MIN, min(NICE_MAX, nice)) };

	if (which < PRIO_PROCESS || which > PRIO_USER)
		return -EINVAL;
	return for_each_selected(which, who, set_nice, &change) ? change.err : -ESRCH;
}

/* The most favourable of the selected, kept as 20 - nice: larger is better. */
static void best_priority(struct thread *t, void *arg)
{
	struct sched_attr_req req = attr_of(t);
	long *best = arg;

	*best = max(*best, 20l - req.nice);
}

/* The raw system call answers 20 - nice, 1..40, so that no result looks like an error. */
SYSCALL2(getpriority, int, which, int, who)
{
	long best = 0;

	if (which < PRIO_PROCESS || which > PRIO_USER)
		return -EINVAL;
	return for_each_selected(which, who, best_priority, &best) ? best : -ESRCH;
}

/* --- I/O priorities: there is no storage to order requests of, so they are only kept -------- */

enum io_class { IO_NONE, IO_REALTIME, IO_BEST_EFFORT, IO_IDLE };
#define IO_CLASS(prio) ((unsigned)(prio) >> 13)

static void set_io_priority(struct thread *t, void *arg)
{
	struct nice_change *change = arg;

	if (cred_may_schedule(t))
		t->io_priority = (u16)change->nice;
	else
		change->err = -EPERM;
}

/* Class in the three highest of 16 bits, level in the three lowest. */
SYSCALL3(ioprio_set, int, which, int, who, int, priority)
{
	struct nice_change change = { .nice = priority };
	unsigned level = (unsigned)priority & 0x1fff;

	if (which < 1 || which > 3 || priority < 0 || IO_CLASS(priority) > IO_IDLE || level > 7 ||
	    (IO_CLASS(priority) == IO_NONE && level))
		return -EINVAL;
	if (IO_CLASS(priority) == IO_REALTIME && !capable(CAP_SYS_NICE) && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	return for_each_selected(which - 1, who, set_io_priority, &change) ? change.err : -ESRCH;
}

/* The best of the selected; a smaller number is better, and none at all is best effort 4. */
static void best_io_priority(struct thread *t, void *arg)
{
	long *best = arg, own = t->io_priority ?: IO_BEST_EFFORT << 13 | 4;

	*best = min(*best, own);
}

SYSCALL2(ioprio_get, int, which, int, who)
{
	long best = UINT16_MAX;

	if (which < 1 || which > 3)
		return -EINVAL;
	if (which == 1) {
		struct thread *t = who ? thread_find(who) : thread_get(current);
		if (!t)
			return -ESRCH;
		best = t->io_priority;
		thread_put(t);
		return best;
	}
	return for_each_selected(which - 1, who, best_io_priority, &best) ? best : -ESRCH;
}

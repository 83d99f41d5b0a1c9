/* SPDX-License-Identifier: GPL-2.0-only */
/* perf_event_open(2): its arguments. kernel/trace/perf.c has the events. */
#include "kernel/syscall/syscall.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/cred.h"
#include "kernel/trace/perf.h"

/* Bytes of the structure in its first version, and in that of Linux 6.1. */
#define ATTR_SIZE_FIRST 64u
#define ATTR_SIZE_KNOWN 128u

/* Bits of its words that have no meaning in Linux 6.1. */
#define FLAGS_RESERVED	     (~0ull << 38)
#define SAMPLE_RESERVED	     (~0ull << 25)
#define MAX_SAMPLES_A_SECOND 100000 /* as perf_event_max_sample_rate says */

enum open_flag { FD_NO_GROUP = 1, FD_OUTPUT = 2, PID_CGROUP = 4, FD_CLOEXEC = 8 };

/* Bytes without a meaning, among the @size of @user: 0, -EINVAL if they have a value, -EFAULT. */
static int check_reserved(const u8 *user, u32 size)
{
	static const u32 fields[][2] = { { 110, 112 }, { 116, 120 } };
	int err = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(fields) && !err; i++)
		err = check_unknown(user, fields[i][0], min(fields[i][1], size));
	return err == -E2BIG ? -EINVAL : err;
}

/*
 * Copies the attributes at @user, aligned or not, of the size that they name. -E2BIG, with the
 * known size at @user: it is none, or what this kernel does not know is not zero.
 */
static int copy_attr(struct perf_attr *attr, u8 *user)
{
	u8 *named = user + offsetof(struct perf_attr, size);
	u32 size;
	int err;

	if (arch_copy_from_user(&size, named, sizeof(size)))
		return -EFAULT;
	if (!size)
		size = ATTR_SIZE_FIRST;
	if (size < ATTR_SIZE_FIRST || size > PAGE_SIZE) {
		size = ATTR_SIZE_KNOWN;
		return arch_copy_to_user(named, &size, sizeof(size)) ? -EFAULT : -E2BIG;
	}
	/*
	 * Between what is copied and what is unknown: breakpoints, stacks, hardware, and a choice
	 * of clocks, which are all the same here.
	 */
	err = check_unknown(user, ATTR_SIZE_KNOWN, size) ?: check_reserved(user, size);
	if (err)
		return err;
	return arch_copy_from_user(attr, user, sizeof(*attr)) ? -EFAULT : 0;
}

static int check_attr(const struct perf_attr *attr)
{
	if (attr->flags & FLAGS_RESERVED || attr->sample_type & SAMPLE_RESERVED ||
	    attr->read_format & ~(u64)PERF_READ_KNOWN)
		return -EINVAL;
	if (attr->sample_period > (attr->flags & PERF_FREQ ? MAX_SAMPLES_A_SECOND : INT64_MAX))
		return -EINVAL;
	/* Call chains, registers, stacks and weights. */
	if (attr->sample_type & ~(u64)PERF_SAMPLE_KNOWN)
		return -EOPNOTSUPP;
	if (attr->flags & PERF_FREQ && attr->type == PERF_TRACEPOINT)
		return -EINVAL;
	return 0;
}

/* May the running thread watch thread @pid (-1: all) with @attr? 0 or -errno. */
static int check_target(const struct perf_attr *attr, int pid, int cpu)
{
	struct thread *t;
	bool private;

	if (cpu < -1 || (pid == -1 && cpu == -1))
		return -EINVAL;
	if (pid < -1)
		return -ESRCH;
	if (cpu >= (int)arch_nr_cpus)
		return -EINVAL;
	if (cpu >= 0 && !READ_ONCE(cpus[cpu]->online))
		return -ENODEV;
	if (pid > 0) {
		t = thread_find(pid);
		if (!t)
			return -ESRCH;
		thread_put(t);
	}
	/* CPUs and tracepoints tell about others; with perf_event_paranoid 2 so does the kernel. */
	private = pid == -1 || pid > 0 || attr->type == PERF_TRACEPOINT ||
		  !(attr->flags & PERF_EXCLUDE_KERNEL);
	return private && !capable(CAP_SYS_ADMIN) ? -EACCES : 0;
}

SYSCALL5(perf_event_open, u8 *, user, int, pid, int, cpu, int, group_fd, u64, flags)
{
	struct perf_attr attr;
	struct fd_ref group;
	struct file *f;
	int err;

	if (flags & ~(u64)(FD_NO_GROUP | FD_OUTPUT | PID_CGROUP | FD_CLOEXEC))
		return -EINVAL;
	/* Groups are read one by one; nothing here counts for a control group. */
	if (flags & (FD_OUTPUT | PID_CGROUP))
		return -EOPNOTSUPP;
	err = copy_attr(&attr, user);
	if (!err)
		err = check_attr(&attr);
	if (!err)
		err = check_target(&attr, pid, cpu);
	if (err)
		return err;
	if (group_fd != -1) {
		group = fd_borrow(group_fd);
		err = group.file && perf_event_of(group.file) ? 0 : -EBADF;
		fd_release(group);
		if (err)
			return err;
	}
	f = perf_event_open(&attr, pid, cpu, &err);
	return f ? fd_install(f, 0, flags & FD_CLOEXEC) : err;
}

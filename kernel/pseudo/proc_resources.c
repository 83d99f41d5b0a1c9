/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of /proc/PID about resources: limits, bytes moved, the score of the memory killer, and
 * mounts. Formats are Linux 6.1's (proc(5)).
 */
#include "kernel/pseudo/procfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"

static const struct {
	const char *name, *unit;
} limit_names[NR_RLIMITS] = {
	[RLIMIT_CPU] = { "Max cpu time", "seconds" },
	[RLIMIT_FSIZE] = { "Max file size", "bytes" },
	[RLIMIT_DATA] = { "Max data size", "bytes" },
	[RLIMIT_STACK] = { "Max stack size", "bytes" },
	[RLIMIT_CORE] = { "Max core file size", "bytes" },
	[RLIMIT_RSS] = { "Max resident set", "bytes" },
	[RLIMIT_NPROC] = { "Max processes", "processes" },
	[RLIMIT_NOFILE] = { "Max open files", "files" },
	[RLIMIT_MEMLOCK] = { "Max locked memory", "bytes" },
	[RLIMIT_AS] = { "Max address space", "bytes" },
	[RLIMIT_LOCKS] = { "Max file locks", "locks" },
	[RLIMIT_SIGPENDING] = { "Max pending signals", "signals" },
	[RLIMIT_MSGQUEUE] = { "Max msgqueue size", "bytes" },
	[RLIMIT_NICE] = { "Max nice priority", "" },
	[RLIMIT_RTPRIO] = { "Max realtime priority", "" },
	[RLIMIT_RTTIME] = { "Max realtime timeout", "us" },
};

static void add_limit(struct text *t, u64 value)
{
	if (value == RLIM_INFINITY)
		text_add(t, "%-20s ", "unlimited");
	else
		text_add(t, "%-20lu ", value);
}

size_t show_limits(void *arg, char *buf, size_t size)
{
	struct proc *p = ((struct pid_ref *)arg)->proc;
	struct text t = text_of(buf, size);
	struct rlimit limit;

	text_add(&t, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
	for (unsigned i = 0; i < NR_RLIMITS; i++) {
		unsigned long flags = spin_lock_irqsave(&p->sig_lock);

		limit = p->rlimit[i];
		spin_unlock_irqrestore(&p->sig_lock, flags);
		text_add(&t, "%-25s ", limit_names[i].name);
		add_limit(&t, limit.cur);
		add_limit(&t, limit.max);
		text_add(&t, "%-10s\n", limit_names[i].unit);
	}
	return t.len;
}

/* There is no storage behind the files: what read and write moved is all. */
size_t show_io(void *arg, char *buf, size_t size)
{
	struct pid_ref *r = arg;
	struct usage u =
		r->is_thread || is_kernel_thread(r) ? thread_usage(r->thread) : proc_usage(r->proc);

	return (size_t)snprintf(buf, size,
				"rchar: %lu\nwchar: %lu\nsyscr: %lu\nsyscw: %lu\nread_bytes: 0\n"
				"write_bytes: 0\ncancelled_write_bytes: 0\n",
				u.read_bytes, u.written_bytes, u.nr_reads, u.nr_writes);
}

size_t show_oom_score(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%ld\n", oom_score(((struct pid_ref *)arg)->proc));
}

size_t show_mountinfo(void *arg, char *buf, size_t size)
{
	(void)arg;
	return mount_print_info(buf, size);
}

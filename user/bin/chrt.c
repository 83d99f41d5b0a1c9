/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * chrt: show or set the scheduling policy of a process, or run a program under one. The command
 * line of util-linux's chrt; Debian's busybox lacks it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/args.h"

#define NOT_GIVEN UINT64_MAX

static bool show_limits, by_pid, other, fifo, round_robin, batch, idle, by_deadline, ext;
static uint64_t runtime_ns = NOT_GIVEN, period_ns, deadline_ns;

static const struct arg args[] = {
	{ 'm', "max", ARG_FLAG, &show_limits, "print the priorities of each policy" },
	{ 'p', "pid", ARG_FLAG, &by_pid, "act on the process PID" },
	{ 'o', "other", ARG_FLAG, &other, "policy SCHED_OTHER (PRIO is 0)" },
	{ 'f', "fifo", ARG_FLAG, &fifo, "policy SCHED_FIFO" },
	{ 'r', "rr", ARG_FLAG, &round_robin, "policy SCHED_RR (default)" },
	{ 'b', "batch", ARG_FLAG, &batch, "policy SCHED_BATCH (PRIO is 0)" },
	{ 'i', "idle", ARG_FLAG, &idle, "policy SCHED_IDLE (PRIO is 0)" },
	{ 'd', "deadline", ARG_FLAG, &by_deadline, "policy SCHED_DEADLINE (PRIO is 0)" },
	{ 'e', "ext", ARG_FLAG, &ext, "policy SCHED_EXT (PRIO is 0)" },
	{ 'T', "sched-runtime", ARG_NS, &runtime_ns,
	  "CPU time in each period (deadline), or to ask for at a time (other, batch)" },
	{ 'P', "sched-period", ARG_NS, &period_ns, "period (deadline; default: the deadline)" },
	{ 'D', "sched-deadline", ARG_NS, &deadline_ns,
	  "from the period's beginning (deadline; default: the period)" },
	{ 0 },
};

static const struct program program = {
	"chrt",
	"Show or set scheduling policies.",
	"PRIO CMD [ARG...] | -p [PRIO] PID",
	args,
};

static const struct {
	const char *name;
	int policy;
	const bool *chosen;
} policies[] = {
	{ "SCHED_OTHER", SCHED_OTHER, &other }, { "SCHED_FIFO", SCHED_FIFO, &fifo },
	{ "SCHED_RR", SCHED_RR, &round_robin }, { "SCHED_BATCH", SCHED_BATCH, &batch },
	{ "SCHED_IDLE", SCHED_IDLE, &idle },	{ "SCHED_DEADLINE", SCHED_DEADLINE, &by_deadline },
	{ "SCHED_EXT", SCHED_EXT, &ext },
};

#define NR_POLICIES (sizeof(policies) / sizeof(policies[0]))

static int print_limits(void)
{
	unsigned i;

	for (i = 0; i < NR_POLICIES; i++)
		printf("%s min/max priority\t: %d/%d\n", policies[i].name,
		       sched_get_priority_min(policies[i].policy),
		       sched_get_priority_max(policies[i].policy));
	return 0;
}

static int chosen_policy(void)
{
	int chosen = SCHED_RR, nr = 0;
	unsigned i;

	for (i = 0; i < NR_POLICIES; i++)
		if (*policies[i].chosen) {
			chosen = policies[i].policy;
			nr++;
		}
	if (nr > 1)
		usage_error(&program, "only one policy, please");
	return chosen;
}

static int print_policy(int pid)
{
	struct deadline deadline;
	struct policy policy;
	uint64_t slice_ns;
	unsigned i;

	if (get_policy(pid, &policy)) {
		fprintf(stderr, "chrt: failed to get pid %d's policy: %s\n", pid, strerror(errno));
		return 1;
	}
	for (i = 0; i < NR_POLICIES && policies[i].policy != policy.policy; i++)
		;
	printf("pid %d's current scheduling policy: %s\n", pid,
	       i < NR_POLICIES ? policies[i].name : "unknown");
	printf("pid %d's current scheduling priority: %d\n", pid, policy.prio);
	if (!get_deadline(pid, &deadline) && deadline.deadline)
		printf("pid %d's current runtime/deadline/period parameters: %llu/%llu/%llu\n", pid,
		       (unsigned long long)deadline.runtime, (unsigned long long)deadline.deadline,
		       (unsigned long long)deadline.period);
	else if (!get_slice(pid, &slice_ns) && slice_ns)
		printf("pid %d's current runtime parameter: %llu\n", pid,
		       (unsigned long long)slice_ns);
	return 0;
}

/* As util-linux: what is missing is taken from the next longer time. */
static int change_to_deadline(int pid)
{
	struct deadline d = { runtime_ns, deadline_ns, period_ns };

	if (!d.deadline)
		d.deadline = d.period;
	if (d.runtime == NOT_GIVEN)
		d.runtime = d.deadline;
	return set_deadline(pid, &d);
}

static int change_to_policy(int pid, const struct policy *policy)
{
	int err = set_policy(pid, policy);

	return err || runtime_ns == NOT_GIVEN ? err : set_slice(pid, runtime_ns);
}

static int change_policy(int pid, const struct policy *policy)
{
	if (!(by_deadline ? change_to_deadline(pid) : change_to_policy(pid, policy)))
		return 0;
	fprintf(stderr, "chrt: failed to set pid %d's policy: %s\n", pid, strerror(errno));
	return 1;
}

static int number(const char *text, const char *what)
{
	int n;

	if (!parse_int(text, 0, 1 << 30, &n))
		usage_error(&program, "bad %s '%s'", what, text);
	return n;
}

int main(int argc, char **argv)
{
	int first = parse_args(&program, argc, argv), nr = argc - first;
	struct policy policy = { chosen_policy(), 0 };

	argv += first;
	if (show_limits)
		return print_limits();
	if (by_pid && nr == 1)
		return print_policy(number(argv[0], "pid"));
	if (nr < 2 || (by_pid && nr > 2))
		usage_error(&program, "wants PRIO CMD, or -p [PRIO] PID");
	policy.prio = number(argv[0], "priority");
	if (by_pid)
		return change_policy(number(argv[1], "pid"), &policy);
	if (change_policy(0, &policy))
		return 1;
	exec_command(&program, argv + 1);
}

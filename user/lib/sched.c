/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling calls and their text forms: see sched.h.
 */
#define _GNU_SOURCE
#include "lib/sched.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/args.h"

#define FUTEX_WAIT_PRIVATE 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG; musl has no header with them */
#define FUTEX_WAKE_PRIVATE 129

/* Linux's sched_prio_to_weight: 1024 / 1.25^nice, rounded by its authors. */
static const unsigned weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

unsigned nice_weight(int nice)
{
	return weights[nice + 20];
}

unsigned policy_weight(const struct policy *policy, int nice)
{
	return policy->policy == SCHED_IDLE ? 3 : nice_weight(nice);
}

int set_policy(pid_t tid, const struct policy *policy)
{
	struct sched_param param = { .sched_priority = policy->prio };

	return syscall(SYS_sched_setscheduler, tid, policy->policy, &param);
}

int get_policy(pid_t tid, struct policy *policy)
{
	int prio = 0;
	long ret = syscall(SYS_sched_getscheduler, tid);

	if (ret < 0 || syscall(SYS_sched_getparam, tid, &prio) < 0)
		return -1;
	policy->policy = ret & ~SCHED_RESET_ON_FORK;
	policy->prio = prio;
	return 0;
}

/* struct sched_attr, which musl does not declare. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};

enum attr_flags {
	RESET_ON_FORK = 0x1,
	KEEP_POLICY = 0x8, /* and reset_on_fork */
	KEEP_PARAMS = 0x10,
	UTIL_MIN = 0x20,
	UTIL_MAX = 0x40,
};

int set_slice(pid_t tid, uint64_t ns)
{
	struct attr attr;

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0)
		return -1;
	attr.runtime = ns;
	return syscall(SYS_sched_setattr, tid, &attr, 0);
}

int get_slice(pid_t tid, uint64_t *ns)
{
	struct attr attr;

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0)
		return -1;
	*ns = attr.runtime;
	return 0;
}

int set_deadline(pid_t tid, const struct deadline *deadline)
{
	struct attr attr = { .size = sizeof(attr),
			     .policy = SCHED_DEADLINE,
			     .runtime = deadline->runtime,
			     .deadline = deadline->deadline,
			     .period = deadline->period };

	return syscall(SYS_sched_setattr, tid, &attr, 0);
}

int get_deadline(pid_t tid, struct deadline *deadline)
{
	struct attr attr;

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0)
		return -1;
	*deadline = (struct deadline){ 0 };
	if (attr.policy == SCHED_DEADLINE)
		*deadline = (struct deadline){ attr.runtime, attr.deadline, attr.period };
	return 0;
}

int set_clamp(pid_t tid, const struct clamps *clamps, bool reset_on_fork)
{
	struct attr attr;

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0)
		return -1;
	attr.flags = KEEP_PARAMS | (reset_on_fork ? RESET_ON_FORK : KEEP_POLICY) |
		     (clamps->set_least ? UTIL_MIN : 0) | (clamps->set_most ? UTIL_MAX : 0);
	attr.util_min = (uint32_t)clamps->least;
	attr.util_max = (uint32_t)clamps->most;
	return syscall(SYS_sched_setattr, tid, &attr, 0);
}

int get_clamp(pid_t tid, struct clamps *clamps)
{
	struct attr attr;

	if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0)
		return -1;
	*clamps = (struct clamps){ .least = (int)attr.util_min, .most = (int)attr.util_max };
	return 0;
}

int set_nice(pid_t tid, int nice)
{
	return setpriority(PRIO_PROCESS, tid, nice);
}

void get_inherited(struct policy *policy, int *nice)
{
	errno = 0;
	*nice = getpriority(PRIO_PROCESS, 0);
	if (errno || get_policy(0, policy))
		die("reading policy and nice value");
}

static const char *const policy_names[] = {
	[SCHED_OTHER] = "other", [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr",
	[SCHED_BATCH] = "batch", [SCHED_IDLE] = "idle", [SCHED_DEADLINE] = "deadline",
	[SCHED_EXT] = "ext",
};

const char *policy_name(int policy)
{
	int known = sizeof(policy_names) / sizeof(policy_names[0]);

	return policy >= 0 && policy < known && policy_names[policy] ? policy_names[policy]
								     : "unknown";
}

int set_cpus(pid_t tid, const struct cpu_set *cpus)
{
	return syscall(SYS_sched_setaffinity, tid, sizeof(*cpus), cpus);
}

int get_cpus(pid_t tid, struct cpu_set *cpus)
{
	memset(cpus, 0, sizeof(*cpus)); /* the kernel fills only what it knows */
	return syscall(SYS_sched_getaffinity, tid, sizeof(*cpus), cpus) < 0 ? -1 : 0;
}

void pin_to_cpu(int cpu)
{
	struct cpu_set one = { 0 };

	cpu_add(&one, cpu);
	if (set_cpus(0, &one))
		die("pinning to a CPU");
}

bool cpu_isset(const struct cpu_set *cpus, int cpu)
{
	return cpus->bits[cpu / 64] >> (cpu % 64) & 1;
}

void cpu_add(struct cpu_set *cpus, int cpu)
{
	cpus->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

int cpu_count(const struct cpu_set *cpus)
{
	int cpu, nr = 0;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		nr += cpu_isset(cpus, cpu);
	return nr;
}

int cpu_nth(const struct cpu_set *cpus, int n)
{
	int nr = cpu_count(cpus), cpu;

	if (!nr)
		return -1;
	n %= nr;
	for (cpu = 0; !cpu_isset(cpus, cpu) || n--; cpu++)
		;
	return cpu;
}

/* Copy the text up to the next comma into @item; returns the rest, NULL when nothing is left. */
static const char *next_item(const char *text, char *item, size_t size)
{
	size_t len = strcspn(text, ",");

	snprintf(item, size, "%.*s", (int)len, text);
	return text[len] ? text + len + 1 : NULL;
}

static bool parse_range(char *item, struct cpu_set *cpus)
{
	char *dash = strchr(item, '-');
	int first, last;

	if (dash)
		*dash = 0;
	if (!parse_int(item, 0, MAX_CPUS - 1, &first))
		return false;
	last = first;
	if (dash && !parse_int(dash + 1, first, MAX_CPUS - 1, &last))
		return false;
	for (; first <= last; first++)
		cpu_add(cpus, first);
	return true;
}

bool parse_cpus(const char *text, struct cpu_set *cpus)
{
	struct cpu_set set = { 0 };
	char item[16];

	while (text) {
		text = next_item(text, item, sizeof(item));
		if (!parse_range(item, &set))
			return false;
	}
	*cpus = set;
	return true;
}

bool parse_nices(const char *text, struct int_list *list)
{
	struct int_list out = { 0 };
	char item[16];

	while (text) {
		text = next_item(text, item, sizeof(item));
		if (out.nr == MAX_LIST || !parse_int(item, -20, 19, &out.value[out.nr++]))
			return false;
	}
	*list = out;
	return true;
}

bool parse_policy(const char *text, struct policy *policy)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	int i, prio = 0;

	for (i = 0; i <= SCHED_EXT; i++) {
		bool rt = i == SCHED_FIFO || i == SCHED_RR;

		if (!policy_names[i] || i == SCHED_DEADLINE || strlen(policy_names[i]) != len ||
		    strncmp(policy_names[i], text, len))
			continue;
		if (rt != (colon != NULL) || (rt && !parse_int(colon + 1, 1, 99, &prio)))
			return false;
		*policy = (struct policy){ i, prio };
		return true;
	}
	return false;
}

int thread_id(void)
{
	return syscall(SYS_gettid);
}

void futex_wait(uint32_t *word, uint32_t expected)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void futex_wake(uint32_t *word, int nr)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, nr, NULL, NULL, 0);
}

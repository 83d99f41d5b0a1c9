/* SPDX-License-Identifier: GPL-2.0-only */
/* The unit host; see host.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "group.h"

struct machine *host;
u64 host_starts_at = NS_PER_SEC;
struct cpumask host_isolates;

/* UNIT_TEST=name runs that test alone: a test that never ends then takes no other along. */
__attribute__((constructor)) static void choose_test(void)
{
	const char *name = getenv("UNIT_TEST");

	if (name)
		cmocka_set_test_filter(name);
}

/* --- the record of a test --------------------------------------------------- */

#define CHECKS_SHOWN 1000

static const char *record_key;
static u64 digest;
static unsigned nr_checks;

/* An address of the host, which is another in each run. */
static bool is_address(u64 value)
{
	return value >> 40 >= 0x55 && value >> 40 <= 0x7f;
}

static void note(u64 value)
{
	digest = (digest ^ (is_address(value) ? 0 : value)) * 0x9e3779b97f4a7c15ull;
	digest ^= digest >> 29;
}

void host_checked(unsigned line, u64 value)
{
	note(line);
	note(value);
	if (record_key && nr_checks++ < CHECKS_SHOWN)
		printf("# record at %u %016llx\n", line, (unsigned long long)digest);
}

/*
 * The compiler has a test call these before each comparison (mk/unit.mk). Numbers that are equal
 * are noted; how much two others differ may depend on a mistake that is not this test's.
 */
#define COMPARED(name, type)                                                                       \
	void name(type a, type b);                                                                 \
	void name(type a, type b)                                                                  \
	{                                                                                          \
		note(a == b ? a + 1ull : 0);                                                       \
	}

COMPARED(__sanitizer_cov_trace_cmp1, u8)
COMPARED(__sanitizer_cov_trace_cmp2, u16)
COMPARED(__sanitizer_cov_trace_cmp4, u32)
COMPARED(__sanitizer_cov_trace_cmp8, u64)
COMPARED(__sanitizer_cov_trace_const_cmp1, u8)
COMPARED(__sanitizer_cov_trace_const_cmp2, u16)
COMPARED(__sanitizer_cov_trace_const_cmp4, u32)
COMPARED(__sanitizer_cov_trace_const_cmp8, u64)

void __sanitizer_cov_trace_switch(u64 value, void *cases);
void __sanitizer_cov_trace_switch(u64 value, void *cases)
{
	(void)cases;
	note(value);
}

void __sanitizer_cov_trace_cmpf(float a, float b);
void __sanitizer_cov_trace_cmpf(float a, float b)
{
	note(a == b);
}

void __sanitizer_cov_trace_cmpd(double a, double b);
void __sanitizer_cov_trace_cmpd(double a, double b)
{
	note(a == b);
}

__attribute__((constructor)) static void begin_record(void)
{
	record_key = getenv("UNIT_RECORD");
	if (!record_key)
		return;
	digest = strtoull(record_key, NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0); /* no message on stderr comes amid a line */
}

__attribute__((destructor)) static void print_record(void)
{
	if (record_key)
		printf("# record %u %016llx\n", nr_checks, (unsigned long long)digest);
}

u64 host_seed(u64 otherwise)
{
	const char *seed = getenv("UNIT_SEED");

	return seed ? strtoull(seed, NULL, 10) * 6364136223846793005ull + otherwise : otherwise;
}

/* --- the seam ------------------------------------------------------------- */

static struct host_lock *held[8];
static unsigned nr_held;

u64 host_clock(unsigned cpu)
{
	void (*on_search)(struct machine *) = host->on_search;

	if (on_search && !nr_held) {
		host->on_search = NULL;
		on_search(host);
	}
	return host->now + (u64)host->skew[cpu];
}

void host_timer(unsigned cpu, u64 when)
{
	host->timer[cpu] = when;
}

void host_kick(unsigned cpu, bool urgent)
{
	host->patient[cpu] = !urgent;
	host->kicked[cpu] = true;
	host->nr_kicks++;
	if (host->on_kick)
		host->on_kick(host, cpu);
}

bool host_wait(unsigned cpu)
{
	(void)cpu;
	return false;
}

void host_set_speed(unsigned cpu, u32 capacity)
{
	host->speed[cpu] = capacity;
}

bool host_lock_held(const struct host_lock *lock)
{
	for (unsigned i = 0; i < nr_held; i++)
		if (held[i] == lock)
			return true;
	return false;
}

/* Calls *@hook once, unless it is NULL. */
static void run_hook(void (**hook)(struct machine *))
{
	void (*call)(struct machine *) = *hook;

	*hook = NULL;
	if (call)
		call(host);
}

/* Ranks ascend strictly: the scheduler never holds two runqueue locks. */
void host_lock(struct host_lock *lock)
{
	if (!nr_held)
		run_hook(&host->on_locking);
	if (host->on_lock)
		host->on_lock(host, lock);
	if (nr_held && held[nr_held - 1]->rank >= lock->rank)
		host_bug(__FILE__, __LINE__, "locks taken out of order");
	held[nr_held++] = lock;
}

void host_unlock(struct host_lock *lock)
{
	if (!nr_held || held[nr_held - 1] != lock)
		host_bug(__FILE__, __LINE__, "unlock of a lock that is not the last taken");
	nr_held--;
	if (host->on_unlock)
		host->on_unlock(host, lock);
	if (!nr_held)
		run_hook(&host->on_unlocked);
}

void host_elsewhere(void (*fn)(void))
{
	struct host_lock *here[ARRAY_SIZE(held)];
	unsigned nr_here = nr_held;

	memcpy(here, held, sizeof(here));
	nr_held = 0;
	fn();
	if (nr_held)
		host_bug(__FILE__, __LINE__, "a lock is still held at the end");
	memcpy(held, here, sizeof(here));
	nr_held = nr_here;
}

static u32 run[1 + TRACE_RUN_BYTES / 4];
static bool run_open;

void host_trace(const struct sched_event *event)
{
	struct recorded *r = &host->trace[host->nr_trace % MAX_TRACE];

	assert_in_range(event->size, sizeof(*event), sizeof(r->bytes));
	assert_false(run_open);
	r->common = *event;
	memcpy(r->bytes, event, event->size);
	host->nr_trace++;
	if (host->on_trace)
		host->on_trace(host, event);
}

struct trace_run host_trace_reserve(u32 bytes)
{
	assert_in_range(bytes, 1, TRACE_RUN_BYTES);
	assert_false(run_open);
	run_open = true;
	memset(run, 0xa5, sizeof(run)); /* what was there is arbitrary */
	run[0] = 0;
	return (struct trace_run){ .at = (u8 *)&run[1], .head = 0 };
}

void host_trace_commit(const u8 *end, u32 nr, unsigned cpu)
{
	const u32 *at = run;

	run_open = false;
	for (; nr; nr--, at += 1 + *at) {
		u64 record[EVENT_SIZE_MAX / 8];

		assert_in_range(*at, 2, EVENT_SIZE_MAX / 4);
		memcpy(record, at + 1, 4 * *at);
		*(struct sched_event *)record =
			(struct sched_event){ (u16)at[1], (u16)(4 * *at), cpu };
		host_trace((const struct sched_event *)record);
	}
	assert_ptr_equal(at, end - 4);
}

void host_bug(const char *file, int line, const char *what)
{
	nr_held = 0;
	host->bug = what;
	if (host->bug_target)
		longjmp(*host->bug_target, 1);
	if (host->on_bug)
		host->on_bug(what);
	fail_msg("%s:%d: %s", file, line, what);
	abort();
}

/* --- machines ------------------------------------------------------------- */

static struct machine *make(unsigned nr_cpus, unsigned hz, const struct sched_cpu_desc *topology,
			    const char *fair_policy, const struct opp_table *opp)
{
	struct machine *m = calloc(1, sizeof(*m));
	size_t bytes = sched_size(nr_cpus);
	struct sched_config config = {
		.nr_cpus = nr_cpus,
		.hz = hz,
		.topology = topology,
		.fair_policy = fair_policy,
		.isolated = &host_isolates,
		.seed = 1,
	};

	assert_non_null(m);
	host = m;
	nr_held = 0;
	m->nr_cpus = nr_cpus;
	m->now = host_starts_at;
	m->next_pid = 1;
	m->s = aligned_alloc(64, ALIGN_UP(bytes, 64ul));
	assert_non_null(m->s);
	memset(m->s, 0, bytes);
	assert_int_equal(sched_init(m->s, &config), 0);
	if (opp) {
		m->freq = aligned_alloc(64, ALIGN_UP(sched_freq_size(nr_cpus), 64ul));
		memset(m->freq, 0, sched_freq_size(nr_cpus));
		sched_freq_init(m->s, opp, m->freq);
	}
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		sched_task_init_idle(m->s, &m->idle[cpu], cpu);
		sched_cpu_online(m->s, cpu, &m->idle[cpu]);
	}
	return m;
}

struct machine *machine_new_on(unsigned nr_cpus, unsigned hz, const struct sched_cpu_desc *topology,
			       const char *fair_policy)
{
	return make(nr_cpus, hz, topology, fair_policy, NULL);
}

struct machine *machine_new_opp(const char *machine, const char *table, const char *policy)
{
	static struct sched_cpu_desc desc[CPU_MAX];
	static struct cpu_place places[CPU_MAX];
	static struct cpu_tree tree;
	static struct opp_table opp;
	u32 nr_cpus;

	assert_true(cpu_tree_read(&tree, machine));
	nr_cpus = tree.total[TREE_THREADS];
	cpu_tree_places(&tree, places);
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		desc[cpu] = (struct sched_cpu_desc){ places[cpu].core, places[cpu].llc,
						     places[cpu].package, places[cpu].node };
	if (!opp_read(&opp, table, places, nr_cpus))
		fail_msg("%s", opp.error);
	return make(nr_cpus, 1000, desc, policy, &opp);
}

struct machine *machine_new(unsigned nr_cpus, unsigned hz)
{
	struct sched_cpu_desc one_llc[CPU_MAX] = { 0 };

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		one_llc[cpu].core = cpu;
	return machine_new_on(nr_cpus, hz, one_llc, NULL);
}

struct machine *machine_timed(unsigned nr_cpus, unsigned hz)
{
	struct machine *m = machine_new(nr_cpus, hz);

	set_feature(m, "HRTICK_DL");
	return m;
}

void machine_free(struct machine *m)
{
	free(m->freq);
	free(m->s);
	free(m);
	host = NULL;
}

/* --- driving it ----------------------------------------------------------- */

static struct task *spawn_with(struct machine *m, const char *comm, struct sched_attr_req req)
{
	struct task *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	sched_task_init(m->s, t, m->next_pid++, comm);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	sched_task_start(m->s, t, 0);
	settle(m);
	return t;
}

struct task *spawn(struct machine *m, const char *comm, int policy, int nice_or_prio)
{
	bool rt = policy == SCHED_FIFO || policy == SCHED_RR;

	return spawn_with(m, comm,
			  (struct sched_attr_req){
				  .policy = policy,
				  .nice = rt ? 0 : nice_or_prio,
				  .rt_priority = rt ? nice_or_prio : 0,
			  });
}

struct task *spawn_dl(struct machine *m, const char *comm, u64 runtime, u64 deadline, u64 period)
{
	struct task *t = spawn_with(m, comm,
				    (struct sched_attr_req){
					    .policy = SCHED_DEADLINE,
					    .runtime_ns = runtime,
					    .deadline_ns = deadline,
					    .period_ns = period,
				    });

	sched_check(m->s);
	return t;
}

struct task *spawn_nice(struct machine *m, const char *comm, int nice)
{
	return spawn(m, comm, SCHED_NORMAL, nice);
}

struct task *switch_cpu(struct machine *m, unsigned cpu, bool preempt)
{
	struct task *next;

	m->kicked[cpu] = false;
	next = sched_switch_begin(m->s, cpu, preempt);
	sched_switch_end(m->s, cpu);
	return next;
}

void settle(struct machine *m)
{
	bool any;

	do {
		any = false;
		for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
			if (!m->kicked[cpu])
				continue;
			any = true;
			/* In user mode, unless it has announced a sleep. */
			switch_cpu(m, cpu, running(m, cpu)->state);
		}
	} while (any);
}

static void run_timers(struct machine *m)
{
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
		if (!m->timer[cpu] || time_before(host_clock(cpu), m->timer[cpu]))
			continue;
		m->timer[cpu] = 0;
		sched_timer(m->s, cpu);
	}
}

void advance(struct machine *m, u64 ns)
{
	m->now += ns;
	run_timers(m);
	settle(m);
}

void tick(struct machine *m)
{
	advance(m, m->s->tick_ns);
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		if (!sched_tick_can_stop(m->s, cpu))
			sched_tick(m->s, cpu);
	settle(m);
}

void block(struct machine *m, unsigned cpu, u32 state)
{
	sched_block(running(m, cpu), state);
	switch_cpu(m, cpu, false);
	settle(m);
}

bool wake(struct machine *m, struct task *t, unsigned cpu)
{
	bool woken = sched_wake(m->s, t, TASK_NORMAL, cpu, 0);

	settle(m);
	return woken;
}

struct task *running(struct machine *m, unsigned cpu)
{
	return sched_current(m->s, cpu);
}

void set_feature(struct machine *m, const char *name)
{
	assert_int_equal(sched_features_write(m->s, name, strlen(name)), 0);
}

void set_tunable(struct machine *m, const char *name, const char *value)
{
	assert_int_equal(sched_tunable_write(m->s, name, value, strlen(value)), 0);
}

s64 v_of(const struct task *t)
{
	return (s64)t->fair.vruntime - QUEUE_START;
}

/* --- what was recorded ------------------------------------------------------ */

/* The trace keeps the last MAX_TRACE records. */
static unsigned first_kept(const struct machine *m)
{
	return m->nr_trace > MAX_TRACE ? m->nr_trace - MAX_TRACE : 0;
}

const void *record_of(struct machine *m, u16 type, unsigned index)
{
	unsigned before = index;

	for (unsigned i = first_kept(m); i < m->nr_trace; i++) {
		const struct recorded *r = &m->trace[i % MAX_TRACE];

		if (r->common.type == type && !before--)
			return r->bytes;
	}
	fail_msg("there is no record %u of type %u", index, type);
	return NULL;
}

const void *last_record(struct machine *m, u16 type)
{
	for (unsigned i = m->nr_trace; i-- > first_kept(m);) {
		const struct recorded *r = &m->trace[i % MAX_TRACE];

		if (r->common.type == type)
			return r->bytes;
	}
	fail_msg("there is no record of type %u", type);
	return NULL;
}

/* --- task groups ----------------------------------------------------------- */

struct task_group *new_group(struct machine *m, struct task_group *parent)
{
	struct task_group *tg = aligned_alloc(64, ALIGN_UP(task_group_size(m->s), 64ul));

	memset(tg, 0, task_group_size(m->s));
	task_group_init(m->s, tg, parent);
	return tg;
}

void end_group(struct machine *m, struct task_group *tg)
{
	task_group_exit(m->s, tg);
	free(tg);
}

struct task *spawn_in(struct machine *m, struct task_group *tg, int nice)
{
	struct task *t = spawn_nice(m, "member", nice);

	task_group_move(m->s, t, tg);
	settle(m);
	return t;
}

struct task *member_asleep_on(struct machine *m, struct task_group *tg, unsigned cpu)
{
	struct task *t = spawn_in(m, tg, 0);
	struct cpumask mask = cpumask_of(cpu);

	sched_set_affinity(m->s, t, &mask);
	settle(m);
	block(m, cpu, TASK_INTERRUPTIBLE);
	return t;
}

void run_ticks(struct machine *m, unsigned ticks)
{
	while (ticks--) {
		tick(m);
		sched_check(m->s);
	}
}

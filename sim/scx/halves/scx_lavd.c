/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user half of scx_lavd: compute domains, which are the CPUs of one kind at one cache, and the
 * order in which CPUs are used. The machine is one node, and nobody knows what its speeds cost.
 */
#include "library.h"

#define HALF_FLAGS                                                                                 \
	(SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED |                 \
	 SCX_OPS_KEEP_BUILTIN_IDLE)

/* Constants of other sources that no header declares. */
extern const volatile u8 nr_pco_states, preempt_shift;
extern const volatile u16 lat_load_target_pct, pco_nr_primary[], pco_table[][LAVD_CPU_ID_MAX];
extern const volatile u32 pco_bounds[];

static u32 mean_capacity, least_capacity, most_capacity, total_capacity, nr_domains;

static void measure_capacities(void)
{
	u32 nr = scx_bpf_nr_cpu_ids();

	least_capacity = most_capacity = half_capacity(0);
	half_for_each_cpu(cpu)
	{
		least_capacity = min(least_capacity, half_capacity(cpu));
		most_capacity = max(most_capacity, half_capacity(cpu));
		total_capacity += half_capacity(cpu);
	}
	mean_capacity = total_capacity / nr;
}

/* The fastest is at least 1.3 times as fast as the slowest. */
static bool has_little(void)
{
	return 10 * most_capacity >= 13 * least_capacity;
}

static bool is_little(s32 cpu)
{
	return has_little() && half_capacity(cpu) < mean_capacity;
}

/* --- the order of CPUs ---------------------------------------------------------- */

/* The threads of @cpu's core that come before it. */
static u32 thread_of(s32 cpu)
{
	u32 nr = 0;

	half_for_each_sibling(other, cpu) nr += other < cpu;
	return nr;
}

/* First threads first, cache by cache, the fastest first. */
static u64 key_of_performance(s32 cpu)
{
	return (u64)thread_of(cpu) << 48 | (u64)half_llc(cpu) << 32 |
	       (u64)(1024 - half_capacity(cpu)) << 16 | half_core(cpu);
}

/* Cache by cache; all threads of a core; the slowest first, if some are little. */
static u64 key_of_power(s32 cpu)
{
	u32 capacity = half_capacity(cpu);

	return (u64)half_llc(cpu) << 48 | (u64)(has_little() ? capacity : 1024 - capacity) << 32 |
	       (u64)half_core(cpu) << 16 | thread_of(cpu);
}

struct order {
	u64 key[LAVD_CPU_ID_MAX];
	u16 cpu[LAVD_CPU_ID_MAX];
};
static struct order by_performance, by_power;

static void sort_cpus(struct order *o, u64 (*key_of)(s32 cpu))
{
	half_for_each_cpu(cpu)
	{
		u64 key = key_of(cpu);
		s32 at = cpu;

		for (; at > 0 && o->key[at - 1] > key; at--) {
			o->key[at] = o->key[at - 1];
			o->cpu[at] = o->cpu[at - 1];
		}
		o->key[at] = key;
		o->cpu[at] = (u16)cpu;
	}
}

/* Up to @capacity in use, CPUs are taken in the order @o; the first is never let go. */
static void set_state(u32 state, u32 capacity, const struct order *o)
{
	HALF_SET(pco_bounds[state], capacity);
	HALF_SET(pco_nr_primary[state], 1);
	half_for_each_cpu(i) HALF_SET(pco_table[state][i], o->cpu[i]);
}

static void set_order(void)
{
	u32 first, nr = 0;

	sort_cpus(&by_performance, key_of_performance);
	sort_cpus(&by_power, key_of_power);
	first = half_capacity(by_power.cpu[0]);
	if (first < total_capacity)
		set_state(nr++, first, &by_power);
	HALF_SET(nr_pco_states, nr + 1);
	for (; nr < LAVD_PCO_STATE_MAX; nr++)
		set_state(nr, total_capacity, &by_performance);
}

/* --- domains -------------------------------------------------------------------- */

static struct cpdom_ctx *domain_of(s32 cpu)
{
	for (u32 i = 0; i < nr_domains; i++)
		if (cpdom_ctxs[i].llc_id == half_llc(cpu) &&
		    cpdom_ctxs[i].is_big == !is_little(cpu))
			return &cpdom_ctxs[i];
	return NULL;
}

static void add_to_domain(s32 cpu)
{
	struct cpdom_ctx *d = domain_of(cpu);

	if (!d && nr_domains == LAVD_CPDOM_MAX_NR) {
		scx_bpf_error("more than %d caches", LAVD_CPDOM_MAX_NR);
		return;
	}
	if (!d) {
		d = &cpdom_ctxs[nr_domains];
		d->id = d->alt_id = nr_domains++;
		d->llc_id = (u8)half_llc(cpu);
		d->is_big = !is_little(cpu);
		d->is_valid = 1;
	}
	d->__cpumask[cpu / 64] |= 1ull << cpu % 64;
}

/* Another kind of CPU is further away than another cache. */
static u32 distance(const struct cpdom_ctx *a, const struct cpdom_ctx *b)
{
	return 2 * (a->is_big != b->is_big) + (a->llc_id != b->llc_id);
}

/* The neighbours of @d at @away, those next to it in the circle of all such first. */
static void set_neighbours(struct cpdom_ctx *d, u32 level, u32 away)
{
	u32 circle[LAVD_CPDOM_MAX_NR], nr = 0, own = 0;

	for (u32 i = 0; i < nr_domains; i++) {
		if (&cpdom_ctxs[i] == d)
			own = nr;
		if (&cpdom_ctxs[i] == d || distance(d, &cpdom_ctxs[i]) == away)
			circle[nr++] = i;
	}
	d->nr_neighbors[level] = (u8)(nr - 1);
	for (u32 i = 1, step = 1; i < nr; i++) {
		u32 up = (own + step) % nr, down = (own + nr - step) % nr;
		bool first = i % 2;

		d->neighbor_ids[level * LAVD_CPDOM_MAX_NR + i - 1] =
			(u8)circle[first == (up < down) ? up : down];
		step += !first;
	}
}

static void set_domain(struct cpdom_ctx *d)
{
	u32 level = 0, nearest = 4;

	for (u32 away = 1; away < 4; away++) {
		set_neighbours(d, level, away);
		level += d->nr_neighbors[level] > 0;
	}
	for (u32 i = 0; i < nr_domains; i++) {
		const struct cpdom_ctx *other = &cpdom_ctxs[i];

		if (other->is_big == d->is_big || distance(d, other) >= nearest)
			continue;
		nearest = distance(d, other);
		d->alt_id = other->id;
	}
}

static void set_domains(void)
{
	half_for_each_cpu(i) add_to_domain(by_performance.cpu[i]);
	for (u32 i = 0; i < nr_domains; i++)
		set_domain(&cpdom_ctxs[i]);
}

/* --- options -------------------------------------------------------------------- */

static void set_cpus(void)
{
	u32 nr_caches = 0;

	half_for_each_cpu(cpu)
	{
		HALF_SET(cpu_capacity[cpu], half_capacity(cpu));
		HALF_SET(cpu_big[cpu], !is_little(cpu));
		HALF_SET(cpu_turbo[cpu],
			 mean_capacity < most_capacity && half_capacity(cpu) == most_capacity);
		HALF_SET(cpu_sibling[cpu], half_sibling(cpu, -1));
		nr_caches = max(nr_caches, half_llc(cpu) + 1);
	}
	HALF_SET(nr_cpu_ids, scx_bpf_nr_cpu_ids());
	HALF_SET(nr_llcs, nr_caches);
	HALF_SET(is_smt_active, half_has_smt());
}

static void set_options(void)
{
	HALF_SET(slice_max_ns, 5000000);
	HALF_SET(slice_min_ns, 500000);
	HALF_SET(pinned_slice_ns, 5000000);
	HALF_SET(preempt_shift, 6);
	HALF_SET(lat_load_target_pct, 100);
	HALF_SET(lb_low_util_wall, 25 * 1024 / 100);
	HALF_SET(lb_local_dsq_util_wall, 10 * 1024 / 100);
	HALF_SET(xmig_min_gain_ns, 350000);
}

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		measure_capacities();
		set_cpus();
		set_order();
		set_domains();
		set_options();
	} else if (phase == HALF_LOADED) {
		library_open(sizeof(struct task_ctx));
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator against theory and golden traces.
 *
 * Fluid server: each hog on one CPU should get w_i/W of the time at every moment. Its lag, which is
 * the time it is short of that, is computed exactly after each event, in units of 1/W ns, and
 * compared with the policy's bound. On several CPUs long-term shares are compared.
 *
 * Traces: the simulator makes the same choices at the same times as tests/unit/ does by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sim/engine/sim.h"

#define MAX_HOGS 12
#define MS	 NS_PER_MS

struct hog {
	const char *comm;
	int nice;
	u64 slice_ns; /* its request; 0: none of its own */
};

struct setting {
	const char *policy;
	unsigned nr_cpus, hz;
	const char *features;	/* a line for the features file, or NULL */
	const char *base_slice; /* the tunable's value, or NULL */
};

static struct sim *new_machine(const struct setting *setting)
{
	struct sched_cpu_desc one_llc[16] = { 0 };
	struct sim *sim;

	for (unsigned cpu = 0; cpu < setting->nr_cpus; cpu++)
		one_llc[cpu].core = cpu;
	sim = sim_new(&(struct sim_config){
		.nr_cpus = setting->nr_cpus,
		.hz = setting->hz,
		.topology = one_llc,
		.fair_policy = setting->policy,
		.seed = 1,
		.check = true,
	});
	assert_non_null(sim);
	if (setting->features)
		assert_int_equal(0, sched_features_write(sim->s, setting->features,
							 strlen(setting->features)));
	if (setting->base_slice)
		assert_int_equal(0,
				 sched_tunable_write(sim->s, "base_slice_ns", setting->base_slice,
						     strlen(setting->base_slice)));
	return sim;
}

/* Starts all hogs at the same moment, on CPU 0. */
static void start_hogs(struct sim *sim, struct sim_task **tasks, const struct hog *hogs,
		       unsigned nr)
{
	sim_enter(sim, 0);
	for (unsigned i = 0; i < nr; i++) {
		struct sched_attr_req req = { .nice = hogs[i].nice, .slice_ns = hogs[i].slice_ns };

		tasks[i] = sim_task_new(sim, hogs[i].comm);
		assert_int_equal(sched_set_attr(sim->s, &tasks[i]->task, &req), 0);
		sim_start(sim, tasks[i]);
	}
	sim_leave(sim);
}

/* --- the fluid server on one CPU ----------------------------------------- */

struct fluid {
	struct sim *sim;
	struct sim_task *tasks[MAX_HOGS];
	unsigned nr;
	u64 weight[MAX_HOGS], total; /* of the nice table */
	u64 slice_ns[MAX_HOGS];
	u64 start, got_ns[MAX_HOGS], nr_runs[MAX_HOGS]; /* runs: events until which it ran */
	/* lag_i must stay between these, in ns, but for rounding */
	double least[MAX_HOGS], most[MAX_HOGS];
};

/* Lets the next event happen. The task that ran until then got the time. */
static bool fluid_step(struct fluid *f, u64 until)
{
	struct sim_task *curr = f->sim->cpus[0].curr;
	u64 before = f->sim->now;

	if (!sim_step(f->sim, until))
		return false;
	for (unsigned i = 0; i < f->nr; i++)
		if (f->tasks[i] == curr) {
			f->got_ns[i] += f->sim->now - before;
			f->nr_runs[i]++;
		}
	return true;
}

/*
 * An upper bound of the rounding in the virtual time of task i, in ns. Each run is rounded at most
 * twice, by less than 1 ns each; the rounded inverse of the weight adds got * 1024 / 2^32.
 */
static double error_of(const struct fluid *f, unsigned i)
{
	return 2 * (double)f->nr_runs[i] + (double)f->got_ns[i] / (1 << 22) + 2;
}

/* The error of the lag of i, w_i * (V - v_i), where V is the mean of all by weight; in ns. */
static double rounding_of(const struct fluid *f, unsigned i)
{
	double sum = 0;

	for (unsigned j = 0; j < f->nr; j++)
		if (j != i)
			sum += (double)f->weight[j] * (error_of(f, i) + error_of(f, j)) / 1024;
	return sum * (double)f->weight[i] / (double)f->total;
}

static void check_lag(const struct fluid *f, unsigned i)
{
	__int128 due = (__int128)(f->sim->now - f->start) * f->weight[i];
	__int128 lag = due - (__int128)f->got_ns[i] * f->total;
	double lag_ns = (double)lag / (double)f->total, rounding = rounding_of(f, i);

	if (lag_ns < f->least[i] - rounding || lag_ns > f->most[i] + rounding)
		fail_msg("%.6f s: lag of hog %u of %u (weight %llu of %llu) is %.0f ns, not in "
			 "%.0f..%.0f",
			 (double)(f->sim->now - f->start) / 1e9, i, f->nr,
			 (unsigned long long)f->weight[i], (unsigned long long)f->total, lag_ns,
			 f->least[i], f->most[i]);
}

static void follow(struct fluid *f, u64 seconds)
{
	u64 until = f->start + seconds * NS_PER_SEC;

	while (fluid_step(f, until))
		for (unsigned i = 0; i < f->nr; i++)
			check_lag(f, i);
}

/*
 * A hog got w_j * v_j, and w_j * V is due to it, where V, the mean of all v by weight, grows by t/W
 * in a time t. So in units of time
 *
 *     lag_i = w_i * (V - v_i) = w_i/W * sum of w_j * (v_j - v_i), j != i                      (1)
 *
 * CFS. A turn of j is at most its slice and a tick, r_j. At its beginning j has the least v of all.
 *
 *  - So v_i <= V when a turn of i begins: lag_i >= 0. In a time t <= r_i of running it falls by
 *    t - t * w_i/W, and while i waits it grows.
 *  - The last turn of j began at v_j <= v_i, and v_i has not become less since. So v_j is at most
 *    v_i + r_j/w_j now, which goes into (1).
 *
 *     -(1 - w_i/W) r_i <= lag_i <= w_i/W * (sum of r_j, j != i)
 *
 * Tasks start at equal v, so START_DEBIT is off.
 */
static void bound_cfs(struct fluid *f)
{
	const double latency = 6e6, granularity = 0.75e6;
	double tick = (double)f->sim->tick_ns, turn[MAX_HOGS], all = 0;
	double period = f->nr > 8 ? f->nr * granularity : latency;

	for (unsigned i = 0; i < f->nr; i++) {
		double slice = period * (double)f->weight[i] / (double)f->total;

		turn[i] = (slice > granularity ? slice : granularity) + tick;
		all += turn[i];
	}
	for (unsigned i = 0; i < f->nr; i++) {
		double part = (double)f->weight[i] / (double)f->total;

		f->least[i] = -(1 - part) * turn[i];
		f->most[i] = part * (all - turn[i]);
	}
}

/*
 * EEVDF. A request of j is served in one turn, which begins when j is eligible, v_j <= V, and ends
 * at the first tick after its deadline d_j = v_j + r_j/w_j. So lag_j falls by less than r_j and a
 * tick, less what V grows meanwhile, as above. How far ahead of i can j be?
 *
 *  - If i was not eligible when j was chosen: v_j <= V < v_i then, and j gets at most r_j and a
 *    tick: v_j <= v_i + (r_j + tick)/w_j.
 *  - If it was, d_j <= d_i <= v_i + r_i/w_i, and j is at most a tick beyond its deadline:
 *    v_j <= v_i + r_i/w_i + tick/w_j.
 *
 * v_i has not become less since. With the larger of the two in (1):
 *
 *     -(1 - w_i/W) (r_i + tick) <= lag_i
 *           <= 1/W * sum of (max(w_j r_i, w_i r_j) + w_i tick), j != i
 *
 * The bound of Stoica and Abdel-Wahab, -r_max < lag_i < max(r_max, q) (docs/sources.md), is for
 * turns that end with the request.
 */
static void bound_eevdf(struct fluid *f)
{
	const double base_slice = 0.7e6;
	double tick = (double)f->sim->tick_ns, total = (double)f->total, request[MAX_HOGS];

	for (unsigned i = 0; i < f->nr; i++)
		request[i] = f->slice_ns[i] ? (double)f->slice_ns[i] : base_slice;
	for (unsigned i = 0; i < f->nr; i++) {
		double w = (double)f->weight[i], sum = 0;

		for (unsigned j = 0; j < f->nr; j++) {
			double mine = (double)f->weight[j] * request[i], its = w * request[j];

			if (j != i)
				sum += (mine > its ? mine : its) + w * tick;
		}
		f->least[i] = -(1 - w / total) * (request[i] + tick);
		f->most[i] = sum / total;
	}
}

static const struct {
	const char *policy, *features;
	bool slices; /* the policy has requests of the task's own */
	void (*bound)(struct fluid *f);
} bounds[] = {
	{ "cfs", "NO_START_DEBIT", false, bound_cfs },
	{ "eevdf", NULL, true, bound_eevdf },
};

static void draw_hogs(struct prng *rng, struct hog *hogs, unsigned nr, bool slices)
{
	/* Some sets have weights far apart, some close together. */
	u32 spread = prng_below(rng, 2) ? 40 : 8;

	slices &= prng_below(rng, 2);
	for (unsigned i = 0; i < nr; i++)
		hogs[i] = (struct hog){
			"hog",
			(int)prng_below(rng, spread) - (int)spread / 2,
			slices ? 100000 + prng_below(rng, 20000000) : 0,
		};
}

static void follow_drawn_hogs(unsigned which, u64 seed)
{
	static const unsigned hz[] = { 100, 250, 1000 };
	struct fluid f = { .nr = 0 };
	struct hog hogs[MAX_HOGS];
	struct prng rng;

	prng_seed(&rng, seed);
	f.sim = new_machine(&(struct setting){ bounds[which].policy, 1, hz[prng_below(&rng, 3)],
					       bounds[which].features, NULL });
	f.nr = 2 + prng_below(&rng, MAX_HOGS - 1);
	draw_hogs(&rng, hogs, f.nr, bounds[which].slices);
	f.start = f.sim->now;
	start_hogs(f.sim, f.tasks, hogs, f.nr);
	for (unsigned i = 0; i < f.nr; i++) {
		f.weight[i] = f.tasks[i]->task.fair.load.weight >> 10;
		f.total += f.weight[i];
		f.slice_ns[i] = hogs[i].slice_ns;
	}
	bounds[which].bound(&f);
	follow(&f, 5);
	sim_free(f.sim);
}

static void service_stays_within_the_bound_of_a_fluid_server(void **state)
{
	(void)state;
	for (unsigned which = 0; which < ARRAY_SIZE(bounds); which++)
		for (u64 seed = 1; seed <= 60; seed++)
			follow_drawn_hogs(which, seed);
}

/* --- shares on several CPUs ---------------------------------------------- */

/* With more equal hogs than CPUs, the least part of its share that a hog gets in 20 s. */
static double least_share(const char *policy, unsigned nr_cpus, unsigned nr_hogs)
{
	struct sim *sim = new_machine(&(struct setting){ policy, nr_cpus, 250, NULL, NULL });
	struct hog hogs[MAX_HOGS];
	struct sim_task *tasks[MAX_HOGS];
	double least = 1;

	for (unsigned i = 0; i < nr_hogs; i++)
		hogs[i] = (struct hog){ "hog", 0, 0 };
	start_hogs(sim, tasks, hogs, nr_hogs);
	assert_true(sim_run(sim, SIM_START + 20 * NS_PER_SEC));
	for (unsigned i = 0; i < nr_hogs; i++) {
		double got = (double)sched_task_runtime(sim->s, &tasks[i]->task) / 20e9;
		double share = got * nr_hogs / nr_cpus;

		least = share < least ? share : least;
	}
	sim_free(sim);
	return least;
}

/*
 * Balancing passes are rare and come at multiples of the tick, as turns do. So the order in which
 * hogs are alone on a CPU is a pattern: under CFS, three hogs on two CPUs get 76, 62 and 62 % of
 * one for ever (67 each would be fair). Slightly more hogs than CPUs are the worst case.
 */
static void equal_hogs_share_several_cpus(void **state)
{
	const char *policy = *state;

	for (unsigned nr_cpus = 2; nr_cpus <= 8; nr_cpus++)
		for (unsigned nr = nr_cpus; nr <= MAX_HOGS; nr++) {
			double least = least_share(policy, nr_cpus, nr);

			if (least < 0.8)
				fail_msg("%u hogs on %u CPUs: one got %.3f of its share", nr,
					 nr_cpus, least);
		}
}

/* --- golden traces ------------------------------------------------------- */

static char trace[256];
static size_t trace_used;
static unsigned trace_unit;

/* The switches as "0A 3B 6C": the time in units, and the task switched to. */
static void record_switch(struct sim_listener *listener, struct sim *sim,
			  const struct sched_event *event)
{
	const struct event_sched_switch *ev = (const void *)event;

	(void)listener;
	if (event->type == EVENT_ID_sched_switch)
		trace_used += (size_t)snprintf(
			trace + trace_used, sizeof(trace) - trace_used, "%llu%.1s ",
			(unsigned long long)(sim->now - SIM_START) / trace_unit, ev->next_comm);
}

static const struct {
	struct setting setting;
	struct hog hogs[3];
	unsigned until_ms;
	const char *switches;
} traces[] = {
	{ { "cfs", 1, 1000, "NO_START_DEBIT", NULL },
	  { { "A", 0, 0 }, { "B", 0, 0 }, { "C", 5, 0 } },
	  17,
	  "0A 3B 6C 7A 10B 13C 14A 17B " },
	{ { "cfs", 1, 250, "NO_START_DEBIT", NULL },
	  { { "A", 0, 0 }, { "B", 0, 0 }, { "C", 5, 0 } },
	  44,
	  "0A 4B 8C 12A 16B 20A 24B 28A 32B 36C 40A 44B " },
	{ { "eevdf", 1, 1000, NULL, "3000000" },
	  { { "A", 0, 0 }, { "B", 0, 0 }, { "C", 5, 0 } },
	  21,
	  "0A 2B 4C 6A 9B 12A 15B 18C " },
	{ { "eevdf", 1, 1000, NULL, "3000000" },
	  { { "A", 0, 0 }, { "B", 0, 0 }, { "S", 0, 1000000 } },
	  15,
	  "0S 1A 3B 5S 7A 10S 11B 14S " },
};

static void the_simulator_follows_the_golden_traces(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(traces); i++) {
		struct sim *sim = new_machine(&traces[i].setting);
		struct sim_task *tasks[3];

		sim_listen(sim, &(struct sim_listener){ .event = record_switch });
		sched_trace_set(sim->s, BIT(EVENT_sched_switch));
		trace_used = 0;
		trace_unit = MS;
		start_hogs(sim, tasks, traces[i].hogs, 3);
		assert_true(sim_run(sim, SIM_START + traces[i].until_ms * MS + MS / 2));
		assert_string_equal(trace, traces[i].switches);
		sim_free(sim);
	}
}

int main(void)
{
	struct CMUnitTest tests[32] = {
		cmocka_unit_test(service_stays_within_the_bound_of_a_fluid_server),
		cmocka_unit_test(the_simulator_follows_the_golden_traces),
	};
	static char names[16][80];
	unsigned nr = 2;

	for (unsigned i = 0; sched_fair_name(i) && i < ARRAY_SIZE(names); i++) {
		if (!sched_policy_has(sched_fair_policy(i), TRAIT_EVEN_ON_CPUS))
			continue;
		snprintf(names[i], sizeof(names[i]), "equal_hogs_share_several_cpus_under_%s",
			 sched_fair_name(i));
		tests[nr++] = (struct CMUnitTest){ names[i], equal_hogs_share_several_cpus, NULL,
						   NULL, (void *)(uintptr_t)sched_fair_name(i) };
	}
	return _cmocka_run_group_tests("prop_oracle", tests, nr, NULL, NULL);
}

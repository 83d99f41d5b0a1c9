/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shape of the machine: reading it (lib/cputree.h), domains as files, CPUs that come and go.
 */
#include <string.h>

#include "host.h"
#include "lib/cputree.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "sched/balance/balance.h"
#include "sched/balance/domain.h"

/* --- reading shapes --------------------------------------------------------------- */

/* The threads of each core as digits, then LLCs and nodes likewise: "222|4|6". */
static void summarise(const struct cpu_tree *tree, char out[64])
{
	struct cpu_place places[CPU_MAX];
	u32 nr = tree->total[TREE_THREADS], at = 0;

	cpu_tree_places(tree, places);
	for (int what = 0; what < 4; what++) {
		u32 size = 0;

		for (u32 cpu = 0; cpu < nr; cpu++) {
			const u32 *ids = &places[cpu].core, *next = &places[cpu + 1].core;

			size++;
			if (cpu + 1 < nr && ids[what] == next[what])
				continue;
			assert_true(cpu + 1 == nr || next[what] == ids[what] + 1);
			out[at++] = (char)('0' + size);
			size = 0;
		}
		out[at++] = what < 3 ? '|' : '\0';
	}
}

static void shapes_are_read_and_numbered_densely(void **state)
{
	static const struct {
		const char *text, *groups; /* CPUs of each core | LLC | package | node */
	} good[] = {
		{ "1", "1|1|1|1" },
		{ "2x2", "22|4|4|4" },
		{ "2x2x2", "2222|44|8|8" },
		{ "2x1x2x2", "2222|44|44|44" },
		{ "packages=2,cores=2", "1111|22|22|22" },
		{ "nodes=1,packages=2,cores=2", "1111|22|22|4" },
		{ "llcs=2,cores=4+3", "1111111|43|7|7" },
		{ "cores=3,threads=2+1+1", "211|4|4|4" },
		{ "nodes=2,llcs=2+1,cores=2", "111111|222|42|42" },
		{ "threads=2,llcs=2", "22|22|4|4" },
	};
	struct cpu_tree tree;
	char groups[64];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(cpu_tree_read(&tree, good[i].text));
		summarise(&tree, groups);
		assert_string_equal(groups, good[i].groups);
	}
	cpu_tree_flat(&tree, 3);
	summarise(&tree, groups);
	assert_string_equal(groups, "111|3|3|3");
}

static void bad_shapes_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "'' is not a number of threads" },
		{ "0x4", "'0' is not a number of cores" },
		{ "2xx4", "'' is not a number of cores" },
		{ "2x4y", "'4y' is not a number of threads" },
		{ "99999999999999999999x1", "is not a number of cores" },
		{ "1x2x3x4x5", "more than 4 factors" },
		{ "257", "is not a number of threads from 1 to 256" },
		{ "129x2", "has more than 256 CPUs" },
		{ "caches=3", "no level 'caches'" },
		{ "core=3", "no level 'core'" },
		{ "cores=2,cores=3", "cores twice" },
		{ "cores=2,threads", "'threads' is not LEVEL=NUMBER" },
		{ "cores=2,", "'' is not LEVEL=NUMBER" },
		{ "cores=2x3", "'x3' is too much" },
		{ "2x2,3", "',3' is too much" },
		{ "llcs=3,cores=4+3", "does not add up: 2 numbers of cores for 3 parents" },
	};
	struct cpu_tree tree;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_false(cpu_tree_read(&tree, bad[i].text));
		if (!strstr(tree.error, bad[i].why))
			fail_msg("'%s': %s", bad[i].text, tree.error);
	}
}

/* A text of any length leaves room for the reason. */
static void bad_shapes_may_be_long(void **state)
{
	static const struct {
		const char *start, *why;
	} bad[] = {
		{ "", "aaa' is not a number of threads from 1 to 256" },
		{ "x", "'' is not a number of cores" },
		{ "cores=", "aaa' is not a number of cores from 1 to 256" },
		{ "cores=2,", "aaa' is not LEVEL=NUMBER" },
		{ "cores=2x", "aaa' is too much" },
		{ "", "aaa'; there are nodes, packages, llcs, cores, threads" },
	};
	char text[1000];
	struct cpu_tree tree;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(text, 'a', sizeof(text) - 1);
		memcpy(text, bad[i].start, strlen(bad[i].start));
		strcpy(text + sizeof(text) - 3, i == ARRAY_SIZE(bad) - 1 ? "=1" : "aa");
		assert_false(cpu_tree_read(&tree, text));
		if (!strstr(tree.error, bad[i].why))
			fail_msg("'%s...': %s", bad[i].start, tree.error);
	}
}

/* --- domains as files ------------------------------------------------------------- */

/* 2 nodes of 2 caches of 2 cores of 2 threads. */
static struct machine *big_machine(void)
{
	struct sched_cpu_desc desc[16];

	for (unsigned cpu = 0; cpu < 16; cpu++)
		desc[cpu] = (struct sched_cpu_desc){ cpu / 2, cpu / 4, cpu / 8, cpu / 8 };
	return machine_new_on(16, 250, desc, "cfs");
}

static unsigned file_number(const char *name)
{
	unsigned i = 0;

	while (strcmp(sched_domain_file(i)->name, name))
		i++;
	return i;
}

static const char *read_file(struct machine *m, unsigned level, const char *name)
{
	static char text[256];

	assert_in_range(sched_domain_read(m->s, 5, level, file_number(name), text, sizeof(text)), 1,
			sizeof(text) - 1);
	return text;
}

static int write_file(struct machine *m, unsigned level, const char *name, const char *text)
{
	return sched_domain_write(m->s, 5, level, file_number(name), text, strlen(text));
}

static void domains_read_as_linux_shows_them(void **state)
{
	struct machine *m = big_machine();
	char text[8];

	(void)state;
	assert_string_equal(read_file(m, 0, "name"), "SMT\n");
	assert_string_equal(read_file(m, 2, "name"), "DIE\n");
	assert_string_equal(read_file(m, 0, "flags"),
			    "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE "
			    "SD_SHARE_CPUCAPACITY SD_SHARE_PKG_RESOURCES SD_PREFER_SIBLING \n");
	assert_string_equal(read_file(m, 3, "flags"),
			    "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE "
			    "SD_SERIALIZE SD_NUMA \n");
	assert_string_equal(read_file(m, 0, "groups_flags"), "\n");
	assert_string_equal(read_file(m, 1, "groups_flags"),
			    "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE "
			    "SD_SHARE_CPUCAPACITY SD_SHARE_PKG_RESOURCES SD_PREFER_SIBLING \n");
	assert_string_equal(read_file(m, 1, "min_interval"), "4\n");
	assert_string_equal(read_file(m, 1, "max_interval"), "8\n");
	assert_string_equal(read_file(m, 3, "cache_nice_tries"), "2\n");
	assert_int_equal(sched_domain_read(m->s, 5, 4, 0, text, sizeof(text)), -ENOENT);
	assert_int_equal(sched_domain_write(m->s, 5, 4, 3, "1", 1), -ENOENT);
	machine_free(m);
}

static void a_domain_takes_what_is_written_and_refuses_garbage(void **state)
{
	struct machine *m = big_machine();

	(void)state;
	assert_int_equal(write_file(m, 1, "busy_factor", "0x20\n"), 0);
	assert_string_equal(read_file(m, 1, "busy_factor"), "32\n");
	assert_string_equal(read_file(m, 0, "busy_factor"), "16\n");
	assert_int_equal(write_file(m, 1, "imbalance_pct", "4294967421"), 0);
	assert_string_equal(read_file(m, 1, "imbalance_pct"), "125\n");
	assert_int_equal(write_file(m, 1, "min_interval", "18446744073709551615"), 0);
	assert_string_equal(read_file(m, 1, "min_interval"), "18446744073709551615\n");
	assert_int_equal(write_file(m, 1, "max_newidle_lb_cost", "5000000000"), 0);
	assert_string_equal(read_file(m, 1, "max_newidle_lb_cost"), "5000000000\n");
	assert_int_equal(write_file(m, 1, "busy_factor", "5x"), -EINVAL);
	assert_int_equal(write_file(m, 1, "busy_factor", ""), -EINVAL);
	assert_int_equal(write_file(m, 1, "busy_factor", "-1"), -EINVAL);
	assert_int_equal(write_file(m, 1, "name", "MC"), -EINVAL);
	assert_int_equal(write_file(m, 1, "flags", "0"), -EINVAL);
	assert_string_equal(read_file(m, 1, "busy_factor"), "32\n");
	machine_free(m);
}

/*
 * With a factor of 16 a busy CPU balances that many times less often; with 1 as often as an idle
 * one.
 */
static void a_written_busy_factor_is_used(void **state)
{
	struct machine *m = big_machine();
	struct domain *sd = m->s->rq[5].domains;

	(void)state;
	assert_int_equal(balance_interval(m->s, sd, true), 7);
	assert_int_equal(write_file(m, 0, "busy_factor", "64"), 0);
	assert_int_equal(balance_interval(m->s, sd, true), 31);
	machine_free(m);
}

/* Its threads are two cores if they are behind two caches or on two nodes. */
static void a_core_that_spans_caches_or_nodes_is_cut_at_them(void **state)
{
	static const struct sched_cpu_desc wide[][4] = {
		{ { 0, 0, 0, 0 }, { 0, 1, 0, 0 }, { 1, 0, 0, 0 }, { 1, 1, 0, 0 } },
		{ { 0, 0, 0, 0 }, { 0, 0, 0, 1 }, { 1, 0, 0, 0 }, { 1, 0, 0, 1 } },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(wide); i++) {
		struct machine *m = machine_new_on(4, 1000, wide[i], NULL);

		for (unsigned cpu = 0; cpu < 4; cpu++)
			assert_int_equal(m->s->rq[cpu].core->weight, 1);
		assert_int_equal(m->s->rq[0].llc_size, 2);
		machine_free(m);
	}
}

/* --- CPUs that come and go -------------------------------------------------------- */

static void dump_domains(struct machine *m, char *out, size_t size)
{
	struct text text = text_of(out, size);
	struct domain *sd;

	for (unsigned cpu = 0; cpu < 16; cpu++) {
		for_each_domain(sd, &m->s->rq[cpu]) {
			text_add(&text, "%u %s %lx %u:", cpu, sd->name, sd->span->cpus.bits[0],
				 sd->flags);
			for (const struct group *g = sd->parts;;) {
				text_add(&text, " %lx", g->cpus.bits[0]);
				g = g->next;
				if (g == sd->parts)
					break;
			}
			text_add(&text, "\n");
		}
	}
	assert_in_range(text.len, 1, size - 1);
}

/*
 * Published as "missing scheduling domains": after a CPU came back, Linux had lost the upper
 * levels.
 */
static void domains_are_the_same_after_a_cpu_came_back(void **state)
{
	static char before[1 << 14], without[1 << 14], after[1 << 14];
	struct machine *m = big_machine();

	(void)state;
	dump_domains(m, before, sizeof(before));
	assert_int_equal(sched_cpu_offline(m->s, 5), 0);
	sched_check(m->s);
	dump_domains(m, without, sizeof(without));
	assert_string_not_equal(before, without);
	assert_null(m->s->rq[5].domains);
	assert_int_equal(m->s->rq[4].domains->span->weight, 3);
	sched_cpu_online(m->s, 5, &m->idle[5]);
	sched_check(m->s);
	dump_domains(m, after, sizeof(after));
	assert_string_equal(before, after);
	machine_free(m);
}

/* Until more is known of it, a cache may have idle cores, and all its CPUs are searched. */
static void a_new_cache_is_searched_in_full(void **state)
{
	struct machine *m = big_machine();

	(void)state;
	for (unsigned again = 0; again < 2; again++) {
		for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
			const struct rq *rq = &m->s->rq[cpu];

			if (!rq->llc)
				continue;
			assert_true(rq->llc->span->has_idle_cores);
			assert_int_equal(rq->llc->span->nr_idle_scan, rq->llc->span->weight);
		}
		for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
			if (m->s->rq[cpu].llc) {
				m->s->rq[cpu].llc->span->has_idle_cores = false;
				m->s->rq[cpu].llc->span->nr_idle_scan = 0;
			}
		assert_int_equal(sched_cpu_offline(m->s, 5), 0);
		sched_cpu_online(m->s, 5, &m->idle[5]);
	}
	machine_free(m);
}

/* Tasks that wait, run and sleep; one is pinned there, one is real-time. All find another CPU. */
static void tasks_leave_with_their_cpu(void **state)
{
	struct machine *m = machine_new(3, 250);
	struct cpumask only2 = cpumask_of(2), mask;
	struct task *t[6];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		t[i] = i < 5 ? spawn_nice(m, "fair", 0) : spawn(m, "fifo", SCHED_FIFO, 10);
		assert_int_equal(sched_set_affinity(m->s, t[i], &only2), 0);
		settle(m);
	}
	tick(m);
	block(m, 2, TASK_INTERRUPTIBLE);
	assert_int_equal(sched_cpu_offline(m->s, 2), 0);
	settle(m);
	sched_check(m->s);
	assert_ptr_equal(running(m, 2), &m->idle[2]);
	for (unsigned i = 0; i < 6; i++) {
		wake(m, t[i], 0);
		assert_true(t[i]->on_rq == TASK_QUEUED && t[i]->cpu != 2);
		assert_int_equal(sched_affinity_lost(t[i]), 2);
		assert_int_equal(sched_affinity_lost(t[i]), -1);
		sched_get_affinity(m->s, t[i], &mask);
		assert_int_equal(mask.bits[0], 3);
		assert_int_equal(sched_set_affinity(m->s, t[i], &only2), -EINVAL);
	}
	assert_true(sched_affinity_losses(m->s) && !sched_affinity_losses(m->s));
	assert_int_equal(sched_cpu_offline(m->s, 2), -EINVAL);
	assert_int_equal(sched_cpu_offline(m->s, 0), 0);
	settle(m);
	assert_int_equal(sched_cpu_offline(m->s, 1), -EBUSY);
	sched_check(m->s);
	machine_free(m);
}

/* The idle task and the stopper stay where they are. */
static void fixtures_have_no_other_affinity(void **state)
{
	struct machine *m = machine_new(2, 1000);

	(void)state;
	assert_int_equal(sched_set_affinity(m->s, &m->idle[0], &m->s->possible), -EINVAL);
	assert_int_equal(m->idle[0].nr_allowed, 1);
	machine_free(m);
}

/* With fewer CPUs the tunables that grow with their number shrink. */
static void tunables_follow_the_cpus_in_service(void **state)
{
	struct machine *m = machine_new(4, 1000);
	u32 with_four = m->s->tunable.latency_ns, with_three;

	(void)state;
	set_tunable(m, "tunable_scaling", "1");
	with_four = m->s->tunable.latency_ns;
	assert_int_equal(with_four, 3 * 6000000);
	assert_int_equal(sched_cpu_offline(m->s, 3), 0);
	with_three = m->s->tunable.latency_ns;
	assert_int_equal(with_three, 2 * 6000000);
	sched_cpu_online(m->s, 3, &m->idle[3]);
	assert_int_equal(m->s->tunable.latency_ns, with_four);
	machine_free(m);
}

static void schedstat_counts_domains_from_below(void **state)
{
	static char out[4096];
	struct machine *m = big_machine();
	struct text text = text_of(out, sizeof(out));
	unsigned nr = 0;
	struct domain *sd;
	const char *at = out;

	(void)state;
	dump_schedstat_domains(&text, &m->s->rq[0]);
	for_each_domain(sd, &m->s->rq[0]) {
		char name[16];

		fmt_snprintf(name, sizeof(name), "domain%u ", nr++);
		at = strstr(at, name);
		assert_non_null(at);
		assert_true(at == out || at[-1] == '\n');
	}
	assert_true(nr >= 3);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_read_and_numbered_densely),
		cmocka_unit_test(bad_shapes_are_refused_with_the_reason),
		cmocka_unit_test(bad_shapes_may_be_long),
		cmocka_unit_test(domains_read_as_linux_shows_them),
		cmocka_unit_test(a_domain_takes_what_is_written_and_refuses_garbage),
		cmocka_unit_test(a_written_busy_factor_is_used),
		cmocka_unit_test(domains_are_the_same_after_a_cpu_came_back),
		cmocka_unit_test(a_new_cache_is_searched_in_full),
		cmocka_unit_test(tasks_leave_with_their_cpu),
		cmocka_unit_test(a_core_that_spans_caches_or_nodes_is_cut_at_them),
		cmocka_unit_test(fixtures_have_no_other_affinity),
		cmocka_unit_test(tunables_follow_the_cpus_in_service),
		cmocka_unit_test(schedstat_counts_domains_from_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

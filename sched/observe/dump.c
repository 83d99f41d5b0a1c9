/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text for people: the body of /proc/PID/sched, debugfs `debug` for a CPU,
 * /proc/schedstat. Layouts are Linux 6.1's (docs/sources.md), so that tools which
 * read those read these; policies of later versions add their lines. Never on a
 * hot path.
 */
#include "sched/balance/balance.h"
#include "sched/fair/core/fair.h"
#include "sched/freq/freq.h"
#include "lib/fmt.h"

/* ns as ms with six decimals, as Linux prints times here. */
#define MS_FMT	    "%llu.%06llu"
#define MS_ARGS(ns) (unsigned long long)((ns) / NS_PER_MS), (unsigned long long)((ns) % NS_PER_MS)

/* --- /proc/PID/sched ------------------------------------------------------ */

size_t sched_dump_task(struct sched *s, struct task *t, char *buf, size_t size)
{
	struct text out = text_of(buf, size);
	struct rq *rq = task_rq_lock(s, t);
	const struct pelt *avg = &t->fair.avg;
	u64 t0;

	/* As of the last charge, as in Linux: who looks changes nothing. */
	dump_task_ms(&out, "se.exec_start", (s64)t->fair.exec_start);
	dump_task_ms(&out, "se.vruntime", (s64)t->fair.vruntime);
	dump_task_ms(&out, "se.sum_exec_runtime", (s64)t->fair.sum_exec);
	dump_task_number(&out, "se.nr_migrations", t->fair.nr_migrations);
	if (schedstats(s)) {
		dump_task_ms(&out, "sum_sleep_runtime", (s64)t->sleep_sum);
		dump_task_ms(&out, "sum_block_runtime", (s64)t->block_sum);
		dump_task_ms(&out, "sleep_max", (s64)t->sleep_max);
		dump_task_ms(&out, "block_max", (s64)t->block_max);
		dump_task_ms(&out, "wait_max", (s64)t->wait_max);
		dump_task_ms(&out, "wait_sum", (s64)t->wait_sum);
		dump_task_number(&out, "wait_count", t->nr_slices);
		dump_task_number(&out, "nr_wakeups", t->nr_wakeups);
	}
	dump_task_number(&out, "nr_switches", t->nr_voluntary + t->nr_involuntary);
	dump_task_number(&out, "nr_voluntary_switches", t->nr_voluntary);
	dump_task_number(&out, "nr_involuntary_switches", t->nr_involuntary);
	dump_task_number(&out, "se.load.weight", t->fair.load.weight);
	dump_task_number(&out, "se.avg.load_sum", avg->load_sum);
	dump_task_number(&out, "se.avg.runnable_sum", avg->runnable_sum);
	dump_task_number(&out, "se.avg.util_sum", avg->util_sum);
	dump_task_number(&out, "se.avg.load_avg", avg->load_avg);
	dump_task_number(&out, "se.avg.runnable_avg", avg->runnable_avg);
	dump_task_number(&out, "se.avg.util_avg", avg->util_avg);
	dump_task_number(&out, "se.avg.last_update_time", avg->last_update);
	dump_task_number(&out, "se.avg.util_est.ewma", avg->util_est_ewma);
	dump_task_number(&out, "se.avg.util_est.enqueued", avg->util_est_enqueued);
	if (rq->freq) {
		dump_task_number(&out, "uclamp.min", clamp_requested(s, t, SCHED_CLAMP_MIN));
		dump_task_number(&out, "uclamp.max", clamp_requested(s, t, SCHED_CLAMP_MAX));
		dump_task_number(&out, "effective uclamp.min",
				 clamp_effective(s, t, SCHED_CLAMP_MIN));
		dump_task_number(&out, "effective uclamp.max",
				 clamp_effective(s, t, SCHED_CLAMP_MAX));
	}
	dump_task_number(&out, "policy", (u64)t->policy);
	dump_task_number(&out, "prio", (u64)t->prio);
	if (t->class->debug.dump)
		t->class->debug.dump(rq, t, &out);
	/* The cost of a clock read, measured as Linux does: two in a row. */
	t0 = host_clock(rq->cpu);
	dump_task_number(&out, "clock-delta", host_clock(rq->cpu) - t0);
	rq_unlock(rq);
	return out.len;
}

/* --- debugfs debug -------------------------------------------------------- */

/* A task that is queued but not runnable is about to sleep, or is a delayed sleeper. */
static const char *state_mark(struct rq *rq, struct task *t)
{
	if (task_running(rq, t))
		return ">R";
	return READ_ONCE(t->state) ? " S" : " R";
}

static void dump_task_row(struct text *out, struct rq *rq, struct task *t)
{
	text_add(out, " %s %15s %5d", state_mark(rq, t), t->comm, t->pid);
	if (task_is_fair(t))
		fair_dump_key(rq, t, out);
	else
		dump_vtime(out, t->fair.vruntime);
	text_add(out, "  %9lu  %4d  " MS_FMT "  " MS_FMT "\n", t->nr_voluntary + t->nr_involuntary,
		 t->prio, MS_ARGS(t->wait_sum), MS_ARGS(t->fair.sum_exec));
}

static void dump_tasks(struct text *out, struct rq *rq)
{
	struct task *t;

	text_add(out,
		 "\nrunnable tasks:\n S            task   PID%s  switches  prio  wait-time"
		 "  sum-exec\n",
		 fair_key_columns(rq));
	text_add(out, "-----------------------------------------------------------------------\n");
	if (rq->curr && rq->curr->on_rq == TASK_OFF_RQ)
		dump_task_row(out, rq, rq->curr);
	for_each_queued(t, rq) dump_task_row(out, rq, t);
}

/* As Linux, with schedstats only; our own counters beside Linux's. */
static void dump_counters(struct text *out, const struct rq *rq)
{
#define STAT(name, ...) dump_number(out, #name, rq->name);
#include "sched/observe/stat.def"
#undef STAT
}

size_t sched_dump_cpu(struct sched *s, unsigned cpu, char *buf, size_t size)
{
	struct text out = text_of(buf, size);
	const struct sched_class *class;
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	text_add(&out, "cpu#%u\n", cpu);
	dump_number(&out, "nr_running", rq->nr_running);
	dump_number(&out, "nr_switches", rq->nr_switches);
	dump_number(&out, "nr_uninterruptible", rq->nr_uninterruptible);
	dump_number(&out, "next_balance", rq->next_balance);
	dump_number(&out, "curr->pid", rq->curr ? (u64)rq->curr->pid : 0);
	dump_ms(&out, "clock", rq->clock);
	dump_ms(&out, "avg_idle", rq->avg_idle);
	dump_ms(&out, "max_idle_balance_cost", rq->max_idle_balance_cost);
	if (schedstats(s))
		dump_counters(&out, rq);
	for_each_class_reverse(class, rq->s) if (class->debug.dump)
		class->debug.dump(rq, NULL, &out);
	dump_tasks(&out, rq);
	rq_unlock(rq);
	return out.len;
}

/* --- /proc/schedstat ------------------------------------------------------ */

static void dump_schedstat_cpu(struct text *out, struct rq *rq)
{
	text_add(out, "cpu%u %lu 0 %lu %lu %lu %lu %lu %lu %lu\n", rq->cpu, rq->yield_count,
		 rq->sched_count, rq->sched_goidle, rq->ttwu_count, rq->ttwu_local, rq->run_ns,
		 rq->wait_ns, rq->slices);
}

size_t sched_dump_schedstat(struct sched *s, char *buf, size_t size)
{
	struct text out = text_of(buf, size);
	unsigned cpu;

	text_add(&out, "version 15\ntimestamp %lu\n",
		 jiffies(s, host_clock(cpumask_first(&s->online))));
	for_each_cpu(cpu, &s->online) {
		dump_schedstat_cpu(&out, cpu_rq(s, cpu));
		dump_schedstat_domains(&out, cpu_rq(s, cpu));
	}
	return out.len;
}

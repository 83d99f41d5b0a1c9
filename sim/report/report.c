/* SPDX-License-Identifier: GPL-2.0-only */
/* The summary of runs, as tables and as JSON. */
#include <string.h>

#include "sim/report/energy.h"
#include "sim/report/report.h"
#include "sim/engine/util.h"
#include "sched/ext.h"

/* ns as ms with three decimals. */
#define MS_FMT	    "%lld.%03lld"
#define MS_ARGS(ns) (long long)((ns) / 1000000), (long long)((ns) / 1000 % 1000)

/* --- the header ------------------------------------------------------------------------------- */

static void put_run(const struct report *r, FILE *out)
{
	fprintf(out, "%s; HZ %u; seed %llu; " MS_FMT " ms\n", r->machine->text, r->options->hz,
		(unsigned long long)r->options->seed, MS_ARGS(r->duration));
}

char *report_about(const struct report *r, const char *policy)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, "schedsim " COMMIT ": %s; ", policy);
	put_run(r, out);
	fprintf(out, "command: %s", r->options->run_command);
	fclose(out);
	return text;
}

void report_header(const struct report *r)
{
	const struct sim_costs *c = &r->options->costs;

	fprintf(r->out, "schedsim " COMMIT ": ");
	for (u32 i = 0; i < r->nr_results; i++)
		fprintf(r->out, "%s%s", i ? " " : "", r->results[i].sched);
	fputs(r->options->narrow ? "\n" : "; ", r->out);
	put_run(r, r->out);
	fprintf(r->out,
		"costs in ns: switch %llu, tick %llu, timer %llu, wake %llu, ipi %llu,%s"
		"migration %llu, cold %llu, mem %llu per KiB\n",
		(unsigned long long)c->switch_ns, (unsigned long long)c->tick_ns,
		(unsigned long long)c->timer_ns, (unsigned long long)c->wake_ns,
		(unsigned long long)c->ipi_ns, r->options->narrow ? "\n  " : " ",
		(unsigned long long)c->migration_ns, (unsigned long long)c->cold_ns,
		(unsigned long long)c->mem_ns_per_kib);
	if (r->machine->opp)
		fprintf(r->out, "operating points: %s\n", r->machine->opp_name);
	if (r->options->caches_text)
		fprintf(r->out, "caches: %s\n", r->options->caches_text);
	fprintf(r->out, "command: %s\n", r->options->command);
}

/* --- numbers of a row ------------------------------------------------------------------------- */

/* The part of the machine's time, in 1/100 %. */
static u64 share(const struct report *r, u64 ns)
{
	return (u64)((unsigned __int128)ns * 10000 / r->duration / r->machine->nr_cpus);
}

static u64 mean(const struct histogram *h)
{
	return h->n ? h->sum / h->n : 0;
}

static const char *ms_text(char *buf, size_t size, s64 ns)
{
	u64 abs = ns < 0 ? 0 - (u64)ns : (u64)ns;

	snprintf(buf, size, "%s" MS_FMT, ns < 0 ? "-" : "", MS_ARGS(abs));
	return buf;
}

static const char *share_text(char *buf, size_t size, u64 share_ns)
{
	snprintf(buf, size, "%llu.%02llu", (unsigned long long)(share_ns / 100),
		 (unsigned long long)(share_ns % 100));
	return buf;
}

static const char *count_text(char *buf, size_t size, u64 count)
{
	snprintf(buf, size, "%llu", (unsigned long long)count);
	return buf;
}

enum column {
	COL_TASKS,
	COL_SHARE,
	COL_IDEAL,
	COL_MEAN,
	COL_P50,
	COL_P99,
	COL_MAX,
	COL_WAKE_P50,
	COL_WAKE_P99,
	COL_WAKE_MAX,
	COL_RUNS,
	COL_MIGRATIONS,
	COL_LAG_MIN,
	COL_LAG_MAX,
	NR_COLUMNS,
	COL_ENERGY = NR_COLUMNS /* with several policies, if CPUs have several speeds */
};

static const struct {
	const char *head, *name;
	int width, narrow; /* narrow: with --narrow */
} columns[NR_COLUMNS + 1] = {
	[COL_TASKS] = { "tasks", "tasks", 7, 5 },
	[COL_SHARE] = { "share %", "share of the CPUs, %", 8, 7 },
	[COL_IDEAL] = { "ideal %", "ideal share, %", 8, 7 },
	[COL_MEAN] = { "wait ms", "wait, mean ms", 9, 8 },
	[COL_P50] = { "p50", "wait, p50 ms", 8, 8 },
	[COL_P99] = { "p99", "wait, p99 ms", 9, 8 },
	[COL_MAX] = { "max", "wait, max ms", 9, 8 },
	[COL_WAKE_P50] = { "wake p50", "wakeup, p50 ms", 9, 8 },
	[COL_WAKE_P99] = { "wake p99", "wakeup, p99 ms", 9, 8 },
	[COL_WAKE_MAX] = { "wake max", "wakeup, max ms", 9, 8 },
	[COL_RUNS] = { "runs", "runs", 9, 6 },
	[COL_MIGRATIONS] = { "migr", "migrations", 7, 5 },
	[COL_LAG_MIN] = { "lag ms", "lag, least ms", 9, 8 },
	[COL_LAG_MAX] = { "to", "lag, most ms", 9, 8 },
	[COL_ENERGY] = { NULL, "energy of its CPUs", 0, 0 },
};

static const char *cell(const struct report *r, const struct result *result, u32 row_nr,
			enum column column, char *buf, size_t size)
{
	const struct row *row = &result->measure->rows[row_nr];

	switch (column) {
	case COL_TASKS:
		return count_text(buf, size, row->nr_tasks);
	case COL_SHARE:
		return share_text(buf, size, share(r, row->got_ns));
	case COL_IDEAL:
		return share_text(buf, size, share(r, r->workload->row_ideal_ns[row_nr]));
	case COL_MEAN:
		return ms_text(buf, size, (s64)mean(&row->wait));
	case COL_P50:
		return ms_text(buf, size, (s64)histogram_quantile(&row->wait, 500));
	case COL_P99:
		return ms_text(buf, size, (s64)histogram_quantile(&row->wait, 990));
	case COL_MAX:
		return ms_text(buf, size, (s64)row->wait.max);
	case COL_WAKE_P50:
		return ms_text(buf, size, (s64)histogram_quantile(&row->wakeup, 500));
	case COL_WAKE_P99:
		return ms_text(buf, size, (s64)histogram_quantile(&row->wakeup, 990));
	case COL_WAKE_MAX:
		return ms_text(buf, size, (s64)row->wakeup.max);
	case COL_RUNS:
		return count_text(buf, size, row->runs);
	case COL_MIGRATIONS:
		return count_text(buf, size, row->migrations);
	case COL_LAG_MIN:
		return ms_text(buf, size, row->lag_min);
	case COL_LAG_MAX:
		return ms_text(buf, size, row->lag_max);
	default:
		return ms_text(buf, size, (s64)(row->energy / 1000));
	}
}

/* --- tables ----------------------------------------------------------------------------------- */

void report_kind(char *buf, size_t size, const struct workload *w, const struct program *p)
{
	const struct attributes *a = &p->attr;
	struct sched_policy_info info = sched_policy_info(a->policy);

	if (info.priority)
		snprintf(buf, size, "%s %s %d", p->name, info.name, a->rt_priority);
	else if (a->policy != SCHED_NORMAL)
		snprintf(buf, size, "%s %s", p->name, info.name);
	else
		snprintf(buf, size, "%s nice %d", p->name, a->nice);
	if (a->slice_ns)
		snprintf(buf + strlen(buf), size - strlen(buf), " %lluus",
			 (unsigned long long)(a->slice_ns / NS_PER_US));
	if (a->group)
		snprintf(buf + strlen(buf), size - strlen(buf), " %s", w->groups[a->group].path);
}

/* The number that stands for @wide in a line of at most 80 columns. */
static int width(const struct report *r, int wide, int narrow)
{
	return r->options->narrow ? narrow : wide;
}

/* Prints the columns from @first up to @end, a row for each kind of task. */
static void print_columns(const struct report *r, enum column first, enum column end)
{
	int kind_width = width(r, KIND_WIDTH, 21);
	char kind[160], buf[64];

	fprintf(r->out, "\n%-*s", kind_width, "task");
	for (enum column c = first; c < end; c++)
		fprintf(r->out, " %*s", width(r, columns[c].width, columns[c].narrow),
			columns[c].head);
	fputc('\n', r->out);
	for (u32 row = 0; row < r->workload->nr_rows; row++) {
		report_kind(kind, sizeof(kind), r->workload, workload_row(r->workload, row));
		fprintf(r->out, "%-*s", kind_width, kind);
		for (enum column c = first; c < end; c++)
			fprintf(r->out, " %*s", width(r, columns[c].width, columns[c].narrow),
				cell(r, r->results, row, c, buf, sizeof(buf)));
		fputc('\n', r->out);
	}
}

static void print_rows(const struct report *r)
{
	if (!r->options->narrow) {
		print_columns(r, COL_TASKS, NR_COLUMNS);
		return;
	}
	print_columns(r, COL_TASKS, COL_WAKE_P50);
	print_columns(r, COL_WAKE_P50, NR_COLUMNS);
}

static void print_side_by_side(const struct report *r)
{
	int column = width(r, 12, min(10, 56 / (int)r->nr_results - 1));
	bool narrow = r->options->narrow;
	char kind[160], buf[64];

	fprintf(r->out, "\n%-*s", width(r, 2 * KIND_WIDTH, KIND_WIDTH), "");
	for (u32 i = 0; i < r->nr_results; i++)
		fprintf(r->out, " %*s", column, r->results[i].sched);
	fputc('\n', r->out);
	for (u32 row = 0; row < r->workload->nr_rows; row++) {
		report_kind(kind, sizeof(kind), r->workload, workload_row(r->workload, row));
		if (narrow)
			fprintf(r->out, "%s\n", kind);
		for (unsigned c = 0; c < NR_COLUMNS + !!r->machine->opp; c++) {
			if (!narrow)
				fprintf(r->out, "%-*s", KIND_WIDTH, c ? "" : kind);
			fprintf(r->out, "%*s%-*s", width(r, 0, 2), "", width(r, KIND_WIDTH, 22),
				columns[c].name);
			for (u32 i = 0; i < r->nr_results; i++)
				fprintf(r->out, " %*s", column,
					cell(r, &r->results[i], row, (enum column)c, buf,
					     sizeof(buf)));
			fputc('\n', r->out);
		}
	}
}

/* Prints what the scheduler's own statistics say of each group. */
static void print_groups(const struct report *r, const struct result *result)
{
	const struct workload *w = r->workload;
	char share_buf[32], ideal_buf[32], throttled_buf[32], burst_buf[32];
	bool narrow = r->options->narrow;

	fprintf(r->out,
		narrow ? "\n%-16s %7s %7s %7s %9s %12s %6s %8s\n"
		       : "\n%-24s %8s %8s %9s %10s %13s %8s %9s\n",
		r->nr_results > 1 ? result->sched : "group", "share %", "ideal %", "periods",
		"throttled", "throttled ms", "bursts", "burst ms");
	for (u32 i = 1; i < w->nr_groups; i++) {
		const struct task_group_stat *stat = &result->groups[i];

		fprintf(r->out,
			narrow ? "%-16s %7s %7s %7llu %9llu %12s %6llu %8s\n"
			       : "%-24s %8s %8s %9llu %10llu %13s %8llu %9s\n",
			w->groups[i].path,
			share_text(share_buf, sizeof(share_buf), share(r, stat->usage_ns)),
			share_text(ideal_buf, sizeof(ideal_buf), share(r, w->groups[i].ideal_ns)),
			(unsigned long long)stat->nr_periods,
			(unsigned long long)stat->nr_throttled,
			ms_text(throttled_buf, sizeof(throttled_buf), (s64)stat->throttled_ns),
			(unsigned long long)stat->nr_bursts,
			ms_text(burst_buf, sizeof(burst_buf), (s64)stat->burst_ns));
	}
}

static bool has_deadlines(const struct workload *w)
{
	for (u32 i = 1; i < w->nr_groups; i++)
		if (w->groups[i].params.deadline_rr_ns || w->groups[i].params.guaranteed_shares)
			return true;
	return false;
}

/* Prints what fdl counts: deadlines and guarantees of each group. */
static void print_deadlines(const struct report *r, const struct result *result)
{
	const struct workload *w = r->workload;
	char gap[32], pushed[32];
	bool narrow = r->options->narrow;

	fprintf(r->out,
		narrow ? "\n%-13s %7s %10s %7s %9s %6s %7s %13s\n"
		       : "\n%-24s %8s %10s %9s %9s %9s %9s %13s\n",
		r->nr_results > 1 ? result->sched : "group", "shares", "guaranteed", "picks",
		"container", "misses", "gap ms", "put off by ms");
	for (u32 i = 1; i < w->nr_groups; i++) {
		const struct task_group_fdl_stat *fdl = &result->fdl[i];

		fprintf(r->out,
			narrow ? "%-13s %7llu %10llu %7llu %9llu %6llu %7s %13s\n"
			       : "%-24s %8llu %10llu %9llu %9llu %9llu %9s %13s\n",
			w->groups[i].path, (unsigned long long)fdl->dynamic_shares,
			(unsigned long long)fdl->abs_guaranteed,
			(unsigned long long)fdl->nr_dl_picks,
			(unsigned long long)fdl->nr_container_picks,
			(unsigned long long)fdl->nr_misses,
			ms_text(gap, sizeof(gap), (s64)fdl->max_gap_ns),
			ms_text(pushed, sizeof(pushed), (s64)fdl->lag_pushed_ns));
	}
}

static void print_shard_locks(const struct report *r, const struct sim_counts *count)
{
	char buf[64];

	if (!count->shard_locks)
		return;
	fprintf(r->out, "shard locks: %llu taken, %.2f %% after waiting, %s CPU ms waited\n",
		(unsigned long long)count->shard_locks,
		100.0 * (double)count->shard_waits / (double)count->shard_locks,
		ms_text(buf, sizeof(buf), (s64)count->shard_wait_ns));
}

static void print_caches(const struct report *r, const struct result *result)
{
	char waited[64], part[32];

	if (!r->options->caches_text)
		return;
	fprintf(r->out,
		"caches: tasks waited %s CPU ms for their data, %s %% of the machine's time\n",
		ms_text(waited, sizeof(waited), (s64)result->count.cold_ns),
		share_text(part, sizeof(part), share(r, result->count.cold_ns)));
}

static void print_machine(const struct report *r)
{
	char buf[64];

	fputc('\n', r->out);
	for (u32 i = 0; i < r->nr_results; i++) {
		const struct result *result = &r->results[i];

		if (r->nr_results > 1)
			fprintf(r->out, "%s: ", result->sched);
		fprintf(r->out,
			"%llu switches, %llu wakeups, %llu ticks, %llu kicks, %u tasks at most%s",
			(unsigned long long)result->count.switches,
			(unsigned long long)result->count.wakeups,
			(unsigned long long)result->count.ticks,
			(unsigned long long)result->count.kicks, result->nr_tasks_max,
			r->options->narrow ? "\n" : "; ");
		fprintf(r->out, "idle %s %%, ",
			share_text(buf, sizeof(buf), share(r, result->idle_ns)));
		fprintf(r->out, "overhead %s %%,%s",
			share_text(buf, sizeof(buf), share(r, result->overhead_ns)),
			r->options->narrow ? "\n" : " ");
		fprintf(r->out, "wasted %s CPU ms, ",
			ms_text(buf, sizeof(buf), (s64)result->waste_ns));
		fprintf(r->out, "of these within a cache %s\n",
			ms_text(buf, sizeof(buf), (s64)result->waste_llc_ns));
		print_shard_locks(r, &result->count);
		print_caches(r, result);
	}
}

void report_text(const struct report *r)
{
	if (r->nr_results == 1)
		print_rows(r);
	else
		print_side_by_side(r);
	for (u32 i = 0; i < r->nr_results && r->workload->nr_groups; i++)
		print_groups(r, &r->results[i]);
	for (u32 i = 0; i < r->nr_results && has_deadlines(r->workload); i++)
		print_deadlines(r, &r->results[i]);
	for (u32 i = 0; i < r->nr_results && r->machine->opp; i++)
		energy_text(r, &r->results[i]);
	print_machine(r);
}

/* --- JSON ------------------------------------------------------------------------------------- */

void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void json_number(FILE *out, const char *key, u64 value, const char *after)
{
	fprintf(out, "\"%s\": %llu%s", key, (unsigned long long)value, after);
}

static void json_histogram(FILE *out, const char *key, const struct histogram *h)
{
	fprintf(out, "\"%s\": {", key);
	json_number(out, "n", h->n, ", ");
	json_number(out, "mean", mean(h), ", ");
	json_number(out, "p50", histogram_quantile(h, 500), ", ");
	json_number(out, "p90", histogram_quantile(h, 900), ", ");
	json_number(out, "p95", histogram_quantile(h, 950), ", ");
	json_number(out, "p99", histogram_quantile(h, 990), ", ");
	json_number(out, "p999", histogram_quantile(h, 999), ", ");
	json_number(out, "max", h->max, "}, ");
}

static void json_row(const struct report *r, const struct result *result, u32 row_nr)
{
	const struct row *row = &result->measure->rows[row_nr];
	const struct program *p = workload_row(r->workload, row_nr);

	fprintf(r->out, "      {\"name\": ");
	json_string(r->out, p->name);
	fprintf(r->out, ", \"group\": ");
	json_string(r->out, p->attr.group ? r->workload->groups[p->attr.group].path : "/");
	fprintf(r->out, ", \"policy\": \"%s\", \"nice\": %d, \"rt_priority\": %d, ",
		sched_policy_info(p->attr.policy).name, p->attr.nice, p->attr.rt_priority);
	json_number(r->out, "slice_ns", p->attr.slice_ns, ", ");
	json_number(r->out, "tasks", row->nr_tasks, ", ");
	json_number(r->out, "ended", row->nr_ended, ", ");
	json_number(r->out, "cpu_ns", row->got_ns, ", ");
	json_number(r->out, "ideal_ns", r->workload->row_ideal_ns[row_nr], ", ");
	json_number(r->out, "runs", row->runs, ", ");
	json_number(r->out, "preempted", row->preempted, ", ");
	json_number(r->out, "wakeups", row->wakeups, ", ");
	json_number(r->out, "migrations", row->migrations, ", ");
	if (r->machine->opp)
		json_number(r->out, "energy", row->energy, ", ");
	json_histogram(r->out, "wait_ns", &row->wait);
	json_histogram(r->out, "wakeup_ns", &row->wakeup);
	fprintf(r->out, "\"lag_ns\": [%lld, %lld]}", (long long)row->lag_min,
		(long long)row->lag_max);
}

static void json_group(const struct report *r, const struct result *result, u32 i)
{
	const struct group *group = &r->workload->groups[i];
	const struct task_group_stat *stat = &result->groups[i];
	const struct task_group_fdl_stat *fdl = &result->fdl[i];

	fprintf(r->out, "      {\"path\": ");
	json_string(r->out, group->path);
	fprintf(r->out, ", ");
	json_number(r->out, "shares", group->params.shares, ", ");
	json_number(r->out, "cpu_ns", stat->usage_ns, ", ");
	if (r->machine->opp)
		json_number(r->out, "energy", energy_of_group(r, result, i), ", ");
	json_number(r->out, "ideal_ns", group->ideal_ns, ", ");
	json_number(r->out, "nr_periods", stat->nr_periods, ", ");
	json_number(r->out, "nr_throttled", stat->nr_throttled, ", ");
	json_number(r->out, "throttled_ns", stat->throttled_ns, ", ");
	json_number(r->out, "nr_bursts", stat->nr_bursts, ", ");
	json_number(r->out, "burst_ns", stat->burst_ns, ", ");
	json_number(r->out, "dynamic_shares", fdl->dynamic_shares, ", ");
	json_number(r->out, "abs_guaranteed", fdl->abs_guaranteed, ", ");
	json_number(r->out, "avg_usage", fdl->avg_usage, ", ");
	json_number(r->out, "avg_wait", fdl->avg_wait, ", ");
	json_number(r->out, "nr_dl_picks", fdl->nr_dl_picks, ", ");
	json_number(r->out, "nr_container_picks", fdl->nr_container_picks, ", ");
	json_number(r->out, "nr_misses", fdl->nr_misses, ", ");
	json_number(r->out, "lag_pushed_ns", fdl->lag_pushed_ns, ", ");
	json_number(r->out, "max_gap_ns", fdl->max_gap_ns, "}");
}

static void json_end(FILE *out, const struct ext_exit *end)
{
	fprintf(out, "\"sched_ended\": {\"kind\": %d, \"code\": %lld, \"reason\": ", (int)end->kind,
		(long long)end->code);
	json_string(out, end->reason);
	fprintf(out, ", \"message\": ");
	json_string(out, end->message);
	fprintf(out, ", ");
	json_number(out, "time_ns", end->at, "}, ");
}

static void json_result(const struct report *r, const struct result *result)
{
	fprintf(r->out, "    {\"sched\": \"%s\", ", result->sched);
	if (result->end)
		json_end(r->out, result->end);
	json_number(r->out, "switches", result->count.switches, ", ");
	json_number(r->out, "wakeups", result->count.wakeups, ", ");
	json_number(r->out, "ticks", result->count.ticks, ", ");
	json_number(r->out, "kicks", result->count.kicks, ", ");
	json_number(r->out, "shard_locks", result->count.shard_locks, ", ");
	json_number(r->out, "shard_waits", result->count.shard_waits, ", ");
	json_number(r->out, "shard_wait_ns", result->count.shard_wait_ns, ", ");
	if (r->options->caches_text)
		json_number(r->out, "cold_ns", result->count.cold_ns, ", ");
	json_number(r->out, "idle_ns", result->idle_ns, ", ");
	json_number(r->out, "overhead_ns", result->overhead_ns, ", ");
	json_number(r->out, "waste_ns", result->waste_ns, ", ");
	json_number(r->out, "waste_llc_ns", result->waste_llc_ns, ", ");
	if (r->machine->opp)
		energy_json(r, result);
	fprintf(r->out, "\"groups\": [");
	for (u32 i = 1; i < r->workload->nr_groups; i++) {
		fprintf(r->out, i > 1 ? ",\n" : "\n");
		json_group(r, result, i);
	}
	fprintf(r->out, "], \"tasks\": [\n");
	for (u32 row = 0; row < r->workload->nr_rows; row++) {
		json_row(r, result, row);
		fprintf(r->out, row + 1 < r->workload->nr_rows ? ",\n" : "\n    ]}");
	}
}

void report_provenance_json(const struct report *r, FILE *out, const char *space)
{
	fprintf(out, "\"commit\": \"" COMMIT "\",%s\"command\": ", space);
	json_string(out, r->options->command);
	fprintf(out, ",%s\"topology\": ", space);
	json_string(out, r->machine->text);
	fprintf(out, ",%s", space);
	json_number(out, "cpus", r->machine->nr_cpus, ", ");
	json_number(out, "hz", r->options->hz, ", ");
	json_number(out, "seed", r->options->seed, "");
}

void report_json(const struct report *r)
{
	const struct sim_costs *c = &r->options->costs;

	fprintf(r->out, "{\"schema\": \"fairground-schedsim/1\",\n  ");
	report_provenance_json(r, r->out, "\n  ");
	fprintf(r->out, ", ");
	json_number(r->out, "duration_ns", r->duration, ",\n  \"costs_ns\": {");
	json_number(r->out, "switch", c->switch_ns, ", ");
	json_number(r->out, "tick", c->tick_ns, ", ");
	json_number(r->out, "timer", c->timer_ns, ", ");
	json_number(r->out, "wake", c->wake_ns, ", ");
	json_number(r->out, "ipi", c->ipi_ns, ", ");
	json_number(r->out, "migration", c->migration_ns, ", ");
	json_number(r->out, "cold", c->cold_ns, ", ");
	json_number(r->out, "mem_per_kib", c->mem_ns_per_kib, "},\n");
	if (r->options->caches_text) {
		fprintf(r->out, "  \"caches\": ");
		json_string(r->out, r->options->caches_text);
		fprintf(r->out, ",\n");
	}
	fprintf(r->out, "  \"results\": [\n");
	for (u32 i = 0; i < r->nr_results; i++) {
		json_result(r, &r->results[i]);
		fprintf(r->out, i + 1 < r->nr_results ? ",\n" : "\n");
	}
	fprintf(r->out, "  ]}\n");
}

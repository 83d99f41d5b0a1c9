/* SPDX-License-Identifier: GPL-2.0-only */
/* Measuring; see measure.h. */
#include "sim/report/measure.h"
#include "sim/engine/util.h"

/* --- histograms ------------------------------------------------------------------------------- */

/*
 * There are 32 buckets for each power of two, so each is 3 % wide. A bucket keeps its sum, so equal
 * values stay exact.
 */
static u32 bucket_of(u64 value)
{
	u32 bits = value ? 64 - (u32)__builtin_clzll(value) : 0;

	if (bits <= HISTOGRAM_BITS + 1)
		return (u32)value;
	bits -= HISTOGRAM_BITS + 1;
	return (bits << HISTOGRAM_BITS) + (u32)(value >> bits);
}

static void histogram_add(struct histogram *h, u64 value)
{
	u32 b = bucket_of(value);

	h->n++;
	h->sum += value;
	h->max = max(h->max, value);
	h->bucket[b].n++;
	h->bucket[b].sum += value;
}

u64 histogram_quantile(const struct histogram *h, u32 per_mille)
{
	u64 rank = (h->n * per_mille + 999) / 1000, seen = 0;

	for (u32 b = 0; b < ARRAY_SIZE(h->bucket); b++) {
		seen += h->bucket[b].n;
		if (h->bucket[b].n && seen >= rank)
			return h->bucket[b].sum / h->bucket[b].n;
	}
	return 0;
}

/* --- what the host tells ---------------------------------------------------------------------- */

static struct measure *measure_of(struct sim_listener *listener)
{
	return container_of(listener, struct measure, listener);
}

static void note_lag(struct measure *m, struct sim_task *t)
{
	struct row *row = &m->rows[t->row];
	s64 lag = t->lag + (s64)fluid_service(m->fluid, t);

	if (t->weight == WEIGHT_RT)
		return;
	row->lag_min = min(row->lag_min, lag);
	row->lag_max = max(row->lag_max, lag);
}

static void note_runnable(struct sim_listener *listener, struct sim *sim, struct sim_task *t,
			  bool is_new)
{
	struct measure *m = measure_of(listener);
	struct row *row = &m->rows[t->row];

	row->nr_tasks += is_new;
	row->wakeups += !is_new;
	(void)sim;
	t->lag = 0;
	fluid_join(m->fluid, t);
}

/* Accounts what @cpu consumed since @t got it, or since this was called last. */
static void account_energy(struct measure *m, struct sim *sim, struct sim_task *t, unsigned cpu)
{
	u64 energy = sim->freq ? sched_freq_energy(sim->s, cpu) : 0;

	m->rows[t->row].energy += energy - t->energy_before;
	if (m->group_energy)
		m->group_energy[t->group] += energy - t->energy_before;
	t->energy_before = energy;
}

/* Accounts what @t got since it got @cpu. */
static void account_run(struct measure *m, struct sim *sim, struct sim_task *t, unsigned cpu)
{
	u64 ran = sim->now - t->running_since;

	account_energy(m, sim, t, cpu);

	t->running_since = sim->now;
	t->got_ns += ran;
	t->lag -= (s64)ran;
	m->rows[t->row].got_ns += ran;
}

static void leaves_cpu(struct measure *m, struct sim *sim, struct sim_task *t)
{
	account_run(m, sim, t, sim->this_cpu);
	note_lag(m, t);
	if (t->asleep) {
		fluid_leave(m->fluid, t);
		return;
	}
	t->runnable_since = sim->now;
	t->woken = false;
	m->rows[t->row].preempted++;
}

static void gets_cpu(struct measure *m, struct sim *sim, struct sim_task *t)
{
	struct row *row = &m->rows[t->row];
	u64 waited = sim->now - t->runnable_since;

	histogram_add(&row->wait, waited);
	if (t->woken)
		histogram_add(&row->wakeup, waited);
	note_lag(m, t);
	row->runs++;
	t->runnable_since = 0;
	t->running_since = sim->now;
	t->energy_before = sim->freq ? sched_freq_energy(sim->s, sim->this_cpu) : 0;
}

static void note_switch(struct sim_listener *listener, struct sim *sim, struct sim_task *prev,
			struct sim_task *next)
{
	struct measure *m = measure_of(listener);

	if (prev->task.pid)
		leaves_cpu(m, sim, prev);
	if (next->task.pid)
		gets_cpu(m, sim, next);
}

static void note_change(struct sim_listener *listener, struct sim *sim, struct sim_task *t,
			bool begin)
{
	struct measure *m = measure_of(listener);

	if (t->asleep)
		return;
	if (begin && sim->cpus[t->task.cpu].curr == t)
		account_energy(m, sim, t, t->task.cpu);
	if (begin) {
		t->lag += (s64)fluid_service(m->fluid, t);
		fluid_leave(m->fluid, t);
	} else {
		fluid_join(m->fluid, t);
	}
}

static void note_end(struct sim_listener *listener, struct sim *sim, struct sim_task *t)
{
	struct row *row = &measure_of(listener)->rows[t->row];

	(void)sim;
	row->migrations += t->task.fair.nr_migrations;
	row->nr_ended++;
}

void measure_finish(struct measure *m, struct sim *sim)
{
	struct sim_task *t;

	list_for_each(t, &sim->tasks, link) {
		struct row *row = &m->rows[t->row];

		row->migrations += t->task.fair.nr_migrations;
		if (t->asleep)
			continue;
		if (t->runnable_since) {
			row->wait.max = max(row->wait.max, sim->now - t->runnable_since);
			if (t->woken)
				row->wakeup.max =
					max(row->wakeup.max, sim->now - t->runnable_since);
		} else {
			account_run(m, sim, t, t->task.cpu);
		}
		note_lag(m, t);
	}
}

/* --- setting up ------------------------------------------------------------------------------- */

struct measure *measure_new(struct sim *sim, const struct workload *w)
{
	struct measure *m = allocate(1, sizeof(*m));

	m->nr_rows = w->nr_rows;
	m->rows = allocate(m->nr_rows, sizeof(*m->rows));
	m->group_energy = w->nr_groups ? allocate(w->nr_groups, sizeof(*m->group_energy)) : NULL;
	m->fluid = fluid_new(sim, w);
	m->listener = (struct sim_listener){ .runnable = note_runnable,
					     .switched = note_switch,
					     .change = note_change,
					     .ended = note_end };
	sim_listen(sim, &m->listener);
	return m;
}

void measure_free(struct measure *m)
{
	fluid_free(m->fluid);
	free(m->rows);
	free(m->group_energy);
	free(m);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explaining a decision: what the CPU did since its decision before, which tasks were queued when
 * it was asked, which one it picked, and why. Events, the dump of the queue and the records of the
 * decision are the scheduler's own.
 */
#include <string.h>

#include "sim/report/decisions.h"
#include "sim/report/explain.h"
#include "sim/engine/util.h"

#define LEAD (100 * NS_PER_MS) /* events are collected so long before the time asked for */

/* The events on, or concerning, one CPU since its last decision. */
struct story {
	char *text;
	size_t size;
	FILE *out;
	u64 since;
};

struct explanation {
	struct sim_listener listener;
	u64 at;
	s64 cpu;
	struct story *stories; /* [nr_cpus] */
	char queue[1 << 16];   /* the dump before the decision */
	bool asked;	       /* the decision was asked for, and is being made on this CPU */
	/* the picks that it consists of, one for each level of groups, as text */
	char *picks;
	size_t picks_size;
	FILE *picks_out;
	struct candidates candidates;
	struct class_tasks tasks; /* of the decision of another class that comes next */
	u8 class_rule;		  /* of the pick of another class, if that was the last */
	bool of_fair;
	bool done;
};

static double signed_ms(s64 ns)
{
	return (double)ns / 1e6;
}

static double ms(u64 ns)
{
	return signed_ms((s64)ns);
}

/* --- collecting ------------------------------------------------------------------------------- */

static void restart(struct story *story, u64 now)
{
	if (story->out)
		fclose(story->out);
	free(story->text);
	story->text = NULL;
	story->out = NULL;
	story->since = now;
}

static struct explanation *explanation_of(struct sim_listener *listener)
{
	return container_of(listener, struct explanation, listener);
}

static void add_line(struct explanation *ex, struct sim *sim, unsigned cpu,
		     const struct sched_event *event)
{
	struct story *story = &ex->stories[cpu];

	if (!story->out)
		story->out = open_memstream(&story->text, &story->size);
	fprintf(story->out, "  %14.6f  [%03u]  ", ms(sim->now - SIM_START), event->cpu);
	print_event(story->out, event);
	fputc('\n', story->out);
}

static void note_class_record(struct explanation *ex, const struct event_sched_decision_class *d)
{
	if (ex->asked && d->act == ACT_pick) {
		ex->class_rule = d->rule;
		ex->of_fair = false;
		if (d->policy == CLASS_POLICY_ext)
			class_tasks_print(ex->picks_out, d, &ex->tasks);
	}
	ex->tasks.nr = 0;
}

static void note_record(struct explanation *ex, const struct sched_event *event)
{
	const struct decision_record *d = decision_gather(&ex->candidates, event);

	if (event->type == EVENT_ID_sched_decision_task && ex->tasks.nr <= DECISION_ROWS_MAX)
		ex->tasks.row[ex->tasks.nr++] = *(const struct event_sched_decision_task *)event;
	if (event->type == EVENT_ID_sched_decision_class)
		note_class_record(ex, (const struct event_sched_decision_class *)event);
	if (!ex->asked || !d || event->type != EVENT_ID_sched_decision_pick)
		return;
	ex->of_fair = true;
	decision_print(ex->picks_out, d, &ex->candidates);
}

static void note_event(struct sim_listener *listener, struct sim *sim,
		       const struct sched_event *event)
{
	struct explanation *ex = explanation_of(listener);

	if (event->type >= EVENT_ID_sched_decision_candidate) {
		note_record(ex, event);
		return;
	}
	for (unsigned cpu = 0; cpu < sim->config.nr_cpus && !ex->done; cpu++)
		if (event_concerns(event, cpu))
			add_line(ex, sim, cpu, event);
}

/* --- why -------------------------------------------------------------------------------------- */

static void say_why(const struct explanation *ex, const struct sim_cpu *c,
		    const struct sim_task *next)
{
	const struct task *t = &next->task;

	fputs(ex->picks, stdout);
	if (next != &c->idle && ex->of_fair)
		return;
	printf("\npicked: %s-%d, because %s.\n", t->comm, t->pid,
	       next == &c->idle ? decision_rule_text(RULE_nobody)
				: class_rule_text(ex->class_rule));
}

/* --- the decision ----------------------------------------------------------------------------- */

static void say_cause(struct sim *sim, const struct sim_cpu *c, bool preempt)
{
	static const char *const causes[] = { "a tick",
					      "its program",
					      "a timer",
					      "a kick from another CPU",
					      "the end of a sleep",
					      "the controller of groups",
					      "a jump of the clocks",
					      "a reader" };
	const struct sim_task *curr = c->curr;

	printf("decision on CPU %u at %.6f ms, in consequence of %s: ", c->id,
	       ms(sim->now - SIM_START), causes[sim->cause]);
	if (curr == &c->idle)
		printf("the CPU idles\n");
	else if (preempt)
		printf("%s-%d should be preempted\n", curr->task.comm, curr->task.pid);
	else
		printf("%s-%d %s\n", curr->task.comm, curr->task.pid,
		       curr->task.state == TASK_DEAD ? "ends"
		       : curr->task.state	     ? "blocks"
						     : "yields");
}

static void note_decision(struct sim_listener *listener, struct sim *sim, struct sim_cpu *c,
			  bool preempt, struct sim_task *next)
{
	struct explanation *ex = explanation_of(listener);
	struct story *story = &ex->stories[c->id];
	const char *queue;

	if (sim->now < ex->at || (ex->cpu >= 0 && c->id != ex->cpu)) {
		if (next)
			restart(story, sim->now);
		return;
	}
	if (!next) {
		ex->asked = true;
		ex->picks_out = open_memstream(&ex->picks, &ex->picks_size);
		say_cause(sim, c, preempt);
		sched_dump_cpu(sim->s, c->id, ex->queue, sizeof(ex->queue));
		return;
	}
	printf("\nwhat happened there since %.6f ms:\n", ms(story->since - SIM_START));
	if (story->out)
		fflush(story->out);
	printf("%s", story->text ? story->text : "  nothing\n");
	queue = strchr(ex->queue, '\n');
	printf("\nthe runqueue when it was asked:\n%s", queue ? queue + 1 : ex->queue);
	fclose(ex->picks_out);
	say_why(ex, c, next);
	free(ex->picks);
	ex->done = sim->stopped = true;
}

void explain(struct sim *sim, u64 at, u64 end, s64 cpu)
{
	u64 begin = at > SIM_START + LEAD ? at - LEAD : SIM_START;
	struct explanation *ex;

	ex = allocate(1, sizeof(*ex));
	ex->at = at;
	ex->cpu = cpu;
	ex->stories = allocate(sim->config.nr_cpus, sizeof(*ex->stories));
	for (unsigned i = 0; i < sim->config.nr_cpus; i++)
		ex->stories[i].since = begin;
	sim_run(sim, begin);
	sim_trace(sim, (BIT(NR_SCHED_EVENTS) - 1) & ~AVERAGE_EVENTS);
	ex->listener = (struct sim_listener){ .event = note_event, .decision = note_decision };
	sim_listen(sim, &ex->listener);
	sim_run(sim, end);
	if (!ex->done && !sim->failure)
		printf("no decision from %.6f ms to the end\n", ms(at - SIM_START));
	for (unsigned i = 0; i < sim->config.nr_cpus; i++)
		restart(&ex->stories[i], 0);
	free(ex->stories);
	free(ex);
}

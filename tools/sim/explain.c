/*
 * Explaining a decision: what the CPU did since its decision before, who was queued when it was
 * asked, whom it picked, and why. The events are the scheduler's own, the queue is its own dump;
 * only the last sentence is worked out here, from what the tasks' public parts say.
 */
#include <string.h>

#include "explain.h"
#include "lib/math64.h"
#include "util.h"

#define LEAD (100 * NS_PER_MS) /* events are collected so long before the time asked for */

/* What happened on, or concerning, one CPU since its last decision. */
struct story {
	char *text;
	size_t size;
	FILE *out;
	u64 since;
};

struct explanation {
	u64 at;
	s64 cpu;
	struct story *stories; /* [nr_cpus] */
	char queue[1 << 16];   /* the dump before the decision */
	bool done;
};

static double ms(u64 ns)
{
	return (double)ns / 1e6;
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

static void add_line(struct sim *sim, unsigned cpu, const struct sched_event *event)
{
	struct explanation *ex = sim->listener;
	struct story *story = &ex->stories[cpu];

	if (!story->out)
		story->out = open_memstream(&story->text, &story->size);
	fprintf(story->out, "  %14.6f  [%03u]  ", ms(sim->now - SIM_START), event->cpu);
	print_event(story->out, event);
	fputc('\n', story->out);
}

static void note_event(struct sim *sim, const struct sched_event *event)
{
	const struct explanation *ex = sim->listener;

	for (unsigned cpu = 0; cpu < sim->config.nr_cpus && !ex->done; cpu++)
		if (event_concerns(event, cpu))
			add_line(sim, cpu, event);
}

/* --- why -------------------------------------------------------------------------------------- */

static bool is_fair(const struct sim_task *t)
{
	return task_is_fair_policy(t->task.policy);
}

/* The fair task with the least virtual time that waits on @cpu, other than @except. */
static const struct sim_task *leftmost(struct sim *sim, unsigned cpu, const struct sim_task *except)
{
	const struct sim_task *t, *found = NULL;

	list_for_each(t, &sim->tasks, link) {
		if (t == except || t->asleep || t->task.cpu != cpu || !is_fair(t) ||
		    t->task.on_rq != TASK_QUEUED)
			continue;
		if (!found || time_before(t->task.fair.vruntime, found->task.fair.vruntime))
			found = t;
	}
	return found;
}

static void say_why(struct sim *sim, const struct sim_cpu *c, const struct sim_task *next)
{
	const struct sim_task *other = leftmost(sim, c->id, next);
	u64 v = next->task.fair.vruntime;

	if (next == &c->idle)
		printf("nothing is runnable here.\n");
	else if (!is_fair(next))
		printf("a real-time task goes before every fair one; it is first of priority %d.\n",
		       next->task.rt_priority);
	else if (!other)
		printf("it is the only one.\n");
	else if (time_before(other->task.fair.vruntime, v))
		printf("by a rule of %s beside least virtual time (eligibility, deadline, buddy): "
		       "%s-%d "
		       "is %.6f ms of virtual time to its left.\n",
		       sched_fair_current(sim->s), other->task.comm, other->task.pid,
		       ms(v - other->task.fair.vruntime));
	else
		printf("it has the least virtual time: %s-%d is %.6f ms to its right.\n",
		       other->task.comm, other->task.pid, ms(other->task.fair.vruntime - v));
}

/* --- the decision ----------------------------------------------------------------------------- */

static void say_cause(struct sim *sim, const struct sim_cpu *c, bool preempt)
{
	static const char *const causes[] = { "a tick", "its program", "a timer",
					      "a kick from another CPU", "the end of a sleep" };
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

static void note_decision(struct sim *sim, struct sim_cpu *c, bool preempt, struct sim_task *next)
{
	struct explanation *ex = sim->listener;
	struct story *story = &ex->stories[c->id];
	const char *queue;

	if (sim->now < ex->at || (ex->cpu >= 0 && c->id != ex->cpu)) {
		if (next)
			restart(story, sim->now);
		return;
	}
	if (!next) {
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
	printf("\npicked: %s-%d, because ", next->task.comm, next->task.pid);
	say_why(sim, c, next);
	ex->done = sim->stopped = true;
}

void explain(struct sim *sim, u64 at, u64 end, s64 cpu)
{
	u64 begin = at > SIM_START + LEAD ? at - LEAD : SIM_START;
	struct explanation *ex;

	ex = sim->listener = allocate(1, sizeof(*ex));
	ex->at = at;
	ex->cpu = cpu;
	ex->stories = allocate(sim->config.nr_cpus, sizeof(*ex->stories));
	for (unsigned i = 0; i < sim->config.nr_cpus; i++)
		ex->stories[i].since = begin;
	sim_run(sim, begin);
	sched_trace_set(sim->s, BIT(NR_SCHED_EVENTS) - 1);
	sim->on_event = note_event;
	sim->on_decision = note_decision;
	sim_run(sim, end);
	if (!ex->done && !sim->failure)
		printf("no decision from %.6f ms to the end\n", ms(at - SIM_START));
	for (unsigned i = 0; i < sim->config.nr_cpus; i++)
		restart(&ex->stories[i], 0);
	free(ex->stories);
	free(ex);
}

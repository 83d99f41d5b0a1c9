/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explaining a decision: what the CPU did since its decision before, who was queued when it was
 * asked, whom it picked, and why. The events are the scheduler's own, the queue is its own dump;
 * only the last sentence is worked out here, from what the tasks' public parts say.
 */
#include <string.h>

#include "sim/report/explain.h"
#include "lib/math64.h"
#include "sim/engine/util.h"

#define LEAD (100 * NS_PER_MS) /* events are collected so long before the time asked for */

/* What happened on, or concerning, one CPU since its last decision. */
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
	struct story *stories;	      /* [nr_cpus] */
	char queue[1 << 16];	      /* the dump before the decision */
	const struct sim_task *asked; /* the task that ran when the decision was asked for */
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

static void note_event(struct sim_listener *listener, struct sim *sim,
		       const struct sched_event *event)
{
	struct explanation *ex = explanation_of(listener);

	for (unsigned cpu = 0; cpu < sim->config.nr_cpus && !ex->done; cpu++)
		if (event_concerns(event, cpu))
			add_line(ex, sim, cpu, event);
}

/* --- why -------------------------------------------------------------------------------------- */

/* The fair tasks of one CPU that could have been picked. */
struct candidates {
	const struct sim_task *task[4096];
	u32 nr;
	bool have_deadlines;
	s64 v; /* their mean vruntime by weight, from the first one's */
};

static u64 vruntime(const struct sim_task *t)
{
	return t->task.fair.vruntime;
}

static u64 weight(const struct sim_task *t)
{
	return t->task.fair.load.weight;
}

static int by_vruntime(const void *a, const void *b)
{
	u64 va = vruntime(*(const struct sim_task *const *)a);
	u64 vb = vruntime(*(const struct sim_task *const *)b);

	return va == vb ? 0 : time_before(va, vb) ? -1 : 1;
}

/* Members of one group: only their virtual times can be compared. */
static void find_candidates(struct sim *sim, unsigned cpu, u32 group, struct candidates *found)
{
	const struct sim_task *t;
	__int128 sum = 0, total = 0;

	*found = (struct candidates){ .nr = 0 };
	list_for_each(t, &sim->tasks, link) {
		if (t->task.state != TASK_RUNNING || t->task.cpu != cpu ||
		    t->task.on_rq != TASK_QUEUED || t->group != group ||
		    !task_is_fair_policy(t->task.policy) || found->nr == ARRAY_SIZE(found->task))
			continue;
		found->task[found->nr++] = t;
		found->have_deadlines |= t->task.fair.eevdf.deadline;
	}
	qsort(found->task, found->nr, sizeof(found->task[0]), by_vruntime);
	for (u32 i = 0; i < found->nr; i++) {
		sum += (__int128)weight(found->task[i]) *
		       (s64)(vruntime(found->task[i]) - vruntime(found->task[0]));
		total += weight(found->task[i]);
	}
	found->v = total ? (s64)(sum / total) : 0;
}

/* What the ideal has over what it got, in virtual time: the mean less its own. */
static s64 vlag(const struct candidates *found, const struct sim_task *t)
{
	return found->v - (s64)(vruntime(t) - vruntime(found->task[0]));
}

static void print_candidates(const struct candidates *found, const struct sim_task *next)
{
	printf("\nfair tasks after the charge, in ms of virtual time from the leftmost:\n"
	       "             task  weight    vruntime         lag%s\n",
	       found->have_deadlines ? "  eligible    deadline" : "");
	for (u32 i = 0; i < found->nr; i++) {
		const struct sim_task *t = found->task[i];
		u64 left = vruntime(found->task[0]);

		printf(" %c %9s-%-5d  %6llu %11.6f %11.6f", t == next ? '>' : ' ', t->task.comm,
		       t->task.pid, (unsigned long long)weight(t) >> 10, ms(vruntime(t) - left),
		       signed_ms(vlag(found, t)));
		if (found->have_deadlines)
			printf("  %8s %11.6f", vlag(found, t) >= 0 ? "yes" : "no",
			       signed_ms((s64)(t->task.fair.eevdf.deadline - left)));
		putchar('\n');
	}
}

/* The eligible one that is due first. */
static const struct sim_task *earliest(const struct candidates *found)
{
	const struct sim_task *best = NULL;

	for (u32 i = 0; i < found->nr; i++) {
		const struct sim_task *t = found->task[i];

		if (vlag(found, t) >= 0 && (!best || time_before(t->task.fair.eevdf.deadline,
								 best->task.fair.eevdf.deadline)))
			best = t;
	}
	return best;
}

static void say_fair_rule(const struct candidates *found, const struct sim_task *next, bool stays)
{
	const struct sim_task *first = found->have_deadlines ? earliest(found) : found->task[0];
	const char *rule = found->have_deadlines ? "of the eligible it has the earliest deadline"
						 : "it has the least virtual time";

	if (found->nr == 1)
		printf("it is the only one.\n");
	else if (next == first)
		printf("%s.\n", rule);
	else if (stays)
		printf("it goes on: its turn is not over, though %s-%d comes next.\n",
		       first->task.comm, first->task.pid);
	else
		printf("a rule of the policy puts it before %s-%d, of which one would say: %s.\n",
		       first->task.comm, first->task.pid, rule);
}

static void say_why(const struct explanation *ex, struct sim *sim, const struct sim_cpu *c,
		    const struct sim_task *next)
{
	struct candidates *found = allocate(1, sizeof(*found));

	find_candidates(sim, c->id, next->group, found);
	if (found->nr)
		print_candidates(found, next);
	printf("\npicked: %s-%d, because ", next->task.comm, next->task.pid);
	if (next->group)
		printf("of the members of its group, which is first of the groups, ");
	if (next == &c->idle)
		printf("nothing is runnable here.\n");
	else if (next->task.policy == SCHED_DEADLINE)
		printf("a deadline task goes before every other; its deadline is the earliest.\n");
	else if (!task_is_fair_policy(next->task.policy))
		printf("a real-time task goes before every fair one; it is first of priority %d.\n",
		       next->task.rt_priority);
	else
		say_fair_rule(found, next, next == ex->asked);
	free(found);
}

/* --- the decision ----------------------------------------------------------------------------- */

static void say_cause(struct sim *sim, const struct sim_cpu *c, bool preempt)
{
	static const char *const causes[] = { "a tick",
					      "its program",
					      "a timer",
					      "a kick from another CPU",
					      "the end of a sleep",
					      "the controller of groups" };
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
		ex->asked = c->curr;
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
	say_why(ex, sim, c, next);
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
	sched_trace_set(sim->s, BIT(NR_SCHED_EVENTS) - 1);
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

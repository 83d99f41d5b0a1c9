/* SPDX-License-Identifier: GPL-2.0-only */
/* A decision as text: its candidates as a table, the choice, and the rule as a sentence. */
#include <string.h>

#include "sched/ext.h"
#include "sim/engine/util.h"
#include "sim/report/decisions.h"

#define SENTENCE(number, name, sentence) [number] = (sentence),
static const char *const rules[] = { DECISION_RULES(SENTENCE) };
static const char *const class_rules[] = { CLASS_RULES(SENTENCE) };

const char *decision_rule_text(u8 rule)
{
	return rule < ARRAY_SIZE(rules) ? rules[rule] : "of an unknown rule";
}

const char *class_rule_text(u8 rule)
{
	return rule < ARRAY_SIZE(class_rules) ? class_rules[rule] : "of an unknown rule";
}

/* --- gathering -------------------------------------------------------------------------------- */

const struct decision_record *decision_gather(struct candidates *c, const struct sched_event *event)
{
	if (event->type == EVENT_ID_sched_decision_candidate) {
		if (c->complete)
			c->nr = 0;
		c->complete = false;
		memcpy(&c->row[c->nr++], event, sizeof(c->row[0]));
		return NULL;
	}
	if (event->type < EVENT_ID_sched_decision_pick ||
	    event->type > EVENT_ID_sched_decision_leave)
		return NULL;
	if (c->complete)
		c->nr = 0;
	c->complete = true;
	return (const struct decision_record *)event;
}

#define candidate event_sched_decision_candidate

/* --- numbers ---------------------------------------------------------------------------------- */

static s64 ahead(u64 a, u64 b)
{
	return (s64)(a - b);
}

static u64 leftmost(const struct candidates *c)
{
	u64 left = c->nr ? c->row[0].vruntime : 0;

	for (u32 i = 1; i < c->nr; i++)
		if (ahead(c->row[i].vruntime, left) < 0)
			left = c->row[i].vruntime;
	return left;
}

/* The mean of all vruntimes by weight, from @left, rounded down. */
static s64 mean(const struct candidates *c, u64 left)
{
	__int128 sum = 0;
	u64 weights = 0;

	for (u32 i = 0; i < c->nr; i++) {
		sum += (__int128)ahead(c->row[i].vruntime, left) * c->row[i].weight;
		weights += c->row[i].weight;
	}
	return weights ? (s64)(sum / weights) : 0;
}

static void put_ms(FILE *out, s64 ns)
{
	u64 size = ns < 0 ? 0 - (u64)ns : (u64)ns;
	char text[32];

	snprintf(text, sizeof(text), "%s%llu.%06llu", ns < 0 ? "-" : "",
		 (unsigned long long)(size / NS_PER_MS), (unsigned long long)(size % NS_PER_MS));
	fprintf(out, " %11s", text);
}

/* --- the table -------------------------------------------------------------------------------- */

#define POLICY(number, name, sentence) POLICY_##name = (number),
enum { DECISION_POLICIES(POLICY) };
#undef POLICY

/* The columns for numbers that a policy has beyond vruntime. */
struct columns {
	bool eligible, deadline, score;
};

static struct columns columns_of(const struct decision_record *d)
{
	/* Records name the policies that are built in by their places in that list. */
	const struct fair_policy *p =
		d->policy < POLICY_guest ? sched_fair_policy(d->policy) : NULL;
	bool eligible;

	if (!p)
		return (struct columns){ .score = false };
	eligible = sched_policy_has(p, TRAIT_ELIGIBLE);
	return (struct columns){
		.eligible = eligible,
		.deadline = eligible || sched_policy_has(p, TRAIT_DEADLINES),
		.score = sched_policy_has(p, TRAIT_SCORES),
	};
}

static void put_name(FILE *out, const char *comm, int pid, u32 group)
{
	if (group)
		fprintf(out, "group %u%s%s", group, *comm ? " " : "", comm);
	else
		fprintf(out, "%s-%d", comm, pid);
}

static bool is_subject(const struct decision_record *d, const struct candidate *r)
{
	return r->pid == d->pid && r->group == d->subject_group;
}

static void put_row(FILE *out, const struct decision_record *d, const struct columns *has,
		    const struct candidate *r, u64 left, s64 v)
{
	char name[40];

	if (r->group)
		snprintf(name, sizeof(name), "group %u %.9s", r->group, r->comm);
	else
		snprintf(name, sizeof(name), "%s-%-5d", r->comm, r->pid);
	fprintf(out, " %c %15s  %6u", is_subject(d, r) ? '>' : ' ', name, r->weight);
	put_ms(out, ahead(r->vruntime, left));
	put_ms(out, v - ahead(r->vruntime, left));
	if (has->eligible)
		fprintf(out, "  %8s", r->flags & DECISION_ELIGIBLE ? "yes" : "no");
	if (has->eligible)
		put_ms(out, ahead(r->deadline, left));
	else if (has->deadline && r->flags & DECISION_DUE)
		put_ms(out, (s64)r->deadline);
	else if (has->deadline)
		fprintf(out, " %11s", "-");
	if (has->score)
		fprintf(out, "  %5u", r->score);
	fprintf(out, "%s\n", r->flags & DECISION_ASLEEP ? "  asleep" : "");
}

void decision_print(FILE *out, const struct decision_record *d, const struct candidates *c)
{
	struct columns has = columns_of(d);
	u64 left = leftmost(c);
	s64 v = mean(c, left);

	fprintf(out, "\n%s, in ms of virtual time from the leftmost:\n",
		d->group ? "members of the group" : "fair tasks after the charge");
	fprintf(out, "   %15s  weight    vruntime         lag%s%s%s\n", "task",
		has.eligible ? "  eligible" : "", has.deadline ? "    deadline" : "",
		has.score ? "  score" : "");
	for (u32 i = 0; i < c->nr; i++)
		put_row(out, d, &has, &c->row[i], left, v);
	if (c->nr < d->nr_queued)
		fprintf(out, "   and %u more\n", d->nr_queued - c->nr);
	fprintf(out, "\npicked: ");
	put_name(out, d->comm, d->pid, d->subject_group);
	fprintf(out, ", because %s.\n", decision_rule_text(d->rule));
}

/* --- ext -------------------------------------------------------------------------------------- */

/* Where a task waits whose queue has the number @dsq. Numbers are those of decision.def. */
static void put_place(FILE *out, u64 dsq)
{
	if (dsq == EXT_DSQ_INVALID)
		fputs("no queue", out);
	else if (dsq == EXT_DSQ_GLOBAL)
		fputs("the global queue", out);
	else if (dsq == EXT_DSQ_LOCAL)
		fputs("the local queue", out);
	else if (dsq == ~0ull)
		fputs("its scheduler", out);
	else
		fprintf(out, "queue 0x%llx", (unsigned long long)dsq);
}

void class_tasks_print(FILE *out, const struct event_sched_decision_class *d,
		       const struct class_tasks *c)
{
	if (!c->nr)
		return;
	fprintf(out, "\ntasks of ext at the choice, in ms:\n");
	fprintf(out, "   %15s  weight       vtime  slice left  waits in\n", "task");
	for (u32 i = 0; i < c->nr; i++) {
		const struct event_sched_decision_task *r = &c->row[i];
		char name[40];

		snprintf(name, sizeof(name), "%s-%-5d", r->comm, r->pid);
		fprintf(out, " %c %15s  %6u", r->pid == d->pid ? '>' : ' ', name, r->bw);
		put_ms(out, (s64)r->deadline);
		if (r->budget < 0)
			fprintf(out, " %11s", "endless");
		else
			put_ms(out, r->budget);
		fputs("  ", out);
		if (r->flags & DECISION_RUNS)
			fputs("runs", out);
		else
			put_place(out, r->replenish_at);
		fputc('\n', out);
	}
	if (c->nr < d->nr_queued)
		fprintf(out, "   and %u more\n", d->nr_queued - c->nr);
}

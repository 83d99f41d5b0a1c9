/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Habits of a family: averages of the bursts of relatives, for a new task to begin with.
 * Each is kept where it was taken, in its process's first task, and reused for a while, so that a
 * fork storm pays for it once.
 *
 * Other tasks' bursts are read without their runqueue locks: one word each, and an average of a
 * moment ago is right enough.
 */
#include "sched/fair/bore/burst.h"

static bool counts(const struct burst_survey *survey, const struct task *t)
{
	return READ_ONCE(t->fair.policy) == survey->policy && task_is_fair(t);
}

static u64 worst_of(const struct burst_survey *survey, const struct task *t)
{
	return counts(survey, t) ? READ_ONCE(burst_entity(&t->fair)->worst) : 0;
}

/* --- averages ---------------------------------------------------------------- */

struct sample {
	u32 count;
	u64 sum; /* in units of 1 << unit_shift */
};

static void sample_task(const struct burst_survey *survey, struct sample *sample,
			const struct task *t)
{
	if (!counts(survey, t))
		return;
	sample->count++;
	sample->sum += worst_of(survey, t) >> survey->unit_shift;
}

static bool enough(const struct burst_survey *survey, const struct sample *sample)
{
	return (sample->count && sample->count >= survey->stop_count) || !survey->nr_looks;
}

static bool fresh(const struct burst_survey *survey, const struct burst_cache *cache)
{
	return cache->policy == survey->policy && cache->stamp &&
	       (s64)(survey->now - cache->stamp - survey->lifetime_ns) <= 0;
}

static void remember(const struct burst_survey *survey, struct burst_cache *cache,
		     const struct sample *sample, const struct task *owner)
{
	u64 average = sample->count ? sample->sum / sample->count << survey->unit_shift : 0;

	*cache = (struct burst_cache){
		.policy = survey->policy,
		.stamp = survey->now,
		.value = max(average, worst_of(survey, owner)),
		.count = sample->count,
	};
}

u64 burst_of_children(struct burst_survey *survey, struct task *t)
{
	struct burst_cache *cache = &burst_family(t)->children;
	struct sample sample = { 0 };
	struct task *child;

	SCHED_DEBUG_ASSERT(t->family.leader == t);
	if (fresh(survey, cache))
		return cache->value;
	list_for_each(child, &t->family.children, family.sibling) {
		if (enough(survey, &sample))
			break;
		survey->nr_looks--;
		sample_task(survey, &sample, child);
	}
	remember(survey, cache, &sample, t);
	return cache->value;
}

u64 burst_of_threads(struct burst_survey *survey, struct task *t)
{
	struct burst_cache *cache = &burst_family(t)->threads;
	struct sample sample = { 0 };
	struct task *thread;

	SCHED_DEBUG_ASSERT(t->family.leader == t);
	if (fresh(survey, cache))
		return cache->value;
	if (!t->family.ended)
		sample_task(survey, &sample, t);
	list_for_each(thread, &t->family.threads, family.thread_link) {
		if (enough(survey, &sample))
			break;
		survey->nr_looks--;
		sample_task(survey, &sample, thread);
	}
	remember(survey, cache, &sample, t);
	return cache->value;
}

/* --- descendants -------------------------------------------------------------- */

#define MAX_DEPTH 3

/* One level of the walk: the children of @of from @next on are still to be looked at. */
struct level {
	struct task *of;
	struct list *next;
	struct sample sample;
};

static struct level level_of(struct task *t)
{
	return (struct level){ .of = t, .next = t->family.children.next };
}

/* Down from @t as long as there is one child only: a shell, sudo, time(1) say nothing. */
static struct task *skip_only_children(struct burst_survey *survey, struct task *t)
{
	while (t->family.nr_children == 1 && survey->nr_looks) {
		survey->nr_looks--;
		t = list_first(&t->family.children, struct task, family.sibling);
	}
	return t;
}

static bool exhausted(const struct burst_survey *survey, const struct level *level)
{
	return level->next == &level->of->family.children || enough(survey, &level->sample);
}

/* One step of the walk: into the next child of @level, or one average of its own that is known. */
static bool descend(struct burst_survey *survey, struct level *level, bool deepest)
{
	struct task *child = list_entry(level->next, struct task, family.sibling);
	const struct burst_cache *cache;

	SCHED_DEBUG_ASSERT(survey->nr_looks);
	level->next = level->next->next;
	survey->nr_looks--;
	child = skip_only_children(survey, child);
	cache = &burst_family(child)->children;
	if (!child->family.nr_children || deepest) {
		sample_task(survey, &level->sample, child);
		return false;
	}
	if (fresh(survey, cache)) {
		level->sample.count += cache->count;
		level->sample.sum += (cache->value >> survey->unit_shift) * cache->count;
		return false;
	}
	level[1] = level_of(child);
	return true;
}

u64 burst_of_descendants(struct burst_survey *survey, struct task *t, unsigned depth)
{
	struct level levels[MAX_DEPTH], *level = levels;

	SCHED_ASSERT(depth < MAX_DEPTH);
	if (fresh(survey, &burst_family(t)->children))
		return burst_family(t)->children.value;
	*level = level_of(t);
	for (;;) {
		if (!exhausted(survey, level)) {
			level += descend(survey, level, level == levels + depth);
			continue;
		}
		remember(survey, &burst_family(level->of)->children, &level->sample, level->of);
		if (level == levels)
			return burst_family(t)->children.value;
		level[-1].sample.count += level->sample.count;
		level[-1].sample.sum += level->sample.sum;
		level--;
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of policies, and what hosts may know of each. */
#include "sched/fair/core/fair.h"
#include "lib/string.h"

static const struct fair_policy *const policies[] = {
#define POLICY(name, queue_bytes, group_bytes) &name##_policy,
#define GUEST(name, queue_bytes)
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY
};

void fair_init_policies(struct sched *s, const struct fair_policy *guest)
{
	for (unsigned i = 0; i < NR_POLICIES; i++)
		s->policy[i] = policies[i];
	s->policy[NR_POLICIES] = guest;
}

const struct fair_policy *fair_policy_find(const struct sched *s, const char *name)
{
	const struct fair_policy *policy;

	if (!name)
		return s->policy[0];
	for_each_policy(policy, s) if (!strcmp(policy->name, name)) return policy;
	return NULL;
}

const struct fair_policy *sched_fair_policy(unsigned index)
{
	return index < ARRAY_SIZE(policies) ? policies[index] : NULL;
}

const char *sched_policy_name(const struct fair_policy *policy)
{
	return policy->name;
}

bool sched_policy_complete(const struct fair_policy *p)
{
	const struct fair_hooks *h = &p->hooks;

	return p->name && p->key && p->key_columns && h->place && h->charge && h->pick &&
	       h->tick_expired && h->preempts && h->leave && h->yield && h->reweight &&
	       p->choose_hooks && p->init_queue && p->demand && p->params && p->nominate &&
	       p->nominates_woken && p->nominated && p->progress && p->weight && p->slice &&
	       p->pass && p->shares && p->turn && p->select_cpu && p->reset && p->fork &&
	       p->tuned && p->forget_group && p->numbers && p->candidates && p->queue_numbers &&
	       p->dump && p->dump_queue && p->dump_key && p->check;
}

bool sched_policy_has(const struct fair_policy *policy, enum sched_trait trait)
{
	return policy_has(policy, trait);
}

bool sched_fair_has(const struct sched *s, enum sched_trait trait)
{
	return policy_has(READ_ONCE(s->fair_policy), trait);
}

const char *sched_trait_name(unsigned index)
{
	static const char *const names[] = {
#define TRAIT(name, text) text,
#include "sched/fair/trait.def"
#undef TRAIT
	};

	return index < ARRAY_SIZE(names) ? names[index] : NULL;
}

const char *sched_fair_name(unsigned index)
{
	return index < ARRAY_SIZE(policies) ? policies[index]->name : NULL;
}

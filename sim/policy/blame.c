/* SPDX-License-Identifier: GPL-2.0-only */
/* Which hook of a policy is at an address: for a sentence about a plugin that crashed. */
#include "sched/fair/core/fair.h"
#include "sim/policy/policy.h"

struct named_hook {
	const char *name;
	uintptr_t at;
};
#define HOOK(hook)                                                                                 \
	{                                                                                          \
#hook, (uintptr_t)p->hook                                                          \
	}
#define DECISION(hook)                                                                             \
	{                                                                                          \
#hook, (uintptr_t)p->hooks.hook                                                    \
	}

const char *policy_hook_at(const struct fair_policy *p, const void *place)
{
	const struct named_hook hooks[] = {
		DECISION(place),       DECISION(charge),   DECISION(pick),   DECISION(tick_expired),
		DECISION(preempts),    DECISION(leave),	   DECISION(yield),  DECISION(reweight),
		HOOK(augment),	       HOOK(choose_hooks), HOOK(init_queue), HOOK(nominate),
		HOOK(nominates_woken), HOOK(nominated),	   HOOK(progress),   HOOK(weight),
		HOOK(slice),	       HOOK(pass),
	};
	const struct named_hook *best = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].at <= (uintptr_t)place && (!best || hooks[i].at > best->at))
			best = &hooks[i];
	return best && best->at ? best->name : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The classes by rank, from class.def. The only file that knows them all.
 */
#include "sched/class.h"
#include "sched/sched.h"

const struct sched_class *const classes[NR_CLASSES] = {
#define CLASS(name, ...) [CLASS_##name] = &name##_class,
#include "sched/class.def"
#undef CLASS
};

static const char *name_of(int policy)
{
	static const char *const names[POLICY_LIMIT] = {
#define POLICY(policy, number, name) [policy] = name,
		SCHED_POLICIES(POLICY)
#undef POLICY
	};

	return names[policy];
}

struct sched_policy_info sched_policy_info(int policy)
{
	for (unsigned rank = 0; rank < NR_CLASSES && policy >= 0 && policy < POLICY_LIMIT; rank++) {
		const struct sched_class *class = classes[rank];

		if (class->policies & BIT(policy))
			return (struct sched_policy_info){ name_of(policy), class->nice,
							   class->priority, class->deadline };
	}
	return (struct sched_policy_info){ 0 };
}

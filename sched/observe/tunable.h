/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tunables and features as the scheduler reads them; tunable.c has them by name.
 */
#pragma once

#include "lib/types.h"

struct sched;

struct tunables {
#define TUNABLE(type, field, ...) type field;
#include "sched/observe/tunable.def"
#undef TUNABLE
};

enum feature {
#define FEATURE(name, ...) FEATURE_##name,
#include "sched/observe/feature.def"
#undef FEATURE
	NR_FEATURES
};

void tunables_init(struct sched *s);
/* The number of online CPUs changed. */
void tunables_rescale(struct sched *s);

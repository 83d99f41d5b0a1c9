/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The classes by rank, from class.def. The only file that knows them all.
 */
#include "sched/class.h"

const struct sched_class *const classes[NR_CLASSES] = {
#define CLASS(name, ...) [CLASS_##name] = &name##_class,
#include "sched/class.def"
#undef CLASS
};

/* SPDX-License-Identifier: GPL-2.0-only */
/* Models of preemption. */
#pragma once

#include "lib/types.h"

/* Where kernel code gives way (preempt.c). */
struct preempt_model {
	const char *name;
	bool at_points;	 /* cond_resched() */
	bool at_sleeps;	 /* might_resched() */
	bool anywhere;	 /* wherever it is preemptible */
	bool is_patient; /* requests that are not urgent wait */
};
extern const struct preempt_model *preempt_model;

/* From now on the model is @name. Returns 0 or -EINVAL. */
int preempt_choose(const char *name);
/* The names, the chosen one in parentheses; as snprintf() into @buf. Returns the length. */
size_t preempt_print(char *buf, size_t size);
/* The boot parameter `preempt`. */
void preempt_init(void);
/* Switches while one of @requests (NEED_RESCHED_) is pending and the context allows it. */
void preempt_here(u32 requests);

/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of CFS: one CPU, and its queue. */
#pragma once

#include "host.h"

/* A machine of one CPU whose tasks all start at virtual time 0. */
static inline struct machine *flat_machine(unsigned hz)
{
	struct machine *m = machine_new(1, hz);

	set_feature(m, "NO_START_DEBIT");
	return m;
}

static inline struct fair_queue *queue(struct machine *m)
{
	return &m->s->rq[0].fair;
}

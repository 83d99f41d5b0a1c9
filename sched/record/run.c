/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions with more rows than one run has room for; see run.h. */
#include "sched/record/run.h"

u8 *run_more(struct run *r, const struct run_kind *kind)
{
	u32 nr = run_nr(r, kind);

	if (!r->next || r->nr_rows + nr >= r->max)
		return NULL;
	if (nr)
		host_trace_commit(r->next, nr, r->cpu);
	r->nr_rows += nr;
	run_reserve(r, kind, r->max - r->nr_rows);
	return r->next;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Frequencies and energy of a run; only for machines that have some (machine_desc.opp). */
#pragma once

#include "sim/report/report.h"

/* All domains are governed by @governor, "NAME" or "userspace:MHZ". Exits if it cannot be. */
void energy_govern(struct sim *sim, const struct machine_desc *machine, const char *governor);
/* The meters of each CPU at the end of a run, for free(); NULL for a machine of one speed. */
struct sched_freq_stat *energy_collect(struct sim *sim, const struct machine_desc *machine);
/* Energy of the whole machine: the table's power times ns. */
u64 energy_total(const struct report *r, const struct sched_freq_stat *stats);
/* The energy of the members of group @nr and of those below it. */
u64 energy_of_group(const struct report *r, const struct result *result, u32 nr);
void energy_text(const struct report *r, const struct result *result);
/* Members of the result's JSON object, with a comma behind. */
void energy_json(const struct report *r, const struct result *result);

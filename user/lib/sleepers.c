/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Periodic sleepers: see sleepers.h. Wakeups are planned on a fixed grid. A sleeper that is late by
 * more than a period skips the missed ones: counting them again would blame one long wait many
 * times.
 */
#include "lib/sleepers.h"

#include "lib/clock.h"

void sleep_loop(const struct sleeper *s, uint64_t start_ns, struct hist *late)
{
	uint64_t next_ns = start_ns + s->first_ns + s->period_ns, now;
	int i;

	for (i = 0; i < s->loops; i++) {
		sleep_until_ns(next_ns);
		now = now_ns();
		hist_add(late, now - next_ns);
		if (s->run_ns)
			burn_ns(s->run_ns);
		next_ns += s->period_ns;
		now = now_ns();
		if (now > next_ns)
			next_ns += (now - next_ns) / s->period_ns * s->period_ns + s->period_ns;
	}
}

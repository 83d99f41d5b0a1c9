/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers: one repeatable sequence, from the run's seed. */
#include "kernel/kernel.h"
#include "kernel/sync.h"
#include "lib/prng.h"

static struct spinlock random_lock = SPINLOCK_INIT("random");
static struct prng random_state;

void random_bytes(void *buf, size_t n)
{
	u8 *out = buf;
	u64 word = 0;

	debug_assert(!arch_in_irq());
	spin_lock(&random_lock);
	if (!random_state.state)
		prng_seed(&random_state, cmdline_get_u64("seed", 1));
	for (size_t i = 0; i < n; i++, word >>= 8) {
		if (i % 8 == 0)
			word = prng_u64(&random_state);
		out[i] = (u8)word;
	}
	spin_unlock(&random_lock);
}

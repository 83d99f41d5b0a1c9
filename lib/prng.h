/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small seedable generator (xorshift64*): never seeded from time, so that a
 * run is a function of its seed. Not for secrets.
 */
#pragma once

#include "lib/types.h"

struct prng {
	u64 state; /* never 0 */
};

static inline void prng_seed(struct prng *p, u64 seed)
{
	/* One step of splitmix64 spreads small seeds over the word. */
	seed += 0x9e3779b97f4a7c15ull;
	seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ull;
	seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebull;
	p->state = (seed ^ (seed >> 31)) | 1;
}

static inline u64 prng_u64(struct prng *p)
{
	p->state ^= p->state >> 12;
	p->state ^= p->state << 25;
	p->state ^= p->state >> 27;
	return p->state * 0x2545f4914f6cdd1dull;
}

/* 0 .. bound-1, bound > 0; the bias is below bound/2^32. */
static inline u32 prng_below(struct prng *p, u32 bound)
{
	return (u32)(((prng_u64(p) >> 32) * bound) >> 32);
}

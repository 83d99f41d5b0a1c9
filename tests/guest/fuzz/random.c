/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz: numbers. */
#include "fuzz/fuzz.h"

uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t random_below(struct random *r, uint64_t n)
{
	return n ? random_next(r) % n : 0;
}

uint64_t random_edge(struct random *r)
{
	uint64_t power = UINT64_C(1) << random_below(r, 64);

	switch (random_below(r, 6)) {
	case 0:
		return random_below(r, 10);
	case 1:
		return -random_below(r, 5);
	case 2:
		return power - 1;
	case 3:
		return power;
	case 4:
		return -power;
	default:
		return random_next(r);
	}
}

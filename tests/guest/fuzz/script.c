/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz: the bytes of a script, read and drawn. */
#include <string.h>

#include "fuzz/script.h"

#define ENTRY 8

static void read_change(struct entry *e, const uint8_t *b)
{
	if (b[4] % 8 >= 6 || e->nr_changes == MOST_CHANGES)
		return;
	e->changes[e->nr_changes++] =
		(struct change){ b[4] % 8, b[5], (uint16_t)(b[6] | b[7] << 8) };
}

void read_script(struct script *p, const uint8_t *bytes, size_t length)
{
	static const int times[] = { 1, 2, 4, 40 };
	size_t at;

	memset(p, 0, sizeof(*p));
	p->flags = length ? bytes[0] : 0;
	for (at = 1; at + ENTRY <= length && p->nr_entries < MOST_ENTRIES; at += ENTRY) {
		const uint8_t *b = bytes + at;
		struct entry *e = &p->entries[p->nr_entries];

		e->sort = b[0] % NR_SORTS;
		e->other = b[0] & OTHER_THREAD;
		e->times = times[b[0] / AGAIN % 4];
		e->fail = b[1] % 64;
		e->index = (uint16_t)(b[2] | b[3] << 8);
		memcpy(&e->accesses, b + 4, sizeof(e->accesses));
		read_change(e, b);
		p->nr_entries += e->sort != CHANGE;
	}
	/* Changes of a call that does not come are none. */
}

static void draw_entry(struct random *r, uint8_t *b)
{
	unsigned index = (unsigned)random_below(r, (uint64_t)nr_rows()), i;

	for (i = 0; i < ENTRY; i++)
		b[i] = (uint8_t)random_next(r);
	b[0] &= (uint8_t)(0xff - (NR_SORTS - 1));
	b[0] |= (uint8_t)((uint8_t[]){ 0, 0, 0, 0, 0, 0, 1, 2, 3, 3 }[random_below(r, 10)]);
	if (random_below(r, 8))
		b[1] = 0;
	if (random_below(r, 2))
		b[4] = 7;
	b[2] = (uint8_t)index;
	b[3] = (uint8_t)(index >> 8);
}

size_t draw_script(struct random *r, uint8_t *bytes)
{
	size_t nr = 1 + random_below(r, 10), i;

	bytes[0] = (uint8_t)random_below(r, 4);
	for (i = 0; i < nr; i++)
		draw_entry(r, bytes + 1 + ENTRY * i);
	return 1 + ENTRY * nr;
}

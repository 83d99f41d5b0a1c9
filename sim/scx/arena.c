/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arena of a program: pages that it asks for and gives back. All of its memory is there from
 * loading on, so that pages can be had with interrupts off. A program has at most one arena, as on
 * Linux.
 */
#include "lib/string.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define PAGE_BYTES 4096u
#define PAGES_MAX  4096u /* a larger arena is cut to this */

static struct {
	const void *map;
	u8 *memory, *pages; /* the pages lie in the memory */
	u32 nr_pages;
	struct host_lock lock;
	bool used[PAGES_MAX];
} arena;

bool scx_arena_open(const struct scx_map *d)
{
	u32 nr = min(d->max_entries, PAGES_MAX);

	if (arena.memory || !nr)
		return false;
	arena.map = d->map;
	arena.nr_pages = nr;
	arena.lock.rank = HOST_RANK_LEAF;
	arena.memory = scx_alloc_large((nr + 1ul) * PAGE_BYTES);
	arena.pages = arena.memory + -(uintptr_t)arena.memory % PAGE_BYTES;
	return arena.memory;
}

void scx_arena_close(void)
{
	scx_free_large(arena.memory);
	memset(&arena, 0, sizeof(arena));
}

/* The first of @nr free pages in a row; nr_pages: there are none. */
static u32 find_free(u32 nr)
{
	u32 row = 0;

	for (u32 i = 0; i < arena.nr_pages; i++) {
		row = arena.used[i] ? 0 : row + 1;
		if (row == nr)
			return i + 1 - nr;
	}
	return arena.nr_pages;
}

void *bpf_arena_alloc_pages(void *map, void *address, u32 nr, int node, u64 flags)
{
	u32 first;

	(void)node;
	(void)flags;
	if (map != arena.map || address || !nr)
		return NULL;
	host_lock(&arena.lock);
	first = find_free(nr);
	if (first < arena.nr_pages)
		memset(&arena.used[first], true, nr);
	host_unlock(&arena.lock);
	return first < arena.nr_pages ? arena.pages + (size_t)first * PAGE_BYTES : NULL;
}

void bpf_arena_free_pages(void *map, void *address, u32 nr)
{
	size_t first = ((uintptr_t)address - (uintptr_t)arena.pages) / PAGE_BYTES;

	if (map != arena.map || (uintptr_t)address % PAGE_BYTES || first > arena.nr_pages ||
	    nr > arena.nr_pages - first) {
		ext_report(scx_frame()->call, EXT_EXIT_ERROR, 0,
			   "pages that are not the arena's are given back");
		return;
	}
	memset(address, 0, (size_t)nr * PAGE_BYTES);
	host_lock(&arena.lock);
	memset(&arena.used[first], false, nr);
	host_unlock(&arena.lock);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls of the address space that is tried, for vma.c and the model of it (vma_model.c). */
#pragma once

#include "kernel/mm/mman.h"
#include "kernel/mm/vma.h"
#include "object.h"

/*
 * Pages by number from MAP_MIN on. mmap() chooses below PLACED, programs may choose all PAGES. The
 * last four pages keep a stack from the lowest of its eight pages.
 */
enum { PAGES = 16, PLACED = 12, STACK = 268, STACK_PAGES = 8, ALL = PAGES + STACK_PAGES };
enum { FILE_PAGES = 6, MOST_PAGES = 16, MOST_DATA = 12, MOST_STACK = 7, GUARD = 256 };

/*
 * The number of a call: its first page, how many pages (one to four), and more: of a mapping the
 * rights and what is behind it, of others see below.
 */
enum op {
	OP_MAP,
	OP_HINT,
	OP_FIXED,
	OP_NOREPLACE,
	OP_UNMAP,
	OP_PROTECT,
	OP_DONTFORK,
	OP_DOFORK,
	OP_RESIZE,
	OP_GROW,
	OP_MOVE,
	OP_AGAIN,
	OP_BRK,
	OP_READ,
	OP_WRITE,
	OP_STACK,
	OP_SHOW
};
/* The memory behind a mapping. The read-only file and the other one are two opens of one inode. */
enum behind { ANON, SHARED_ANON, PRIVATE, SHARED, PRIVATE_RO, SHARED_RO, NR_BEHIND };

static inline unsigned first_of(const struct call *call)
{
	return call->n % PAGES;
}

static inline unsigned more_of(const struct call *call)
{
	return call->n / 64;
}

/* The first page behind those of the call. */
static inline unsigned end_of(const struct call *call)
{
	return min(first_of(call) + call->n / PAGES % 4 + 1, (unsigned)PAGES);
}

static inline unsigned prot_of(const struct call *call)
{
	static const u8 prots[] = { PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE };

	return prots[more_of(call) % 3];
}

static inline enum behind behind_of(const struct call *call)
{
	return more_of(call) / 3 % NR_BEHIND;
}

/* Of a mapping in its file, in pages. */
static inline unsigned offset_of(const struct call *call)
{
	return behind_of(call) >= PRIVATE ? more_of(call) / 18 % 3 : 0;
}

/* Of a resize, a growth or a second mapping; a move has at most four pages. */
static inline unsigned new_size_of(const struct call *call)
{
	unsigned size = more_of(call) % 8 + 1;

	return call->op == OP_MOVE    ? more_of(call) / PAGES % 4 + 1
	       : call->op == OP_AGAIN ? size
				      : min(size, PAGES - first_of(call));
}

static inline unsigned target_of(const struct call *call)
{
	return min(more_of(call) % PAGES, PAGES - new_size_of(call));
}

static inline u64 va(unsigned page)
{
	return MAP_MIN + page * PAGE_SIZE;
}

enum { NO_PAGE = -100 }; /* and less: as mm_fault() */

/* -ENOMEM of what may have an effect in spite of it. */
#define HALF -1000

enum { OBJECTS = 1 + NR_FIBERS * 64, OBJECT_PAGES = 8 };

struct vma_page {
	bool used, own_copy;
	u8 prot, flags, own;
	u8 file;     /* 0: none; 1, 2: the file and its read-only self; 3: of shared memory */
	u8 offset;   /* in the file */
	u16 content; /* of the model's contents: the file's is 0 */
};

/* A mapping is a row of pages. The stack's pages come behind the others. */
struct vma_model {
	struct vma_page page[ALL];
	u8 content[OBJECTS][OBJECT_PAGES];
	u8 size[OBJECTS];
	unsigned brk;
};
DECLARE_MODEL(vma);

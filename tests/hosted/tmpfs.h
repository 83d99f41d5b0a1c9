/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls on a tmpfs that tmpfs.c makes and tmpfs_model.c answers. */
#pragma once

#include "object.h"

enum tmpfs_op {
	/* on one path, or two */
	TMPFS_CREATE,
	TMPFS_EXCLUSIVE,
	TMPFS_OPEN,
	TMPFS_EMPTY,
	TMPFS_CLOSE,
	TMPFS_STAT,
	TMPFS_LIST,
	TMPFS_MKDIR,
	TMPFS_RMDIR,
	TMPFS_UNLINK,
	TMPFS_LINK,
	TMPFS_RENAME,
	TMPFS_RENAME_NEW,
	/* on the open file */
	TMPFS_READ,
	TMPFS_WRITE,
	TMPFS_APPEND,
	TMPFS_TRUNCATE,
	TMPFS_ALLOCATE,
	TMPFS_EXTEND,
	TMPFS_MAP,
	TMPFS_SIZE,
	TMPFS_COUNT
};

enum { TMPFS_PATHS = 16, TMPFS_OFFSETS = 12, TMPFS_LENGTHS = 6, TMPFS_LONG = 24 };
#define TMPFS_MOST (1ull << 39) /* bytes of a file */

extern const char *const tmpfs_paths[];
extern const u64 tmpfs_offsets[];
extern const u32 tmpfs_lengths[];

static inline u64 tmpfs_offset(const struct call *call)
{
	return tmpfs_offsets[call->n % TMPFS_OFFSETS];
}

static inline u32 tmpfs_length(const struct call *call)
{
	return tmpfs_lengths[call->n / TMPFS_OFFSETS % TMPFS_LENGTHS];
}

/* The byte number @i of the write @id. */
static inline u8 tmpfs_byte(unsigned id, u64 i)
{
	return (u8)((id + 1) * 37 + i * 11 + i / 256);
}

/* How often the letter @name is in the name that it begins. */
static inline unsigned tmpfs_letters(char name)
{
	return name == 'b' ? TMPFS_LONG : 1;
}

#define TMPFS_BASIS 0xcbf29ce484222325ull

static inline u64 tmpfs_digest(u64 links, u64 size, u64 pages)
{
	return mix(mix(mix(TMPFS_BASIS, links), size), pages);
}

/* The model of tmpfs_model.c. */
struct tmpfs_model {
	u32 nr_written, next_cookie;
	bool alone;
	/* Out of its directory, a name is used while a file is open by it or by one below. */
	struct tmpfs_name {
		bool used, linked;
		char name;
		u8 dir, file; /* indexes of files */
		u32 cookie;
	} names[16];
	struct tmpfs_file {
		bool used, is_dir;
		u64 size;
		u64 pages; /* bits */
	} files[16];
	u8 hand[NR_FIBERS]; /* an index of names; 0: none, for that is the root's */
	/* All writes and truncations, oldest first. Bytes beyond a size are zeros from then on. */
	struct tmpfs_written {
		u8 file;
		bool zeros;
		u16 id;
		u64 from, to;
	} written[300];
};
DECLARE_MODEL(tmpfs);

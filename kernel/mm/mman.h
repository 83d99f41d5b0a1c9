/* SPDX-License-Identifier: GPL-2.0-only */
/* Linux's numbers for mmap(2) and its family. */
#pragma once

#include "kernel/arch.h"

enum mmap_prot { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4 };
STATIC_ASSERT(PROT_READ == (int)PT_READ && PROT_WRITE == (int)PT_WRITE && PROT_EXEC == (int)PT_EXEC,
	      "protections are page table rights");

enum mmap_flags {
	MAP_SHARED = 0x01,
	MAP_PRIVATE = 0x02,
	MAP_SHARED_VALIDATE = 0x03,
	MAP_TYPE = 0x0f,
	MAP_FIXED = 0x10,
	MAP_ANONYMOUS = 0x20,
	MAP_32BIT = 0x40, /* below 2 GiB */
	MAP_GROWSDOWN = 0x100,
	MAP_LOCKED = 0x2000,
	MAP_NORESERVE = 0x4000,
	MAP_POPULATE = 0x8000,
	MAP_HUGETLB = 0x40000,
	MAP_FIXED_NOREPLACE = 0x100000,
	MAP_OLD = 0x7c07f9f3, /* all that MAP_SHARED_VALIDATE knows, on files that add none */
};

enum mremap_flags { MREMAP_MAYMOVE = 1, MREMAP_FIXED = 2 };
enum msync_flags { MS_ASYNC = 1, MS_INVALIDATE = 2, MS_SYNC = 4 };
enum mlockall_flags { MCL_CURRENT = 1, MCL_FUTURE = 2, MCL_ONFAULT = 4 };

/* madvise(2): the advice with an effect here, and the ranges of numbers that Linux knows. */
enum madvise_advice {
	MADV_DONTNEED = 4, /* 0..4: the POSIX ones */
	MADV_FREE = 8,
	MADV_REMOVE = 9,
	MADV_DONTFORK = 10,
	MADV_DOFORK = 11,
	MADV_WIPEONFORK = 18,
	MADV_KEEPONFORK = 19,
	MADV_POPULATE_READ = 22,
	MADV_POPULATE_WRITE = 23,
	MADV_DONTNEED_LOCKED = 24,
	MADV_LAST = 24, /* huge pages cannot be collapsed into: 25 */
	MADV_FIRST_LINUX = 8,
};

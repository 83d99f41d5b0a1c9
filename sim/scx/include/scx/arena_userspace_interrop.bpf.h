/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of an arena that a user half asks for. */
#pragma once

#include "common.bpf.h"

struct scx_userspace_arena_alloc_pages_args {
	u32 sz;
	void *ret;
};
struct scx_userspace_arena_free_pages_args {
	void *addr;
	u32 sz;
};

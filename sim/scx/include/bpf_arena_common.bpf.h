/* SPDX-License-Identifier: GPL-2.0-only */
/* Arenas: memory of the program in pages. Its pointers are plain ones here. */
#pragma once

#include "scx/common.bpf.h"

#define PAGE_SIZE	   4096
#define div_round_up(a, b) (((a) + (b)-1) / (b))
#define __arena_global
#define cast_kern(p)	((void)(p))
#define cast_user(p)	((void)(p))
#define arena_base(map) ((void *)0)
/* Nothing is at NULL. */
#define bpf_arena_reserve_pages(map, address, nr) 0

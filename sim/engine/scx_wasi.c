/* SPDX-License-Identifier: GPL-2.0-only */
/* A WebAssembly module cannot load objects, so it has no programs written for sched_ext. */
#include "sim/engine/util.h"
#include "sim/scx/scx.h"

void scx_open(const char *spec)
{
	usage_error("--scx %s: not in WebAssembly", spec);
}

const char *scx_name(void)
{
	return NULL;
}

void scx_load(struct sim *sim)
{
	(void)sim;
}

const struct ext_ops *scx_come(struct sim *sim, const char *spec)
{
	(void)sim;
	(void)spec;
	return NULL;
}

void scx_go(bool alive)
{
	(void)alive;
}

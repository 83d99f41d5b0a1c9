/* SPDX-License-Identifier: GPL-2.0-only */
/* The command as WebAssembly has no host that loads programs for it; a run in steps has. */
#include "sim/engine/util.h"
#include "sim/scx/scx.h"

void scx_open(const char *spec)
{
	usage_error("--scx %s: as WebAssembly the page takes programs, and the command none", spec);
}

const char *scx_name(void)
{
	return NULL;
}

void scx_load(struct sim *sim)
{
	(void)sim;
}

const struct ext_exit *scx_ended(void)
{
	return NULL;
}

void scx_leave(struct sim *sim)
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

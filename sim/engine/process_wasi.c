/* SPDX-License-Identifier: GPL-2.0-only */
/* A WebAssembly module has no signals, no other objects and no pages. */
#include "sim/engine/process.h"

void process_watch(u32 ms, void (*stuck)(void))
{
	(void)ms;
	(void)stuck;
}

const void *process_load(const char *file, const char *symbol, const char **error)
{
	(void)file;
	(void)symbol;
	*error = "a WebAssembly module loads no policies; the simulator for the machine does";
	return NULL;
}

void process_use_huge_pages(void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* A WebAssembly module has no signals, no other objects and no pages. */
#include "sim/engine/process.h"

/*
 * The host's, which can catch what a function throws (web/session.mjs): it calls session_attempt(),
 * and tells how that ended; or throws.
 */
__attribute__((import_module("explore"), import_name("attempt"))) enum process_end
host_attempt(void);
__attribute__((import_module("explore"), import_name("leave"))) __noreturn void host_leave(void);

static void (*attempted)(void);

void session_attempt(void);
void session_attempt(void)
{
	attempted();
}

enum process_end process_attempt(void (*what)(void), u32 limit_s)
{
	(void)limit_s; /* whoever waits for the host may end it */
	attempted = what;
	return host_attempt();
}

void process_leave(void)
{
	host_leave();
}

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

void process_unload(const char *file)
{
	(void)file;
}

void process_make_writable(void *address, size_t bytes)
{
	(void)address;
	(void)bytes;
}

void process_use_huge_pages(void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
}

void process_catch(void (*crashed)(const char *phrase, const void *address), skip_division_fn *skip)
{
	(void)skip;
	(void)crashed;
}

const void *process_called_in(const void *object)
{
	(void)object;
	return NULL;
}

bool process_has_narrow_terminal(void)
{
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* The process is one of Linux. */
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "sim/engine/process.h"

static void (*on_stuck)(void);

static void on_alarm(int signal)
{
	(void)signal;
	on_stuck();
}

void process_watch(u32 ms, void (*stuck)(void))
{
	struct timeval period = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER | SA_RESTART };

	on_stuck = stuck;
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){ period, period }, NULL);
}

const void *process_load(const char *file, const char *symbol, const char **error)
{
	void *handle = dlopen(file, RTLD_NOW);
	const void *found = handle ? dlsym(handle, symbol) : NULL;

	*error = handle ? "it does not export that" : dlerror();
	return found;
}

void process_use_huge_pages(void *memory, size_t bytes)
{
	madvise(memory, bytes, MADV_HUGEPAGE);
}

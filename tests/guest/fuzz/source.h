/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a program that fuzz --source prints. Such programs alone include this file. */
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls/calls.h"
#include "fuzz/fuzz.h"

static inline const struct row *row_called(const char *name)
{
	int i;

	for (i = 0; strcmp(row_at(i)->name, name); i++)
		;
	return row_at(i);
}

/* The arguments of a row as the table has them. */
static inline void arguments(const char *name, long a[6])
{
	memcpy(a, row_called(name)->arg, sizeof(row_called(name)->arg));
}

static inline long call(const char *name, const long a[6])
{
	struct row row = *row_called(name);
	long result;

	memcpy(row.arg, a, sizeof(row.arg));
	if (row.flags & LATE)
		row.prepare();
	result = make_call(&row);
	if (row.flags & FORKS && result > 0)
		waitpid((pid_t)result, NULL, 0);
	return result;
}

/* The @nth allocation or copy of this thread from now on fails; 0: none does. */
static inline void fail(unsigned nth)
{
	int fd = open("/proc/thread-self/fail-nth", O_WRONLY);

	dprintf(fd, "%u", nth);
	close(fd);
}

static inline void *run_thread(void *fn)
{
	((void (*)(void))fn)();
	return NULL;
}

static inline int reproduce(const char *const *prepared, bool as_user, void (*a)(void),
			    void (*b)(void))
{
	pthread_t other;

	forgiving = true;
	add_script_rows();
	find_files(true);
	clean_up();
	make_place();
	make_pages();
	set_up();
	for (; *prepared; prepared++)
		if (row_called(*prepared)->prepare && !(row_called(*prepared)->flags & LATE))
			row_called(*prepared)->prepare();
	if (as_user &&
	    (setgroups(0, NULL) || setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000)))
		return 1;
	pthread_create(&other, NULL, run_thread, (void *)b);
	a();
	pthread_join(other, NULL);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads: see threads.h. pthread functions return their error and leave errno alone.
 */
#include "lib/threads.h"

#include <errno.h>

#include "lib/args.h"

void start_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
	errno = pthread_create(thread, attr, body, arg);
	if (errno)
		die("starting a thread");
}

void small_stack(pthread_attr_t *attr)
{
	pthread_attr_init(attr);
	pthread_attr_setstacksize(attr, 8192);
	pthread_attr_setguardsize(attr, 0);
}

int start_many_threads(pthread_t *threads, int nr, void *(*body)(void *))
{
	pthread_attr_t attr;
	int i;

	small_stack(&attr);
	for (i = 0; i < nr; i++) {
		errno = pthread_create(&threads[i], &attr, body, NULL);
		if (errno)
			break;
	}
	return i;
}

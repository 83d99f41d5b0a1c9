/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting threads.
 */
#pragma once

#include <pthread.h>

/* As pthread_create(3); ends the program on error. @attr may be NULL. */
void start_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg);

/* Attributes for thousands of threads: a stack of two pages without guard. */
void small_stack(pthread_attr_t *attr);

/*
 * Start up to @nr threads with small stacks; @body gets NULL. Returns how many there are: if fewer
 * than @nr, errno says why.
 */
int start_many_threads(pthread_t *threads, int nr, void *(*body)(void *));

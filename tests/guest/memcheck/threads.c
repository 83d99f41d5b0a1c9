/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that change their address space under each other. A CPU remembers translations; when one
 * thread takes a page or a right away, no thread on any CPU may use it afterwards.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memcheck/memcheck.h"

enum { THREADS = 4, ROUNDS = 100 };

static atomic_bool stop;
static _Atomic(char *) target; /* what the writers write to */

static void pause_briefly(void)
{
	usleep(200);
}

/* In the writer: the page is read-only or gone. Wait until it is not, then try again. */
static void on_fault(int sig)
{
	(void)sig;
	while (!atomic_load(&stop) && !atomic_load(&target))
		pause_briefly();
}

static void *write_on(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		char *p = atomic_load(&target);
		int i;

		for (i = 0; p && i < 1000; i++)
			__atomic_fetch_add((int *)p, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

static void start(pthread_t *threads, void *(*fn)(void *))
{
	int i;

	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, fn, NULL));
}

static void join(pthread_t *threads)
{
	int i;

	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
}

static void rights_taken(void)
{
	char *p = map_memory(PAGE, RW, MAP_PRIVATE);
	pthread_t threads[THREADS];
	int i;

	signal(SIGSEGV, on_fault);
	atomic_store(&target, p);
	start(threads, write_on);
	for (i = 0; i < ROUNDS; i++) {
		int value;

		pause_briefly();
		EXPECT(!mprotect(p, PAGE, PROT_READ));
		atomic_store(&target, NULL);
		value = *(volatile int *)p;
		pause_briefly();
		EXPECT(*(volatile int *)p == value);
		EXPECT(!mprotect(p, PAGE, RW));
		atomic_store(&target, p);
	}
	join(threads);
}

/* The frame that was behind the page belongs to someone else now: nobody may write to it. */
static void page_taken(void)
{
	char *p = map_memory(PAGE, RW, MAP_PRIVATE);
	pthread_t threads[THREADS];
	int i;

	atomic_store(&target, p);
	start(threads, write_on);
	for (i = 0; i < ROUNDS; i++) {
		char *other;

		pause_briefly();
		EXPECT(!madvise(p, PAGE, MADV_DONTNEED));
		other = map_memory(8 * PAGE, RW, MAP_PRIVATE | MAP_POPULATE);
		pause_briefly();
		EXPECT(is_filled(other, 0, 8 * PAGE));
		EXPECT(!munmap(other, 8 * PAGE));
	}
	join(threads);
}

/* A child's memory is a snapshot: what the parent's threads write later does not show. */
static void watch_as_child(void *p)
{
	int value = *(volatile int *)p, i;

	for (i = 0; i < 5; i++) {
		pause_briefly();
		EXPECT(*(volatile int *)p == value);
	}
}

static void fork_while_writing(void)
{
	char *p = map_memory(PAGE, RW, MAP_PRIVATE);
	pthread_t threads[THREADS];
	int i;

	atomic_store(&target, p);
	start(threads, write_on);
	for (i = 0; i < ROUNDS / 4; i++)
		await_child(spawn(watch_as_child, p));
	join(threads);
}

/* Several threads touch the same new pages at once: each page appears once, no write is lost. */
enum { STORM_PAGES = 256 };
static char *storm;
static pthread_barrier_t barrier;

static void *touch_all(void *unused)
{
	int i;

	(void)unused;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < STORM_PAGES; i++)
		__atomic_fetch_add((int *)(storm + i * PAGE), 1, __ATOMIC_RELAXED);
	return NULL;
}

static void fault_storm(void)
{
	pthread_t threads[THREADS];
	int round, i;

	EXPECT(!pthread_barrier_init(&barrier, NULL, THREADS));
	for (round = 0; round < 10; round++) {
		storm = map_memory(STORM_PAGES * PAGE, RW, MAP_PRIVATE);
		start(threads, touch_all);
		join(threads);
		for (i = 0; i < STORM_PAGES; i++)
			EXPECT(*(int *)(storm + i * PAGE) == THREADS);
		EXPECT(!munmap(storm, STORM_PAGES * PAGE));
	}
}

/* Each thread maps, fills, checks and unmaps on its own, all in one address space. */
static void *map_on(void *unused)
{
	char mark = (char)gettid(), *p;
	int i;

	(void)unused;
	for (i = 1; i <= ROUNDS; i++) {
		size_t size = (size_t)(i % 7 + 1) * PAGE;

		p = map_memory(size, RW, MAP_PRIVATE);
		EXPECT(is_filled(p, 0, size));
		memset(p, mark, size);
		EXPECT(!mprotect(p, PAGE, PROT_READ));
		if (i % 3 == 0)
			sched_yield();
		EXPECT(is_filled(p, mark, size));
		EXPECT(!munmap(p, size));
	}
	return NULL;
}

static void map_storm(void)
{
	pthread_t threads[THREADS];

	start(threads, map_on);
	join(threads);
}

const struct check thread_tests[] = {
	{ "rights-taken", rights_taken },
	{ "page-taken", page_taken },
	{ "fork-while-writing", fork_while_writing },
	{ "fault-storm", fault_storm },
	{ "map-storm", map_storm },
	{ 0 },
};

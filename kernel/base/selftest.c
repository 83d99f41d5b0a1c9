/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In-kernel tests: every SELFTEST() of the image, chosen by the pattern of selftest=, reported as
 * KTAP (docs.kernel.org/dev-tools/ktap.html). They run in a kernel thread, after everything is up.
 * A test has also failed if threads that it started are still there long after its end.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "kernel/time/time.h"
#include "lib/string.h"

extern const struct selftest selftest_start[], selftest_end[];

static unsigned count(const char *pattern)
{
	unsigned nr = 0;

	for (const struct selftest *t = selftest_start; t < selftest_end; t++)
		nr += str_glob(pattern, t->name);
	return nr;
}

/* Threads of a test may end a little later than the test. The limit allows for a busy host. */
static bool threads_have_ended(unsigned nr_before)
{
	const unsigned limit_ms = 10000;

	for (unsigned ms = 0; READ_ONCE(nr_threads_total) > nr_before; ms++) {
		if (ms == limit_ms) {
			kprintf("# %u threads, before the test %u\n", nr_threads_total, nr_before);
			return false;
		}
		sleep_until(clock_ns() + NS_PER_MS, 0);
	}
	return true;
}

unsigned selftests_run(const char *pattern)
{
	unsigned nr = 0, failed = 0;

	debug_assert(may_sleep());
	if (strcmp(pattern, "all") == 0)
		pattern = "*";
	kprintf("KTAP version 1\n");
	kprintf("1..%u\n", count(pattern));
	for (const struct selftest *t = selftest_start; t < selftest_end; t++) {
		unsigned nr_threads = READ_ONCE(nr_threads_total);

		if (!str_glob(pattern, t->name))
			continue;
		bool bad = t->fn() != 0 || !threads_have_ended(nr_threads);
		failed += bad;
		kprintf("%sok %u %s\n", bad ? "not " : "", ++nr, t->name);
	}
	kprintf("# %u passed, %u failed\n", nr - failed, failed);
	return failed;
}

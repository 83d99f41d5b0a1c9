/*
 * In-kernel tests: every SELFTEST() of the image, chosen by the pattern of selftest=, reported as
 * KTAP (docs.kernel.org/dev-tools/ktap.html). They run in a kernel thread, after everything is up.
 */
#include "kernel/kernel.h"
#include "lib/string.h"

extern const struct selftest selftest_start[], selftest_end[];

static unsigned count(const char *pattern)
{
	unsigned nr = 0;

	for (const struct selftest *t = selftest_start; t < selftest_end; t++)
		nr += str_glob(pattern, t->name);
	return nr;
}

unsigned selftests_run(const char *pattern)
{
	unsigned nr = 0, failed = 0;

	if (strcmp(pattern, "all") == 0)
		pattern = "*";
	kprintf("KTAP version 1\n");
	kprintf("1..%u\n", count(pattern));
	for (const struct selftest *t = selftest_start; t < selftest_end; t++) {
		bool bad;

		if (!str_glob(pattern, t->name))
			continue;
		bad = t->fn() != 0;
		failed += bad;
		kprintf("%sok %u %s\n", bad ? "not " : "", ++nr, t->name);
	}
	kprintf("# %u passed, %u failed\n", nr - failed, failed);
	return failed;
}

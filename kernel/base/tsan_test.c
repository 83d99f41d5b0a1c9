/* SPDX-License-Identifier: GPL-2.0-only */
/* Is the sampler of data races on? A kernel in which it is off looks like one without faults. */
#include "kernel/base/tsan.h"

#include "kernel/kernel.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"
#include "kernel/time/time.h"
#include "lib/string.h"

static u64 word;
static u32 stop;

static __noinline void write_word(void)
{
	word++;
}

static __noinline u64 read_word(void)
{
	return word;
}

static void write_words(void *unused)
{
	(void)unused;
	while (!READ_ONCE(stop)) {
		write_word();
		cond_resched();
	}
}

static bool is_in(u64 ip, const char *function)
{
	char name[96];

	symbol_name(ip, name, sizeof(name));
	return !strncmp(name, function, strlen(function)) && name[strlen(function)] == '+';
}

/* Two threads share a word and nothing that keeps them apart: the report names both places. */
SELFTEST(races_of_data_are_noticed)
{
	u64 end = clock_ns() + 20 * NS_PER_SEC;
	struct tsan_race race = {};
	bool noticed;

	if (arch_nr_cpus == 1)
		return 0;
	WRITE_ONCE(stop, 0);
	tsan_catch(&word);
	SELFTEST_CHECK(kthread_create("racer", write_words, NULL));
	while (!(noticed = tsan_caught(&race)) && clock_ns() < end) {
		__asm__ volatile("" : : "r"(read_word())); /* nobody leaves the call out */
		cond_resched();
	}
	tsan_catch(NULL);
	WRITE_ONCE(stop, 1);
	SELFTEST_CHECK(noticed);
	SELFTEST_CHECK(is_in(race.watched, "read_word") || is_in(race.met, "read_word"));
	SELFTEST_CHECK(is_in(race.watched, "write_word") || is_in(race.met, "write_word"));
	return 0;
}

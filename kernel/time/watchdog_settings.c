/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watchdogs' numbers: /proc/sys/kernel/NAME, NAME=N on the command line, and watchdog=, which
 * is "panic", a number of seconds after which a task starves, or both: "5,panic". 0 switches that
 * watchdog off.
 */
#include "kernel/kernel.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/time/watchdog.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

struct number {
	const char *file;
	u64 *value, max;
};

#define NAME(number) ((number)->file + sizeof("kernel/") - 1)

static const struct number numbers[] = {
	{ "kernel/watchdog", &watchdog.enabled, 1 },
	{ "kernel/watchdog_thresh", &watchdog.thresh_s, 60 },
	{ "kernel/softlockup_panic", &watchdog.soft_panic, 1 },
	{ "kernel/hardlockup_panic", &watchdog.hard_panic, 1 },
	{ "kernel/hung_task_timeout_secs", &watchdog.hung_task_s, 1000000 },
	{ "kernel/hung_task_panic", &watchdog.hung_task_panic, 1 },
	{ "kernel/hung_task_warnings", &watchdog.hung_task_warnings, 1000000 },
};

static size_t show_number(void *arg, char *buf, size_t size)
{
	const struct number *n = arg;

	return snprintf(buf, size, "%llu\n", (unsigned long long)*n->value);
}

static long store_number(void *arg, const char *text, size_t len)
{
	const struct number *n = arg;
	u64 value;
	int err = parse_u64(text, len, &value);

	if (err || value > n->max)
		return -EINVAL;
	WRITE_ONCE(*n->value, value);
	hung_task_restart();
	watchdog_restart();
	return (long)len;
}

/* --- the command line ------------------------------------------------------------- */

static void set_all_panic(void)
{
	watchdog.soft_panic = watchdog.hard_panic = 1;
	watchdog.hung_task_panic = watchdog.starving_panic = 1;
}

static bool take_word(const char *word, size_t len)
{
	u64 seconds;

	if (len == 5 && !memcmp(word, "panic", 5)) {
		set_all_panic();
		return true;
	}
	if (parse_u64(word, len, &seconds) || seconds > 1000000)
		return false;
	watchdog.starving_s = seconds;
	return true;
}

static void take_words(const char *text)
{
	const char *word = text;

	while (word) {
		const char *comma = strchr(word, ',');
		size_t len = comma ? (size_t)(comma - word) : strlen(word);

		if (!take_word(word, len)) {
			kprintf("watchdog=%s: expected seconds, panic, or both (5,panic)\n", text);
			return;
		}
		word = comma ? comma + 1 : NULL;
	}
}

static void take_number(const struct number *n)
{
	u64 value = cmdline_get_u64(NAME(n), *n->value);

	if (value > n->max)
		kprintf("%s=%llu: at most %llu\n", NAME(n), (unsigned long long)value,
			(unsigned long long)n->max);
	else
		*n->value = value;
}

void watchdog_init(void)
{
	const char *words = cmdline_get("watchdog");

	if (words)
		take_words(words);
	for (const struct number *n = numbers + 1; n < numbers + ARRAY_SIZE(numbers); n++)
		take_number(n);
}

static int watchdog_files_init(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct pseudo_file file = { .name = numbers[i].file,
					    .mode = 0644,
					    .show = show_number,
					    .store = store_number,
					    .arg = (void *)&numbers[i] };
		int err = proc_sys_add(&file);

		if (err)
			return err;
	}
	return 0;
}
INITCALL(watchdog_files_init);

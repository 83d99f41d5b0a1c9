/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as text. */
#include "lib/cpulist.h"

/* Read the number at *@at, and step behind it. False: there is none below @limit before @end. */
static bool read_number(const char **at, const char *end, unsigned limit, unsigned *number)
{
	const char *from = *at;

	*number = 0;
	for (; *at < end && **at >= '0' && **at <= '9' && *number < limit; ++*at)
		*number = 10 * *number + (unsigned)(**at - '0');
	return *at != from && *number < limit;
}

bool cpulist_read(const char *text, size_t len, char separator, unsigned nr_cpus,
		  struct cpumask *mask)
{
	const char *end = text + len;

	*mask = cpumask_none();
	for (;; text++) {
		unsigned first, last;

		if (!read_number(&text, end, nr_cpus, &first))
			return false;
		last = first;
		if (text < end && *text == '-' &&
		    (text++, !read_number(&text, end, nr_cpus, &last) || last < first))
			return false;
		for (unsigned cpu = first; cpu <= last; cpu++)
			cpumask_set(mask, cpu);
		if (text == end)
			return true;
		if (*text != separator)
			return false;
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as text. */
#include "lib/cpulist.h"
#include "lib/string.h"

bool cpulist_read(const char *text, size_t len, char separator, unsigned nr_cpus,
		  struct cpumask *mask)
{
	const char *end = text + len;

	*mask = cpumask_none();
	for (;; text++) {
		u64 first, last;

		if (!read_decimal(&text, end, nr_cpus - 1, &first))
			return false;
		last = first;
		if (text < end && *text == '-' &&
		    (text++, !read_decimal(&text, end, nr_cpus - 1, &last) || last < first))
			return false;
		for (unsigned cpu = first; cpu <= last; cpu++)
			cpumask_set(mask, cpu);
		if (text == end)
			return true;
		if (*text != separator)
			return false;
	}
}

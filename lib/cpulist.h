/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as text: "0-3,6". */
#pragma once

#include "lib/cpumask.h"

/*
 * Read a list of CPUs below @nr_cpus from @len bytes of @text into @mask: numbers and ranges of
 * them with @separator between. False if it is no such list, as "" is none; @mask says nothing
 * then.
 */
bool cpulist_read(const char *text, size_t len, char separator, unsigned nr_cpus,
		  struct cpumask *mask);

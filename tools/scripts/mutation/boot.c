/* SPDX-License-Identifier: GPL-2.0-only */
/* The switch of switch.h, for a kernel that boots: mutation=17 on its command line. */
#include "kernel/mutation/switch.h"
#include "kernel/arch.h"
#include "lib/string.h"

#define NAME "mutation="

/* The number on the command line, or 0. By no function that could itself be mutated. */
static unsigned find(const char *line)
{
	unsigned number = 0;

	while (*line && strncmp(line, NAME, sizeof(NAME) - 1))
		line++;
	if (!*line)
		return 0;
	for (line += sizeof(NAME) - 1; *line >= '0' && *line <= '9'; line++)
		number = 10 * number + (unsigned)(*line - '0');
	return number;
}

_Bool mutation(unsigned number)
{
	static const char *line;
	static unsigned chosen;

	if (line != boot_info.cmdline && boot_info.cmdline) {
		chosen = find(boot_info.cmdline);
		line = boot_info.cmdline;
	}
	return number == chosen;
}

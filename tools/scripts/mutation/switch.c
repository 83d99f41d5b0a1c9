/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The switch of switch.h, for a hosted program: MUTATION=17 turns number 17 on, and with
 * MUTATION_REACHED=DIRECTORY the program leaves there a file with the numbers that it came by.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sched/mutation/switch.h"

#define EXPORT __attribute__((visibility("default"))) /* to plug-ins */

EXPORT unsigned mutation_chosen;
EXPORT unsigned char mutation_reached[NR_MUTATIONS + 1];

static void __attribute__((constructor)) choose(void)
{
	const char *number = getenv("MUTATION");

	if (number)
		mutation_chosen = (unsigned)strtoul(number, NULL, 10);
}

static void __attribute__((destructor)) tell(void)
{
	const char *directory = getenv("MUTATION_REACHED");
	char path[4096];
	FILE *out;

	if (!directory)
		return;
	snprintf(path, sizeof(path), "%s/%d", directory, (int)getpid());
	out = fopen(path, "a");
	for (unsigned i = 1; out && i <= NR_MUTATIONS; i++)
		if (mutation_reached[i])
			fprintf(out, "%u\n", i);
	if (out)
		fclose(out);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The switch of switch.h, for a hosted program: MUTATION=17 turns number 17 on, and with
 * MUTATION_REACHED=DIRECTORY the program has a file there, whose byte 17 is 1 once it has come by
 * number 17. A child writes into the file of its parent, however it ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "MUTATED_ROOM/mutation/switch.h"

#define SIZE (NR_MUTATIONS + 1)

static unsigned chosen;
static unsigned char nowhere[SIZE], *reached = nowhere;

__attribute__((visibility("default"))) /* to plug-ins */
_Bool mutation(unsigned number)
{
	reached[number] = 1;
	return number == chosen;
}

static void __attribute__((constructor)) choose(void)
{
	const char *number = getenv("MUTATION"), *directory = getenv("MUTATION_REACHED");
	char path[4096];
	void *shared;
	int fd;

	if (number)
		chosen = (unsigned)strtoul(number, NULL, 10);
	if (!directory)
		return;
	snprintf(path, sizeof(path), "%s/%d", directory, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		abort();
	shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		abort();
	reached = shared;
	close(fd);
}

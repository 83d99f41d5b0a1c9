/* SPDX-License-Identifier: GPL-2.0-only */
/* Exploration leaves broken machines by setjmp and signals, which WebAssembly does not have. */
#include <stdio.h>

#include "sim/explore/explore.h"

int explore_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "schedsim: a WebAssembly module does not explore; the simulator for the "
			"machine does (make explore)\n");
	return 2;
}

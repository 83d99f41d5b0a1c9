/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that the user wants to have. Whatever goes wrong ends with a sentence that says why. */
#pragma once

#include <stdio.h>

#include "sim/engine/util.h"

/*
 * Creates the file @path, which the user named by --@option. A usage error if that cannot be done.
 * output_finish() writes the rest and closes it. If not all could be written, output_refused()
 * removes the half file; errno says why.
 */
FILE *output_create(const char *option, const char *path);
__noreturn void output_refused(const char *option, const char *path);
void output_finish(FILE *file, const char *option, const char *path);

/*
 * To be called first. When the program ends, all of the standard output is written, or a sentence
 * says that it is not and the status is EXIT_USAGE.
 */
void output_watch(void);

/* Would what is written to @a and @b go to one file? Devices may have several writers. */
bool output_is_same(const char *a, const char *b);

/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that the user wants to have: made, finished, and told apart. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/engine/output.h"

#define BUFFER_BYTES (64u << 10) /* files are long: few writes */
/* An earlier write failed, and its error is not known any more. */
#define REFUSED "a part of it was refused; is the disk full?"

/*
 * The file @path, opened. A descriptor that the caller gave is used as it is, by its name
 * /dev/fd/N: a process that may open nothing can still write to it.
 */
static FILE *open_for_writing(const char *path)
{
	int fd, end = 0;

	if (sscanf(path, "/dev/fd/%d%n", &fd, &end) == 1 && !path[end])
		return fdopen(fd, "w");
	return fopen(path, "w");
}

FILE *output_create(const char *option, const char *path)
{
	FILE *file = open_for_writing(path);

	if (!file)
		usage_error("--%s %s: cannot be written: %s", option, path, strerror(errno));
	setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
	return file;
}

__noreturn void output_refused(const char *option, const char *path)
{
	const char *why = errno ? strerror(errno) : REFUSED;
	struct stat status;

	if (!stat(path, &status) && S_ISREG(status.st_mode))
		unlink(path);
	usage_error("--%s %s: cannot be written completely: %s", option, path, why);
}

void output_finish(FILE *file, const char *option, const char *path)
{
	bool failed = ferror(file);

	errno = 0;
	if (fclose(file) || failed)
		output_refused(option, path);
}

static void finish_standard_output(void)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !failed)
		return;
	fprintf(stderr, "schedsim: the output cannot be written: %s\n",
		errno ? strerror(errno) : REFUSED);
	_exit(EXIT_USAGE);
}

void output_watch(void)
{
	int fd;

	do /* a file of the user's must not get the number of a standard one that is closed */
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	atexit(finish_standard_output);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Looks at the directory of @path; false: it is not there. */
static bool look_at_directory(const char *path, struct stat *found)
{
	char *name = strdup(path);
	bool there;

	name[last_name(path) - path] = '\0';
	there = !stat(*name ? name : ".", found);
	free(name);
	return there;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool output_is_same(const char *a, const char *b)
{
	struct stat one, two;

	if (!stat(a, &one))
		return S_ISREG(one.st_mode) && !stat(b, &two) && is_same(&one, &two);
	return !strcmp(last_name(a), last_name(b)) && look_at_directory(a, &one) &&
	       look_at_directory(b, &two) && is_same(&one, &two);
}

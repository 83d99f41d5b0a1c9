/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz: from an entry of a script to the arguments of a call. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "fuzz/script.h"

extern const char __executable_start[], end[];

const struct row *row_of(const struct entry *e)
{
	return row_at(e->index % nr_rows());
}

bool is_pointer(long value)
{
	return value >= (long)__executable_start && value < (long)end;
}

static long bad_pointer(unsigned number)
{
	switch (number % 8) {
	case 0:
		return 0;
	case 1:
		return (long)(pages + 2 * PAGE);
	case 2:
		return (long)(pages + PAGE);
	case 3:
		return (long)(pages + 2 * PAGE - (number >> 3) % 64);
	case 4:
		return (long)(0xffffffff80200000 + (number >> 3) * 64);
	case 5:
		return 0x00007ffffffff000 - (number >> 3) % 64;
	case 6:
		return (long)(0x8000000000000000 + (number >> 3));
	default:
		return (long)(pages + (number >> 3) % PAGE);
	}
}

static long handle(unsigned number)
{
	unsigned nr = LAST_OPEN - A_FILE + 2, which = number % nr;

	return which < 2 ? -(long)which : A_FILE + (long)which - 2;
}

static long edge(unsigned number)
{
	struct random r = { number };

	return (long)random_edge(&r);
}

/* Returns a copy of the argument, with another value of four or eight bytes somewhere. */
static long with_field(char *copy, long value, unsigned number)
{
	size_t at = number % 32 * 4;
	long field = edge(number >> 5);

	if (value != (long)copy) {
		size_t size = (size_t)((long)end - value);

		memset(copy, 0, FIELDS_SIZE);
		memcpy(copy, (const void *)value, size < FIELDS_SIZE ? size : FIELDS_SIZE);
	}
	memcpy(copy + at, &field, number >> 15 ? 8 : 4);
	return (long)copy;
}

static long other_argument(const struct row *row, int arg, unsigned number)
{
	int i, nr = 0;

	for (i = 0; i < nr_rows(); i++)
		nr += row_at(i)->nr == row->nr;
	nr = (int)(number % (unsigned)nr); /* that of the same call, so many rows of it on */
	for (i = 0; row_at(i)->nr != row->nr || nr--; i++)
		;
	return row_at(i)->arg[arg];
}

static long changed(struct actor *a, const struct row *row, const struct change *c, long value)
{
	switch (c->how % NR_HOW) {
	case TO_EDGE:
		return edge(c->number);
	case TO_SMALL:
		return (int16_t)c->number;
	case TO_HANDLE:
		return handle(c->number);
	case TO_POINTER:
		return bad_pointer(c->number);
	case TO_FIELD:
		if (is_pointer(value))
			return with_field(a->fields[c->arg], value, c->number);
		return value ^ 1L << c->number % 64;
	case TO_BIT:
		return value ^ 1L << c->number % 64;
	case TO_PATH:
		return (long)paths[c->number % NR_PATHS];
	case TO_RESULT:
		return a->last;
	default:
		return other_argument(row, c->arg, c->number);
	}
}

/* The first argument of these calls is a process, whose end would be that of the fuzzer. */
static const short about_process[] = { SYS_sched_setparam,    SYS_sched_setscheduler,
				       SYS_sched_setaffinity, SYS_sched_setattr,
				       SYS_prlimit64,	      SYS_setpgid,
				       SYS_migrate_pages,     SYS_rt_sigqueueinfo,
				       SYS_rt_tgsigqueueinfo };

static bool is_about_process(long nr)
{
	size_t i;

	for (i = 0; i < sizeof(about_process) / sizeof(*about_process); i++)
		if (about_process[i] == nr)
			return true;
	return false;
}

bool prepare_call(struct actor *a, const struct entry *e, struct row *call)
{
	const struct row *row = row_of(e);
	int i;

	*call = *row;
	for (i = 0; i < e->nr_changes; i++) {
		const struct change *c = &e->changes[i];

		call->arg[c->arg] = changed(a, row, c, call->arg[c->arg]);
	}
	if (is_sending(call->nr) || is_about_process(call->nr))
		call->arg[0] = getpid();
	if (call->nr == SYS_tgkill || call->nr == SYS_rt_tgsigqueueinfo)
		call->arg[1] = getpid();
	/* Priorities of others: PRIO_PROCESS alone can name this process. */
	if (call->nr == SYS_setpriority || call->nr == SYS_ioprio_set)
		call->arg[0] = call->nr == SYS_ioprio_set, call->arg[1] = 0;
	/* A file system that is mounted elsewhere would stay. */
	if (call->nr == SYS_mount)
		call->arg[1] = (long)"dir";
	if (call->nr == SYS_umount2)
		call->arg[0] = (long)"dir";
	return !is_skipped(call->nr);
}

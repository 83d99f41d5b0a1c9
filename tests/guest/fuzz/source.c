/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz: a script as a program in C. It makes the objects and calls the kernel as the script does,
 * with the changed arguments written out, and is built with the table of calls.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "fuzz/script.h"

static struct actor actor;

static void print_table_row(int i)
{
	const struct row *row = row_at(i);
	int arg;

	printf("%d\t%s\t", i, row->name);
	for (arg = 0; arg < 6; arg++)
		putchar(is_pointer(row->arg[arg])			       ? 'p'
			: row->arg[arg] >= A_FILE && row->arg[arg] < LAST_OPEN ? 'h'
									       : 'n');
	putchar('\n');
}

void print_table(void)
{
	int i;

	for (i = 0; i < nr_rows(); i++)
		print_table_row(i);
}

/* The change that decides what argument @arg is; NULL: none. */
static const struct change *last_change(const struct entry *e, int arg)
{
	int i;

	for (i = e->nr_changes - 1; i >= 0; i--)
		if (e->changes[i].arg == arg)
			return &e->changes[i];
	return NULL;
}

static bool is_copy(const struct row *call, int arg)
{
	return call->arg[arg] == (long)actor.fields[arg];
}

static void print_value(long value)
{
	int i;

	for (i = 0; i < NR_PATHS; i++)
		if (value == (long)paths[i]) {
			printf("(long)\"%s\"", paths[i]);
			return;
		}
	if (value >= (long)pages && value <= (long)(pages + 3 * PAGE))
		printf("(long)(pages + %ld)", value - (long)pages);
	else if (value == getpid())
		printf("getpid()");
	else
		printf("%#lx", value);
}

/* The row's structure with a few other words. */
static void print_copy(const struct row *row, int arg)
{
	const char *old = (const char *)row->arg[arg], *new = actor.fields[arg];
	int i;

	printf("\t\tstatic char copy%d[%d];\n\n\t\tmemcpy(copy%d, (void *)a[%d], %d);\n", arg,
	       FIELDS_SIZE, arg, arg, FIELDS_SIZE / 2);
	for (i = 0; i < FIELDS_SIZE / 2 + 8; i += 4)
		if (*(const int *)(old + i) != *(const int *)(new + i))
			printf("\t\t*(unsigned *)(copy%d + %d) = %#x;\n", arg, i,
			       *(const unsigned *)(new + i));
}

static void print_argument(const struct entry *e, const struct row *call, int arg)
{
	const struct row *row = row_of(e);
	const struct change *c = last_change(e, arg);
	bool copy = is_copy(call, arg) && is_pointer(row->arg[arg]);

	if (call->arg[arg] == row->arg[arg] && !(c && c->how % NR_HOW == TO_RESULT))
		return;
	if (copy)
		print_copy(row, arg);
	printf("\t\ta[%d] = ", arg);
	if (copy)
		printf("(long)copy%d", arg);
	else if (c && c->how % NR_HOW == TO_RESULT)
		printf("last");
	else
		print_value(call->arg[arg]);
	printf(";\n");
}

static void print_row_call(const struct entry *e)
{
	struct row call;
	int arg;

	if (!prepare_call(&actor, e, &call))
		return;
	printf("\t\tlong a[6];\n\n\t\targuments(\"%s\", a);\n", call.name);
	for (arg = 0; arg < 6; arg++)
		print_argument(e, &call, arg);
	printf("\t\tlast = call(\"%s\", a);\n", call.name);
}

static void print_entry(const struct entry *e, bool renews)
{
	printf(e->times > 1 ? "\tfor (int i = 0; i < %d; i++) {\n" : "\t{\n", e->times);
	if (e->fail)
		printf("\t\tfail(%u);\n", e->fail);
	if (e->sort == ROW_CALL)
		print_row_call(e);
	else if (e->sort == ANY_CALL)
		printf("\t\tfuzz_call(&(struct random){ %u });\n", e->index);
	else
		printf("\t\tfuzz_file(&(struct random){ %u }, &(struct random){ %u });\n", e->index,
		       e->accesses);
	if (e->fail)
		printf("\t\tfail(0);\n");
	if (renews)
		printf("\t\trenew_objects();\n");
	printf("\t}\n");
}

static void print_thread(const struct script *s, bool other)
{
	int i;

	printf("static void thread_%c(void)\n{\n\tlong last = 0;\n\n", other ? 'b' : 'a');
	for (i = 0; i < s->nr_entries; i++)
		if (s->entries[i].other == other)
			print_entry(&s->entries[i], !other && s->flags & RENEW);
	printf("\t(void)last;\n}\n\n");
}

/* The names of the rows that are used: they may have something to prepare. */
static void print_prepared(const struct script *s)
{
	int i;

	printf("static const char *const prepared[] = { ");
	for (i = 0; i < s->nr_entries; i++)
		if (s->entries[i].sort == ROW_CALL)
			printf("\"%s\", ", row_of(&s->entries[i])->name);
	printf("NULL };\n\n");
}

void print_source(const char *name)
{
	static struct script script;

	load_script(&script, name);
	make_pages();
	printf("/* Build: musl-gcc -static -pthread -Iuser -Itests/guest THIS.c \\\n"
	       " * $(ls tests/guest/calls/?*.c) tests/guest/fuzz/{calls,files,random,rows}.c "
	       "user/lib/{args,clock,sched}.c */\n#define _GNU_SOURCE\n#include "
	       "\"fuzz/source.h\"\n\n");
	print_prepared(&script);
	print_thread(&script, false);
	print_thread(&script, true);
	printf("int main(void)\n{\n\treturn reproduce(prepared, %s, thread_a, thread_b);\n}\n",
	       script.flags & AS_USER ? "true" : "false");
}

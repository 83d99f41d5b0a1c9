/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --decisions FILE: every decision of a machine, as lines of JSON, or as the records' own bytes.
 * docs/decisions.md describes both. In JSON the names of members are those of decision.def.
 */
#include <errno.h>
#include <string.h>

#include "sim/engine/output.h"
#include "sim/report/decisions.h"
#include "sim/report/trace.h"

#define BINARY_MAGIC   "FGDECIDE"
#define BINARY_VERSION 1u

/* Rows of one list. */
struct rows {
	u8 *bytes;
	u32 nr, size;
};

#define NR_LISTS_MAX 12
struct decision_file {
	struct sim_listener listener;
	FILE *out;
	const char *path;
	u64 nr, nr_events;		/* decisions; these and their rows */
	struct rows rows[NR_LISTS_MAX]; /* JSON: of the decisions that come next */
};

/* --- JSON: the members of a record ------------------------------------------------------------ */

#define NAME(number, name, sentence) [number] = #name,
static const char *name_of(const char *const *names, size_t nr, u8 number)
{
	return number < nr && names[number] ? names[number] : "?";
}

static void put_number(FILE *out, const char *name, bool is_signed, u64 value)
{
	if (is_signed)
		fprintf(out, ", \"%s\": %lld", name, (long long)value);
	else
		fprintf(out, ", \"%s\": %llu", name, (unsigned long long)value);
}

static void put_string(FILE *out, const char *name, const char *value)
{
	fprintf(out, ", \"%s\": ", name);
	json_string(out, value);
}

#define FIELD(type, name) put_number(out, #name, (type)-1 < (type)1, (u64)REC->name);
#define PID(name)	  put_number(out, #name, true, (u64)(s64)REC->name);
#define COMM(name)	  put_string(out, #name, REC->name);
#define CHOICE(name, list)                                                                         \
	put_string(out, #name,                                                                     \
		   name_of((const char *const[]){ list(NAME) },                                    \
			   ARRAY_SIZE(((const char *const[]){ list(NAME) })), REC->name));

#define EVENT(system, name, id, fields, ...)                                                       \
	static void put_##name(FILE *out, const void *record)                                      \
	{                                                                                          \
		const struct event_##name *REC = record;                                           \
                                                                                                   \
		fields                                                                             \
	}
#include "sched/observe/decision.def"
#undef EVENT

/* By number, from that of the first on. */
#define EVENT(system, name, id, ...)                                                               \
	[(id)-EVENT_ID_sched_decision_candidate] = { #name, put_##name },
static const struct {
	const char *name;
	void (*put)(FILE *out, const void *record);
} kinds[] = {
#include "sched/observe/decision.def"
};
#undef EVENT

/* --- JSON: a decision ------------------------------------------------------------------------- */

/* The rows that come before records of a kind, and the list that they are in a line. */
#define LIST(row, record, name)                                                                    \
	{                                                                                          \
		EVENT_ID_sched_decision_##row, EVENT_ID_sched_decision_##record, name              \
	}
static const struct row_list {
	u16 row, record;
	const char *name;
} lists[] = {
	LIST(candidate, pick, "candidates"),  LIST(use, select, "uses"),
	LIST(energy, select, "energies"),     LIST(cpu, select, "cpus"),
	LIST(runqueue, balance, "runqueues"), LIST(part, balance, "parts"),
	LIST(movable, balance, "tasks"),      LIST(task, class, "tasks"),
	LIST(level, class, "cpus"),
};
STATIC_ASSERT(ARRAY_SIZE(lists) <= NR_LISTS_MAX, "each list has a place");

/* The list of rows of @type; NULL: it is a record. */
static const struct row_list *list_of(u16 type)
{
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++)
		if (lists[i].row == type)
			return &lists[i];
	return NULL;
}

bool decisions_is_record(u16 type)
{
	return type >= EVENT_ID_sched_decision_candidate && !list_of(type);
}

static void keep_row(struct rows *rows, const struct sched_event *event)
{
	rows->bytes = grow(rows->bytes, rows->nr, &rows->size, event->size);
	memcpy(rows->bytes + (size_t)rows->nr++ * event->size, event, event->size);
}

static void put_fields(FILE *out, const struct sched_event *event)
{
	kinds[event->type - EVENT_ID_sched_decision_candidate].put(out, event);
}

/* Puts the rows that were kept, and forgets them. */
static void put_list(FILE *out, const char *name, struct rows *rows)
{
	const struct sched_event *row = (const struct sched_event *)rows->bytes;

	fprintf(out, ", \"%s\": [", name);
	for (u32 i = 0; i < rows->nr; i++) {
		fprintf(out, "%s{\"nr\": %u", i ? ", " : "", i);
		put_fields(out, row);
		fputc('}', out);
		row = (const struct sched_event *)((const u8 *)row + row->size);
	}
	fputc(']', out);
	rows->nr = 0;
}

/* The kinds of a fair policy's hooks have one layout, and the same lists. */
static u16 record_of(u16 type)
{
	return type <= EVENT_ID_sched_decision_leave ? EVENT_ID_sched_decision_pick : type;
}

static void put_line(struct decision_file *file, u64 time, const struct sched_event *event)
{
	const char *kind = kinds[event->type - EVENT_ID_sched_decision_candidate].name;

	fprintf(file->out, "{\"time\": %llu, \"kind\": \"%s\"", (unsigned long long)time,
		kind + strlen("sched_decision_"));
	put_fields(file->out, event);
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++)
		if (lists[i].record == record_of(event->type))
			put_list(file->out, lists[i].name, &file->rows[i]);
	fprintf(file->out, "}\n");
}

static void note_json(struct sim_listener *listener, struct sim *sim,
		      const struct sched_event *event)
{
	struct decision_file *file = container_of(listener, struct decision_file, listener);
	const struct row_list *list = list_of(event->type);

	if (event->type < EVENT_ID_sched_decision_candidate)
		return;
	if (list) {
		keep_row(&file->rows[list - lists], event);
		return;
	}
	put_line(file, sim_record_time(sim), event);
	file->nr++;
}

/* --- the records' own bytes ------------------------------------------------------------------- */

static void note_binary(struct sim_listener *listener, struct sim *sim,
			const struct sched_event *event)
{
	struct decision_file *file = container_of(listener, struct decision_file, listener);
	u64 time = sim_record_time(sim);

	if (event->type < EVENT_ID_sched_decision_candidate)
		return;
	fwrite(&time, sizeof(time), 1, file->out);
	fwrite(event, event->size, 1, file->out);
	file->nr += !list_of(event->type);
	file->nr_events++;
}

/* Before the records: what run it is, and their formats, in a text whose length is told. */
static void put_binary_head(FILE *out, const char *about)
{
	char *text, *format;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	u32 numbers[2] = { BINARY_VERSION };

	fputs(about, memory);
	for (u32 nr = EVENT_sched_decision_candidate; nr < NR_SCHED_EVENTS; nr++) {
		format = event_format_text(nr);
		fputs(format, memory);
		free(format);
	}
	fflush(memory);
	fprintf(memory, "%*s", (int)(ALIGN_UP(size, (size_t)8) - size), "");
	fclose(memory);
	numbers[1] = (u32)size;
	fwrite(BINARY_MAGIC, strlen(BINARY_MAGIC), 1, out);
	fwrite(numbers, sizeof(numbers), 1, out);
	fwrite(text, size, 1, out);
	free(text);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* How many there are: a line of JSON, or an event of no type. Without it the file is cut off. */
static void put_end(const struct decision_file *file)
{
	struct sched_event none = { .size = sizeof(none) };

	if (file->listener.event == note_json) {
		fprintf(file->out, "{\"kind\": \"end\", \"decisions\": %llu}\n",
			(unsigned long long)file->nr);
		return;
	}
	fwrite(&file->nr_events, sizeof(file->nr_events), 1, file->out);
	fwrite(&none, sizeof(none), 1, file->out);
}

/* --- the file --------------------------------------------------------------------------------- */

bool has_ending(const char *text, const char *ending)
{
	size_t len = strlen(text), size = strlen(ending);

	return len >= size && !strcmp(text + len - size, ending);
}

/* The line of JSON that says what run it is. The caller frees it. */
static char *about_run(const struct report *r, const char *sched)
{
	char *text;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	fprintf(memory, "{\"schema\": \"" DECISIONS_SCHEMA "\", \"sched\": \"%s\", ", sched);
	report_provenance_json(r, memory, " ");
	fprintf(memory, "}\n");
	fclose(memory);
	return text;
}

struct decision_file *decisions_open_as(struct sim *sim, const char *about, const char *path)
{
	struct decision_file *file = allocate(1, sizeof(*file));

	file->path = path;
	file->out = output_create("decisions", path);
	if (has_ending(path, ".bin")) {
		put_binary_head(file->out, about);
		file->listener.event = note_binary;
	} else {
		fputs(about, file->out);
		file->listener.event = note_json;
	}
	sim_listen(sim, &file->listener);
	sim_trace(sim, DECISION_EVENTS);
	return file;
}

struct decision_file *decisions_open(struct sim *sim, const struct report *r, const char *sched,
				     const char *path)
{
	char *about = about_run(r, sched);
	struct decision_file *file = decisions_open_as(sim, about, path);

	free(about);
	return file;
}

void decisions_flush(struct decision_file *file)
{
	if (fflush(file->out))
		output_refused("decisions", file->path);
}

void decisions_close(struct decision_file *file)
{
	put_end(file);
	output_finish(file->out, "decisions", file->path);
	printf("%s: %llu decisions; read it with: make decisions ARGS=%s\n", file->path,
	       (unsigned long long)file->nr, file->path);
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++)
		free(file->rows[i].bytes);
	free(file);
}

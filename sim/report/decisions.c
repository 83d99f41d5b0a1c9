/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --decisions FILE: a line of JSON for each decision. The names of its members are those of
 * decision.def; docs/decisions.md describes the file.
 */
#include <string.h>

#include "sim/engine/util.h"
#include "sim/report/decisions.h"

/* Events of one kind. */
struct rows {
	u8 *bytes;
	u32 nr, size;
};

struct decision_file {
	struct sim_listener listener;
	FILE *out;
	const char *path;
	u64 nr;
	struct candidates candidates;
	struct rows cpus;		       /* of the placement that comes next */
	struct rows runqueues, parts, movable; /* of the balancing pass */
	struct rows tasks, levels;	       /* of the decision of a class */
};

/* --- gathering -------------------------------------------------------------------------------- */

const struct decision_record *decision_gather(struct candidates *c, const struct sched_event *event)
{
	if (event->type == EVENT_ID_sched_decision_candidate) {
		if (c->complete)
			c->nr = 0;
		c->complete = false;
		memcpy(&c->row[c->nr++], event, sizeof(c->row[0]));
		return NULL;
	}
	if (event->type < EVENT_ID_sched_decision_pick ||
	    event->type > EVENT_ID_sched_decision_leave)
		return NULL;
	if (c->complete)
		c->nr = 0;
	c->complete = true;
	return (const struct decision_record *)event;
}

/* --- JSON ------------------------------------------------------------------------------------- */

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
	static __attribute__((unused)) void put_##name(FILE *out, const void *record)              \
	{                                                                                          \
		const struct event_##name *REC = record;                                           \
                                                                                                   \
		fields                                                                             \
	}
#include "sched/observe/decision.def"
#undef EVENT

#define EVENT(system, name, id, ...) [(id)-EVENT_ID_sched_decision_candidate] = #name,
static const char *const kinds[] = {
#include "sched/observe/decision.def"
};
#undef EVENT

/* A list @member with a row of @size bytes each. */
static void put_list(FILE *out, const char *member, const void *rows, u32 nr, size_t size,
		     void (*put)(FILE *out, const void *record))
{
	fprintf(out, ", \"%s\": [", member);
	for (u32 i = 0; i < nr; i++) {
		fprintf(out, "%s{\"nr\": %u", i ? ", " : "", i);
		put(out, (const u8 *)rows + i * size);
		fputc('}', out);
	}
	fputc(']', out);
}

static void put_decision(struct decision_file *file, u64 time, const struct decision_record *d)
{
	const char *kind = kinds[d->common.type - EVENT_ID_sched_decision_candidate];

	fprintf(file->out, "{\"time\": %llu, \"kind\": \"%s\"", (unsigned long long)time,
		kind + strlen("sched_decision_"));
	put_sched_decision_pick(file->out, d);
	put_list(file->out, "candidates", file->candidates.row, file->candidates.nr,
		 sizeof(file->candidates.row[0]), put_sched_decision_candidate);
	fprintf(file->out, "}\n");
	file->nr++;
}

/* --- records with rows of their own ----------------------------------------------------------- */

static void keep_row(struct rows *rows, const struct sched_event *event)
{
	rows->bytes = grow(rows->bytes, rows->nr, &rows->size, event->size);
	memcpy(rows->bytes + (size_t)rows->nr++ * event->size, event, event->size);
}

/* Puts the rows that were kept as a list @member, and forgets them. */
#define PUT_ROWS(file, member, rows, kind)                                                         \
	do {                                                                                       \
		put_list((file)->out, member, (file)->rows.bytes, (file)->rows.nr,                 \
			 sizeof(struct event_sched_decision_##kind), put_sched_decision_##kind);   \
		(file)->rows.nr = 0;                                                               \
	} while (0)

/* A placement, with the CPUs that there were. */
static void put_placement(struct decision_file *file, u64 time, const struct sched_event *event)
{
	fprintf(file->out, "{\"time\": %llu, \"kind\": \"select\"", (unsigned long long)time);
	put_sched_decision_select(file->out, event);
	PUT_ROWS(file, "cpus", cpus, cpu);
	fprintf(file->out, "}\n");
}

/* A balancing pass, with what it looked at. */
static void put_pass(struct decision_file *file, u64 time, const struct sched_event *event)
{
	fprintf(file->out, "{\"time\": %llu, \"kind\": \"balance\"", (unsigned long long)time);
	put_sched_decision_balance(file->out, event);
	PUT_ROWS(file, "runqueues", runqueues, runqueue);
	PUT_ROWS(file, "parts", parts, part);
	PUT_ROWS(file, "tasks", movable, movable);
	fprintf(file->out, "}\n");
}

/* A decision of a class above the fair one. */
static void put_class(struct decision_file *file, u64 time, const struct sched_event *event)
{
	fprintf(file->out, "{\"time\": %llu, \"kind\": \"class\"", (unsigned long long)time);
	put_sched_decision_class(file->out, event);
	PUT_ROWS(file, "tasks", tasks, task);
	PUT_ROWS(file, "cpus", levels, level);
	fprintf(file->out, "}\n");
	file->nr++;
}

/* A decision about a quota has no rows. */
static void put_quota(struct decision_file *file, u64 time, const struct sched_event *event)
{
	bool of_queue = event->type == EVENT_ID_sched_decision_quota;

	fprintf(file->out, "{\"time\": %llu, \"kind\": \"%s\"", (unsigned long long)time,
		of_queue ? "quota" : "pool");
	(of_queue ? put_sched_decision_quota : put_sched_decision_pool)(file->out, event);
	fprintf(file->out, "}\n");
	file->nr++;
}

static void note_row(struct decision_file *file, const struct sched_event *event)
{
	switch (event->type) {
	case EVENT_ID_sched_decision_cpu:
		keep_row(&file->cpus, event);
		break;
	case EVENT_ID_sched_decision_runqueue:
		keep_row(&file->runqueues, event);
		break;
	case EVENT_ID_sched_decision_part:
		keep_row(&file->parts, event);
		break;
	case EVENT_ID_sched_decision_movable:
		keep_row(&file->movable, event);
		break;
	case EVENT_ID_sched_decision_task:
		keep_row(&file->tasks, event);
		break;
	case EVENT_ID_sched_decision_level:
		keep_row(&file->levels, event);
		break;
	}
}

static void note_record(struct decision_file *file, u64 time, const struct sched_event *event)
{
	switch (event->type) {
	case EVENT_ID_sched_decision_select:
		put_placement(file, time, event);
		break;
	case EVENT_ID_sched_decision_balance:
		put_pass(file, time, event);
		break;
	case EVENT_ID_sched_decision_class:
		put_class(file, time, event);
		break;
	case EVENT_ID_sched_decision_quota:
	case EVENT_ID_sched_decision_pool:
		put_quota(file, time, event);
		break;
	}
}

/* --- the file --------------------------------------------------------------------------------- */

static void note_event(struct sim_listener *listener, struct sim *sim,
		       const struct sched_event *event)
{
	struct decision_file *file = container_of(listener, struct decision_file, listener);
	const struct decision_record *d = decision_gather(&file->candidates, event);

	if (d)
		put_decision(file, sim_record_time(sim), d);
	note_row(file, event);
	note_record(file, sim_record_time(sim), event);
}

struct decision_file *decisions_open(struct sim *sim, const struct report *r, const char *sched,
				     const char *path)
{
	struct decision_file *file = allocate(1, sizeof(*file));

	file->path = path;
	file->out = fopen(path, "w");
	if (!file->out)
		usage_error("--decisions %s: cannot be written", path);
	fprintf(file->out, "{\"schema\": \"fairground-decisions/2\", \"sched\": \"%s\", ", sched);
	report_provenance_json(r, file->out, " ");
	fprintf(file->out, "}\n");
	file->listener.event = note_event;
	sim_listen(sim, &file->listener);
	sim_trace(sim, DECISION_EVENTS);
	return file;
}

void decisions_close(struct decision_file *file)
{
	bool good = !ferror(file->out);

	if (fclose(file->out) || !good)
		usage_error("--decisions %s: cannot be written completely", file->path);
	printf("%s: %llu decisions; read it with: fairground decisions %s\n", file->path,
	       (unsigned long long)file->nr, file->path);
	free(file->cpus.bytes);
	free(file->runqueues.bytes);
	free(file->parts.bytes);
	free(file->movable.bytes);
	free(file->tasks.bytes);
	free(file->levels.bytes);
	free(file);
}

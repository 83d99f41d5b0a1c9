/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --decisions FILE: a line of JSON for each decision. The names of its members are those of
 * decision.def; docs/decisions.md describes the file.
 */
#include <string.h>

#include "sim/engine/util.h"
#include "sim/report/decisions.h"

struct decision_file {
	struct sim_listener listener;
	FILE *out;
	const char *path;
	u64 nr;
	struct candidates candidates;
	struct event_sched_decision_cpu
		cpu[DECISION_ROWS_MAX]; /* of the placement that comes next */
	u32 nr_cpus;
	/* of the decision of a class that comes next */
	struct event_sched_decision_task task[DECISION_ROWS_MAX + 1];
	struct event_sched_decision_level level[DECISION_ROWS_MAX];
	u32 nr_tasks, nr_levels;
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
	static __attribute__((unused)) void put_##name(FILE *out, const struct event_##name *REC)  \
	{                                                                                          \
		fields                                                                             \
	}
#include "sched/observe/decision.def"
#undef EVENT

#define EVENT(system, name, id, ...) [(id)-EVENT_ID_sched_decision_candidate] = #name,
static const char *const kinds[] = {
#include "sched/observe/decision.def"
};
#undef EVENT

/* A member that is an array: each of @nr rows by put_@name(). */
#define PUT_ROWS(out, member, name, row, nr)                                                       \
	do {                                                                                       \
		fprintf(out, ", \"" member "\": [");                                               \
		for (u32 i = 0; i < (nr); i++) {                                                   \
			fprintf(out, "%s{\"nr\": %u", i ? ", " : "", i);                           \
			put_##name(out, &(row)[i]);                                                \
			fputc('}', out);                                                           \
		}                                                                                  \
		fputc(']', out);                                                                   \
	} while (0)

static void put_decision(struct decision_file *file, u64 time, const struct decision_record *d)
{
	const char *kind = kinds[d->common.type - EVENT_ID_sched_decision_candidate];

	fprintf(file->out, "{\"time\": %llu, \"kind\": \"%s\"", (unsigned long long)time,
		kind + strlen("sched_decision_"));
	put_sched_decision_pick(file->out, d);
	PUT_ROWS(file->out, "candidates", sched_decision_candidate, file->candidates.row,
		 file->candidates.nr);
	fprintf(file->out, "}\n");
}

/* A placement, with the CPUs that there were. */
static void put_placement(struct decision_file *file, u64 time,
			  const struct event_sched_decision_select *d)
{
	fprintf(file->out, "{\"time\": %llu, \"kind\": \"select\"", (unsigned long long)time);
	put_sched_decision_select(file->out, d);
	PUT_ROWS(file->out, "cpus", sched_decision_cpu, file->cpu, file->nr_cpus);
	fprintf(file->out, "}\n");
	file->nr_cpus = 0;
}

/* A decision of a class above the fair one. */
static void put_class(struct decision_file *file, u64 time,
		      const struct event_sched_decision_class *d)
{
	fprintf(file->out, "{\"time\": %llu, \"kind\": \"class\"", (unsigned long long)time);
	put_sched_decision_class(file->out, d);
	PUT_ROWS(file->out, "tasks", sched_decision_task, file->task, file->nr_tasks);
	PUT_ROWS(file->out, "cpus", sched_decision_level, file->level, file->nr_levels);
	fprintf(file->out, "}\n");
	file->nr_tasks = file->nr_levels = 0;
	file->nr++;
}

/* Takes rows and records that are not of a fair policy's hooks. */
static void note_other(struct decision_file *file, u64 time, const struct sched_event *event)
{
	switch (event->type) {
	case EVENT_ID_sched_decision_cpu:
		memcpy(&file->cpu[file->nr_cpus++], event, sizeof(file->cpu[0]));
		break;
	case EVENT_ID_sched_decision_select:
		put_placement(file, time, (const struct event_sched_decision_select *)event);
		break;
	case EVENT_ID_sched_decision_task:
		memcpy(&file->task[file->nr_tasks++], event, sizeof(file->task[0]));
		break;
	case EVENT_ID_sched_decision_level:
		memcpy(&file->level[file->nr_levels++], event, sizeof(file->level[0]));
		break;
	case EVENT_ID_sched_decision_class:
		put_class(file, time, (const struct event_sched_decision_class *)event);
		break;
	}
}

/* --- the file --------------------------------------------------------------------------------- */

static void note_event(struct sim_listener *listener, struct sim *sim,
		       const struct sched_event *event)
{
	struct decision_file *file = container_of(listener, struct decision_file, listener);
	const struct decision_record *d = decision_gather(&file->candidates, event);

	if (!d) {
		note_other(file, sim_record_time(sim), event);
		return;
	}
	put_decision(file, sim_record_time(sim), d);
	file->nr++;
}

struct decision_file *decisions_open(struct sim *sim, const struct report *r, const char *sched,
				     const char *path)
{
	struct decision_file *file = allocate(1, sizeof(*file));

	file->path = path;
	file->out = fopen(path, "w");
	if (!file->out)
		usage_error("--decisions %s: cannot be written", path);
	fprintf(file->out, "{\"schema\": \"fairground-decisions/1\", \"sched\": \"%s\", ", sched);
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
	free(file);
}

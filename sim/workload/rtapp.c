/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rt-app's workload files (github.com/scheduler-tools/rt-app). Each task becomes a program.
 * Everything that rt-app and its workgen accept either has rt-app's meaning here, or an error says
 * in one line what cannot be modelled and where. This reader says more in two respects. An unknown
 * key of a task or a phase is an error, where rt-app silently goes on. Of what it leaves out or
 * mends as they do there is a note, or with --strict an error.
 *
 * Order counts: the events of a phase happen in the order of their keys. An event's kind is the
 * beginning of its key ("run0", "sleep_b"). Times are in microseconds.
 */
#include <string.h>

#include "sim/workload/rtapp.h"

/* Leaves out, or mends, what is at @at. If the user wants to know such things it is an error. */
#define MEND(f, at, ...)                                                                           \
	((f)->strict ? json_error(&(f)->json, at, __VA_ARGS__)                                     \
		     : json_note(&(f)->json, at, __VA_ARGS__))

/* Of files whose form is older. rt-app goes on with a task that has nothing to do. */
#define OLD ": rt-app before 1.0 called \"run\" so, and today's leaves it out"

/* --- names ------------------------------------------------------------------------------------ */

/* The object of this kind and name. Frees @text or keeps it. */
static u32 object_named(struct rtapp_file *f, enum object_kind kind, char *text)
{
	struct name *name;

	for (u32 i = 0; i < f->nr_names; i++) {
		if (f->names[i].kind == kind && !strcmp(f->names[i].text, text)) {
			free(text);
			return f->names[i].object;
		}
	}
	f->names = grow(f->names, f->nr_names, &f->names_size, sizeof(*name));
	name = &f->names[f->nr_names++];
	*name = (struct name){ kind, text, workload_object(f->w, text) };
	return name->object;
}

static u32 object_of(struct rtapp_file *f, enum object_kind kind, json_value key)
{
	return object_named(f, kind, json_string_of(&f->json, key));
}

/* The program of the task that the value of @key names. False: there is none. */
static bool find_task(struct rtapp_file *f, json_value key, u32 *program)
{
	char *name = json_string_of(&f->json, key);

	*program = f->first_program;
	while (*program < f->end_program && strcmp(f->w->programs[*program].name, name))
		++*program;
	free(name);
	return *program < f->end_program;
}

/* --- events ----------------------------------------------------------------------------------- */

static void add(struct rtapp_file *f, struct step step)
{
	workload_step(f->w, f->program, step);
}

static void add_time(struct rtapp_file *f, enum step_kind kind, json_value key)
{
	u64 ns = (u64)json_int_of(&f->json, key, 0, MAX_US) * NS_PER_US;

	add(f, (struct step){ .kind = kind, .a = ns, .b = ns });
}

static void add_object(struct rtapp_file *f, enum step_kind kind, enum object_kind object,
		       json_value key)
{
	add(f, (struct step){ .kind = kind, .object = object_of(f, object, key) });
}

/* The key @name, which must exist, of the object that belongs to @event. */
static json_value needed(struct rtapp_file *f, json_value event, const char *name)
{
	json_value key = rtapp_key_of(f, json_object_of(&f->json, event), name);

	if (!key)
		json_error(&f->json, event, "this event needs a \"%s\"", name);
	return key;
}

/* Reports keys of the event's object that are not in @names, a list separated by blanks. */
static void only(struct rtapp_file *f, json_value event, const char *names)
{
	json_value object = json_object_of(&f->json, event), key = 0;

	while ((key = json_next(&f->json, object, key))) {
		char *name = json_text(&f->json, key);
		const char *at = strstr(names, name);
		char after = at ? at[strlen(name)] : 'x';

		if (!at || (after && after != ' ') || (at > names && at[-1] != ' '))
			json_error(&f->json, key, "unknown key \"%s\"", name);
		free(name);
	}
}

static void add_wait(struct rtapp_file *f, json_value key)
{
	only(f, key, "ref mutex");
	add(f, (struct step){ .kind = STEP_WAIT,
			      .object = object_of(f, CONDITION, needed(f, key, "ref")),
			      .other = object_of(f, MUTEX, needed(f, key, "mutex")) });
}

static void add_sync(struct rtapp_file *f, json_value key)
{
	add_object(f, STEP_SIGNAL, CONDITION, needed(f, key, "ref"));
	add_wait(f, key);
}

static u64 timer_mode(struct rtapp_file *f, json_value key)
{
	json_value at = rtapp_key_of(f, json_object_of(&f->json, key), "mode");

	if (!at || json_equals(&f->json, json_member(at), "relative"))
		return 0;
	if (!json_equals(&f->json, json_member(at), "absolute"))
		json_error(&f->json, at, "\"mode\" must be \"relative\" or \"absolute\"");
	return TIMER_ABSOLUTE;
}

/* A timer whose name begins with "unique" exists once for each instance; others are shared. */
static void add_timer(struct rtapp_file *f, json_value key)
{
	json_value ref = needed(f, key, "ref"), period = needed(f, key, "period");
	struct step step = { .kind = STEP_TIMER, .b = timer_mode(f, key) };
	char *name = json_string_of(&f->json, ref);

	only(f, key, "ref period mode");
	step.a = (u64)json_int_of(&f->json, period, 1, MAX_US) * NS_PER_US;
	if (strncmp(name, "unique", 6)) {
		step.object = object_named(f, TIMER, name);
	} else {
		if (f->own_timer && strcmp(f->own_timer, name))
			json_error(&f->json, ref,
				   "a second timer of its own; a task has at most one here");
		free(f->own_timer);
		f->own_timer = name;
		step.b |= TIMER_OWN;
	}
	add(f, step);
}

static void add_barrier(struct rtapp_file *f, json_value key)
{
	u32 object = object_of(f, BARRIER, key);

	f->w->objects[object].start += f->w->programs[f->program].instances;
	add(f, (struct step){ .kind = STEP_BARRIER, .object = object });
}

static void add_bytes(struct rtapp_file *f, json_value key)
{
	u64 bytes = (u64)json_int_of(&f->json, key, 0, 1ll << 40);
	u64 ns = bytes * f->mem_ns_per_kib / 1024;

	add(f, (struct step){ .kind = STEP_RUN, .a = ns, .b = ns });
}

static void add_suspend(struct rtapp_file *f, json_value key)
{
	char *own = strdup(f->w->programs[f->program].name);

	if (json_is_bare(&f->json, key))
		MEND(f, key, "\"suspend\" has no value; it suspends its own task");
	else
		free(json_string_of(&f->json, key));
	add(f, (struct step){ .kind = STEP_WAIT,
			      .object = object_named(f, SUSPENSION, own),
			      .other = NO_OBJECT });
}

static void add_resume(struct rtapp_file *f, json_value key)
{
	char *name;
	u32 program;

	if (!find_task(f, key, &program)) {
		MEND(f, key, "there is no such task: \"resume\" does nothing");
		return;
	}
	name = strdup(f->w->programs[program].name);
	add(f,
	    (struct step){ .kind = STEP_BROADCAST, .object = object_named(f, SUSPENSION, name) });
}

static void add_fork(struct rtapp_file *f, json_value key)
{
	u32 program;

	if (!find_task(f, key, &program))
		json_error(&f->json, key, "there is no such task to fork");
	add(f, (struct step){ .kind = STEP_FORK, .a = program });
}

static void add_event(struct rtapp_file *f, json_value key)
{
	const struct json *json = &f->json;

	/* This is rt-app's order: "runtime" is not "run". */
	if (json_starts(json, key, "lock"))
		add_object(f, STEP_LOCK, MUTEX, key);
	else if (json_starts(json, key, "unlock"))
		add_object(f, STEP_UNLOCK, MUTEX, key);
	else if (json_starts(json, key, "wait"))
		add_wait(f, key);
	else if (json_starts(json, key, "signal"))
		add_object(f, STEP_SIGNAL, CONDITION, key);
	else if (json_starts(json, key, "broad"))
		add_object(f, STEP_BROADCAST, CONDITION, key);
	else if (json_starts(json, key, "sync"))
		add_sync(f, key);
	else if (json_starts(json, key, "sleep"))
		add_time(f, STEP_SLEEP, key);
	else if (json_starts(json, key, "runtime"))
		add_time(f, STEP_RUNTIME, key);
	else if (json_starts(json, key, "run"))
		add_time(f, STEP_RUN, key);
	else if (json_starts(json, key, "timer"))
		add_timer(f, key);
	else if (json_starts(json, key, "suspend"))
		add_suspend(f, key);
	else if (json_starts(json, key, "resume"))
		add_resume(f, key);
	else if (json_starts(json, key, "sem_post"))
		add_object(f, STEP_POST, SEMAPHORE, key);
	else if (json_starts(json, key, "sem_wait"))
		add_object(f, STEP_TAKE, SEMAPHORE, key);
	else if (json_starts(json, key, "barrier"))
		add_barrier(f, key);
	else if (json_starts(json, key, "memrun"))
		json_error(json, key, "\"memrun\" is not modelled: there are no caches");
	else if (json_starts(json, key, "mem") || json_starts(json, key, "iorun"))
		add_bytes(f, key);
	else if (json_starts(json, key, "yield"))
		add(f, (struct step){ .kind = STEP_YIELD });
	else if (json_starts(json, key, "fork"))
		add_fork(f, key);
	else
		json_error(json, key, "unknown key \"%s\"%s", json_text(json, key),
			   json_equals(json, key, "exec") ? OLD : "");
}

/* --- tasks ------------------------------------------------------------------------------------ */

static u64 loops_of(struct rtapp_file *f, json_value object, s64 usual)
{
	json_value key = rtapp_key_of(f, object, "loop");
	s64 loops = key ? json_int_of(&f->json, key, -1, INT32_MAX) : usual;

	if (!loops)
		json_error(&f->json, key, "\"loop\" must be -1 (for ever) or at least 1");
	return loops < 0 ? LOOP_FOREVER : (u64)loops;
}

/* Does @object have the key before @key, too? */
static bool is_repeated(const struct rtapp_file *f, json_value object, json_value key)
{
	char *name = json_text(&f->json, key);
	bool repeated = json_find(&f->json, object, name) != json_member(key);

	free(name);
	return repeated;
}

/* Of two equal keys, rt-app's parser would keep one and forget the other. */
static void check_unique(struct rtapp_file *f, json_value object)
{
	json_value key = 0;

	while ((key = json_next(&f->json, object, key))) {
		const char *name;

		if (!is_repeated(f, object, key))
			continue;
		name = json_text(&f->json, key);
		json_error(&f->json, key, "the key \"%s\" is here twice: give it a suffix, as %s1",
			   name, name);
	}
}

/*
 * The same of events and of what has a name: each happens, in its place, as if it had been given a
 * suffix. This is what rt-app's workgen does. Of the properties of a task or phase only the first
 * would count.
 */
static void note_repeated(struct rtapp_file *f, json_value object, bool is_task)
{
	json_value key = 0;

	while ((key = json_next(&f->json, object, key))) {
		char *name;

		if (!is_repeated(f, object, key))
			continue;
		name = json_text(&f->json, key);
		if (rtapp_is_property(f, key, is_task))
			json_error(&f->json, key, "the key \"%s\" is here twice", name);
		MEND(f, key, "the key \"%s\" is here twice; both count", name);
		free(name);
	}
}

static void add_phase(struct rtapp_file *f, json_value phase, s64 usual_loops, bool is_task)
{
	json_value key = 0;

	add(f, (struct step){ .kind = STEP_LOOP, .a = loops_of(f, phase, usual_loops) });
	while ((key = json_next(&f->json, phase, key)))
		if (!rtapp_is_property(f, key, is_task))
			add_event(f, key);
	add(f, (struct step){ .kind = STEP_END });
}

static void add_phases(struct rtapp_file *f, json_value task, json_value phases_key)
{
	json_value phases = json_object_of(&f->json, phases_key), key = 0;

	while ((key = json_next(&f->json, task, key)))
		if (!rtapp_is_property(f, key, true))
			json_error(&f->json, key,
				   "unknown key \"%s\" (events belong into the phases)",
				   json_text(&f->json, key));
	note_repeated(f, phases, false);
	add(f, (struct step){ .kind = STEP_LOOP, .a = loops_of(f, task, -1) });
	while ((key = json_next(&f->json, phases, key))) {
		json_value phase = json_object_of(&f->json, key);
		struct attributes change = f->attr;

		note_repeated(f, phase, false);
		change.set_policy = change.set_affinity = change.set_group = false;
		change.clamps = 0;
		rtapp_take_properties(f, phase, &change);
		if (change.set_policy || change.set_affinity || change.set_group || change.clamps)
			add(f,
			    (struct step){ .kind = STEP_ATTR, .a = workload_attr(f->w, &change) });
		f->attr = change;
		add_phase(f, phase, 1, false);
	}
	add(f, (struct step){ .kind = STEP_END });
}

static void add_task(struct rtapp_file *f, json_value key, u32 program)
{
	json_value task = json_object_of(&f->json, key);
	json_value phases = rtapp_key_of(f, task, "phases"), delay = rtapp_key_of(f, task, "delay");
	struct attributes *attr = &f->w->programs[program].attr;

	f->program = program;
	note_repeated(f, task, true);
	attr->set_policy = true;
	attr->policy = f->default_policy;
	attr->rt_priority = sched_policy_info(attr->policy).priority ? 10 : 0;
	rtapp_take_properties(f, task, attr);
	f->attr = *attr;
	if (delay)
		add_time(f, STEP_DELAY, delay);
	if (phases)
		add_phases(f, task, phases);
	else
		add_phase(f, task, -1, true);
	free(f->own_timer);
	f->own_timer = NULL;
}

static bool is_taken(const struct rtapp_file *f, const char *name)
{
	for (u32 i = f->first_program; i < f->w->nr_programs; i++)
		if (!strcmp(f->w->programs[i].name, name))
			return true;
	return false;
}

/* The name of the task @key. If another has it, it gets a number, as by workgen. */
static char *name_of_task(struct rtapp_file *f, json_value key)
{
	char *name = json_text(&f->json, key), *other;
	size_t room = strlen(name) + sizeof("4294967295");
	u32 number = 0;

	if (!is_taken(f, name))
		return name;
	other = allocate(room, 1);
	do
		snprintf(other, room, "%s%u", name, ++number);
	while (is_taken(f, other));
	MEND(f, key, "a second task \"%s\"; it is called %s", name, other);
	free(name);
	return other;
}

static void add_tasks(struct rtapp_file *f)
{
	json_value tasks = rtapp_key_of(f, JSON_TOP, "tasks"), key = 0;
	u32 program = f->first_program = f->w->nr_programs;

	if (!tasks)
		json_error(&f->json, JSON_TOP, "there is no key \"tasks\"");
	tasks = json_object_of(&f->json, tasks);
	while ((key = json_next(&f->json, tasks, key))) {
		json_value task = json_object_of(&f->json, key);
		json_value instance = rtapp_key_of(f, task, "instance");
		char *name = name_of_task(f, key);
		u32 number = workload_program(f->w, name);

		f->w->programs[number].numbered = true;
		if (instance)
			f->w->programs[number].instances =
				(u32)json_int_of(&f->json, instance, 0, SIM_MAX_TASKS);
		free(name);
	}
	f->end_program = f->w->nr_programs;
	while ((key = json_next(&f->json, tasks, key)))
		add_task(f, key, program++);
}

/* --- global ----------------------------------------------------------------------------------- */

/* rt-app looks at no key that it does not know outside of tasks; older ones had more. */
static void leave_out(struct rtapp_file *f, json_value key)
{
	char *name = json_text(&f->json, key);

	MEND(f, key, "unknown key \"%s\" is left out", name);
	free(name);
}

/* Only the types are checked of settings of rt-app's own logs. */
static void take_global(struct rtapp_file *f, json_value key)
{
	static const char *const strings[] = { "logdir", "log_basename", "io_device" };
	static const char *const bools[] = { "pi_enabled", "lock_pages", "gnuplot",
					     "cumulative_slack" };
	const struct json *json = &f->json;
	json_value value = json_member(key);

	for (u32 i = 0; i < ARRAY_SIZE(strings); i++)
		if (json_equals(json, key, strings[i])) {
			free(json_string_of(json, key));
			return;
		}
	for (u32 i = 0; i < ARRAY_SIZE(bools); i++)
		if (json_equals(json, key, bools[i])) {
			json_bool_of(json, key);
			return;
		}
	if (json_equals(json, key, "duration"))
		f->w->duration = (u64)max(json_int_of(json, key, -1, 86400), (s64)0) * NS_PER_SEC;
	else if (json_equals(json, key, "default_policy"))
		f->default_policy = rtapp_policy_named(f, key);
	else if (json_equals(json, key, "mem_buffer_size"))
		json_int_of(json, key, 0, INT32_MAX);
	else if (json_equals(json, key, "calibration") || json_equals(json, key, "log_size"))
		json_is_string(json, value) ? (void)0 : (void)json_int_of(json, key, 0, INT32_MAX);
	else if (json_equals(json, key, "ftrace"))
		json_is_string(json, value) ? (void)0 : (void)json_bool_of(json, key);
	else
		leave_out(f, key);
}

/* This object is our extension; rt-app ignores it. */
static void take_groups(struct rtapp_file *f, json_value groups)
{
	json_value key = 0;

	check_unique(f, groups);
	while ((key = json_next(&f->json, groups, key)))
		check_unique(f, json_object_of(&f->json, key));
	json_groups(&f->json, groups, f->w);
}

char *rtapp_platform(const char *path)
{
	struct json json = json_load(path, "suspend");
	json_value key = 0;
	char *platform = NULL;

	while ((key = json_next(&json, JSON_TOP, key)))
		if (json_equals(&json, key, "platform"))
			platform = json_string_of(&json, key);
	json_free(&json);
	return platform;
}

void rtapp_add(struct workload *w, const char *path, unsigned nr_cpus, u64 mem_ns_per_kib,
	       bool strict)
{
	struct rtapp_file f = { .json = json_load(path, strict ? NULL : "suspend"),
				.strict = strict,
				.w = w,
				.nr_cpus = nr_cpus,
				.mem_ns_per_kib = mem_ns_per_kib };
	json_value key = 0, global = 0, groups = 0;

	check_unique(&f, JSON_TOP);
	while ((key = json_next(&f.json, JSON_TOP, key))) {
		if (json_equals(&f.json, key, "global"))
			global = json_object_of(&f.json, key);
		else if (json_equals(&f.json, key, "taskgroups"))
			groups = json_object_of(&f.json, key);
		else if (json_equals(&f.json, key, "platform"))
			free(json_string_of(&f.json, key));
		else if (!json_equals(&f.json, key, "tasks") &&
			 !json_equals(&f.json, key, "resources"))
			leave_out(&f, key);
	}
	if (global) {
		check_unique(&f, global);
		while ((key = json_next(&f.json, global, key)))
			take_global(&f, key);
	}
	if (groups)
		take_groups(&f, groups);
	add_tasks(&f);
	for (u32 i = 0; i < f.nr_names; i++)
		free(f.names[i].text);
	free(f.names);
	json_free(&f.json);
}

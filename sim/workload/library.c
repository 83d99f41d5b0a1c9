/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The built-in workloads, "NAME:key=value,...". Each consists of a few programs. Times may be
 * ranges ("1ms-5ms"), which are evenly distributed. `schedsim --help` lists them from the table
 * below.
 */
#include <string.h>

#include "lib/cpulist.h"
#include "sim/workload/group.h"
#include "sim/engine/util.h"

#define MAX_PARAMS 16

/* The keys that the user gave, and those used so far. */
struct params {
	const char *name;
	char *key[MAX_PARAMS], *value[MAX_PARAMS];
	bool used[MAX_PARAMS];
	u32 nr;
	unsigned nr_cpus;
};

/* --- parameters ------------------------------------------------------------------------------- */

static const char *param(struct params *p, const char *key)
{
	for (u32 i = 0; i < p->nr; i++) {
		if (strcmp(p->key[i], key))
			continue;
		p->used[i] = true;
		return p->value[i];
	}
	return NULL;
}

static u32 param_number(struct params *p, const char *key, u32 least, u32 most, u32 usual)
{
	const char *text = param(p, key);
	u64 value = usual;

	if (text && (!parse_number(text, most, &value) || value < least))
		usage_error("workload %s: %s=%s is not a number from %u to %u", p->name, key, text,
			    least, most);
	return (u32)value;
}

/* A step of @kind that takes the time given by @key, or @usual ns. */
static struct step param_time(struct params *p, enum step_kind kind, const char *key, u64 usual)
{
	struct step step = { .kind = kind, .a = usual, .b = usual };
	const char *text = param(p, key);
	char *copy, *dash;
	bool good;

	if (!text)
		return step;
	copy = strdup(text);
	dash = strchr(copy, '-');
	if (dash)
		*dash = '\0';
	good = parse_time_in_unit(copy, &step.a) &&
	       parse_time_in_unit(dash ? dash + 1 : copy, &step.b);
	free(copy);
	if (!good || step.b < step.a)
		usage_error("workload %s: %s=%s is not a time, as 5ms, or a range, as 1ms-5ms",
			    p->name, key, text);
	return step;
}

/* "normal, fifo, ...", the names of all policies. */
static void list_policies(char *buf, size_t size)
{
	buf[0] = '\0';
	for (int policy = 0; policy < POLICY_LIMIT; policy++) {
		const char *name = sched_policy_info(policy).name;

		if (name)
			snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? ", " : "",
				 name);
	}
}

static int param_policy(struct params *p, int usual)
{
	const char *text = param(p, "policy"), *name;
	char names[256];

	if (!text)
		return usual;
	for (int policy = 0; policy < POLICY_LIMIT; policy++)
		if ((name = sched_policy_info(policy).name) && !strcmp(name, text))
			return policy;
	list_policies(names, sizeof(names));
	usage_error("workload %s: policy=%s is none of %s", p->name, text, names);
}

static int param_nice(struct params *p)
{
	const char *text = param(p, "nice");
	bool negative = text && *text == '-';
	u64 value = 0;

	if (text && !parse_number(text + negative, negative ? 20 : 19, &value))
		usage_error("workload %s: nice=%s is not from -20 to 19", p->name, text);
	return negative ? -(int)value : (int)value;
}

/* The group at @path, with or without the first slash. Errors name @key. */
static u32 group_at(struct workload *w, struct params *p, const char *key, const char *path)
{
	size_t size = strlen(path) + 2;
	char *full = allocate(size, 1);
	u32 number;

	snprintf(full, size, "%s%s", *path == '/' ? "" : "/", path);
	if (!workload_group(w, full, &number))
		usage_error("workload %s: %s=%s is not a path of groups, as a or a/b", p->name, key,
			    path);
	free(full);
	return number;
}

/* Takes the settings of group @number that the user gave. */
static void take_settings(struct workload *w, struct params *p, u32 number)
{
	struct group *group = &w->groups[number];
	const char *key, *mistake;

	for (u32 i = 0; (key = group_setting(i)); i++) {
		const char *text = param(p, key);

		if (text && !group_set(group, i, text))
			usage_error("workload %s: %s=%s is not a value for it", p->name, key, text);
	}
	mistake = group_mistake(group);
	if (mistake)
		usage_error("workload %s: %s: %s", p->name, group->path, mistake);
}

/* Takes the keys of tasks with deadlines. Defaults: the period, and half of the deadline to run. */
static void take_deadline(struct params *p, struct attributes *attr)
{
	attr->period_ns = param_time(p, STEP_SLEEP, "period", 10 * NS_PER_MS).a;
	attr->deadline_ns = param_time(p, STEP_SLEEP, "deadline", attr->period_ns).a;
	attr->runtime_ns = param_time(p, STEP_SLEEP, "runtime", attr->deadline_ns / 2).a;
}

/* Takes the keys that every workload knows, for the tasks of @program. */
static void take_attributes(struct workload *w, struct params *p, struct program *program,
			    int usual_policy)
{
	const char *group = param(p, "group");
	struct attributes *attr = &program->attr;
	const char *cpus = param(p, "cpus"), *slice = param(p, "slice");
	struct sched_policy_info info;

	attr->set_policy = true;
	attr->policy = param_policy(p, usual_policy);
	info = sched_policy_info(attr->policy);
	if (info.nice)
		attr->nice = param_nice(p);
	if (slice && (!parse_time_in_unit(slice, &attr->slice_ns) || !attr->slice_ns))
		usage_error("workload %s: slice=%s is not a time, as 5ms", p->name, slice);
	if (info.deadline)
		take_deadline(p, attr);
	if (info.priority)
		attr->rt_priority = (int)param_number(p, "prio", 1, 99, 10);
	for (unsigned i = 0; i < NR_SCHED_CLAMPS; i++) {
		const char *key = i == SCHED_CLAMP_MIN ? "util_min" : "util_max";

		if (!param(p, key))
			continue;
		attr->clamps |= BIT(i);
		attr->util[i] = param_number(p, key, 0, OPP_CAPACITY, 0);
	}
	attr->footprint_kib = (u32)param_number(p, "footprint", 0, 1 << 24, 0);
	attr->set_affinity = cpus;
	if (cpus && !cpulist_read(cpus, strlen(cpus), '+', p->nr_cpus, &attr->allowed))
		usage_error("workload %s: cpus=%s is not a list of CPUs below %u, as 0-2+5",
			    p->name, cpus, p->nr_cpus);
	attr->set_group = group;
	if (group)
		attr->group = group_at(w, p, "group", group);
}

/* --- programs --------------------------------------------------------------------------------- */

static u32 new_program(struct workload *w, struct params *p, const char *name, u32 instances,
		       int policy)
{
	u32 number = workload_program(w, name);

	w->programs[number].instances = instances;
	take_attributes(w, p, &w->programs[number], policy);
	return number;
}

static void forever(struct workload *w, u32 program)
{
	workload_step(w, program, (struct step){ .kind = STEP_LOOP, .a = LOOP_FOREVER });
}

static void end(struct workload *w, u32 program)
{
	workload_step(w, program, (struct step){ .kind = STEP_END });
}

static void hogs(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS, 2);
	u32 program = new_program(w, p, "hog", n, SCHED_NORMAL);
	struct step run = param_time(p, STEP_RUN, "run", 0);

	/* If no run is given, work for longer than any simulation lasts. */
	if (!run.b)
		run.a = run.b = SIM_FOREVER;
	workload_step(w, program, run);
}

static void bursts(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS, 1);
	u32 program = new_program(w, p, "burst", n, SCHED_NORMAL);

	forever(w, program);
	workload_step(w, program, param_time(p, STEP_RUN, "run", 1 * NS_PER_MS));
	workload_step(w, program, param_time(p, STEP_SLEEP, "sleep", 10 * NS_PER_MS));
	end(w, program);
}

static void yielders(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS, 1);
	u32 program = new_program(w, p, "yield", n, SCHED_NORMAL);

	forever(w, program);
	workload_step(w, program, param_time(p, STEP_RUN, "run", 100 * NS_PER_US));
	workload_step(w, program, (struct step){ .kind = STEP_YIELD });
	end(w, program);
}

static void periodic(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS, 1);
	u32 program = new_program(w, p, "periodic", n, SCHED_FIFO);
	struct step timer = param_time(p, STEP_TIMER, "period", 10 * NS_PER_MS);

	if (!timer.a)
		usage_error("workload periodic: a period of 0");
	timer.b = TIMER_OWN | TIMER_ABSOLUTE;
	forever(w, program);
	workload_step(w, program, param_time(p, STEP_RUN, "run", 2 * NS_PER_MS));
	workload_step(w, program, timer);
	end(w, program);
}

static void forks(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS, 1);
	u32 parent = new_program(w, p, "parent", n, SCHED_NORMAL);
	u32 child = new_program(w, p, "child", 0, SCHED_NORMAL);

	workload_step(w, child, param_time(p, STEP_RUN, "run", 500 * NS_PER_US));
	forever(w, parent);
	workload_step(w, parent, (struct step){ .kind = STEP_FORK, .a = child });
	workload_step(w, parent, param_time(p, STEP_RUN, "work", 50 * NS_PER_US));
	workload_step(w, parent, param_time(p, STEP_SLEEP, "sleep", 1 * NS_PER_MS));
	end(w, parent);
}

/* Like make -j: each slot starts a job and waits until a job has ended. */
static void jobs(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS, 5);
	u32 slot = new_program(w, p, "slot", n, SCHED_NORMAL);
	u32 job = new_program(w, p, "job", 0, SCHED_NORMAL);
	u32 done = workload_object(w, "done");
	struct step io = param_time(p, STEP_SLEEP, "io", 0);

	workload_step(
		w, job,
		(struct step){ .kind = STEP_LOOP, .a = param_number(p, "parts", 1, 10000, 1) });
	workload_step(w, job, param_time(p, STEP_RUN, "run", 20 * NS_PER_MS));
	if (io.b)
		workload_step(w, job, io);
	end(w, job);
	workload_step(w, job, (struct step){ .kind = STEP_POST, .object = done });
	forever(w, slot);
	workload_step(w, slot, param_time(p, STEP_RUN, "work", 50 * NS_PER_US));
	workload_step(w, slot, (struct step){ .kind = STEP_FORK, .a = job });
	workload_step(w, slot, (struct step){ .kind = STEP_TAKE, .object = done });
	end(w, slot);
}

/* An open system: requests arrive whether or not the workers keep up. */
static void requests(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "workers", 1, SIM_MAX_TASKS, 4);
	u32 source = new_program(w, p, "source", 1, SCHED_NORMAL);
	u32 worker = new_program(w, p, "worker", n, SCHED_NORMAL);
	u32 queue = workload_object(w, "requests");

	forever(w, source);
	workload_step(w, source, param_time(p, STEP_SLEEP, "every", 500 * NS_PER_US));
	workload_step(w, source, (struct step){ .kind = STEP_POST, .object = queue });
	end(w, source);
	forever(w, worker);
	workload_step(w, worker, (struct step){ .kind = STEP_TAKE, .object = queue });
	workload_step(w, worker, param_time(p, STEP_RUN, "run", 1 * NS_PER_MS));
	end(w, worker);
}

/*
 * Like schbench: a worker thinks, reports to its message thread, and sleeps until that wakes it. A
 * message thread wakes each worker as soon as it has reported. One with a `sleep` works and sleeps
 * once a worker has reported, and then wakes all workers that have reported meanwhile.
 */
static void messages(struct workload *w, struct params *p)
{
	u32 threads = param_number(p, "n", 1, 10000, 2);
	u32 workers = param_number(p, "workers", 1, SIM_MAX_TASKS, 16);
	struct step think = param_time(p, STEP_RUN, "run", 30 * NS_PER_MS);
	struct step serve = param_time(p, STEP_RUN, "work", 20 * NS_PER_US);
	struct step sleep = param_time(p, STEP_SLEEP, "sleep", 0);
	bool sleeps = sleep.b;

	for (u32 i = 0; i < threads; i++) {
		u32 message = new_program(w, p, "message", 1, SCHED_NORMAL);
		u32 worker = new_program(w, p, "worker", workers, SCHED_NORMAL);
		u32 posted = workload_object(w, "posted"), go = workload_object(w, "go");
		u32 held = sleeps ? NO_OBJECT : 0;
		enum step_kind wait = sleeps ? STEP_WAIT : STEP_TAKE;

		forever(w, message);
		workload_step(w, message,
			      (struct step){ .kind = wait, .object = posted, .other = held });
		workload_step(w, message, serve);
		if (sleeps)
			workload_step(w, message, sleep);
		workload_step(
			w, message,
			(struct step){ .kind = sleeps ? STEP_BROADCAST : STEP_POST, .object = go });
		end(w, message);
		forever(w, worker);
		workload_step(w, worker, think);
		workload_step(w, worker,
			      (struct step){ .kind = sleeps ? STEP_SIGNAL : STEP_POST,
					     .object = posted });
		workload_step(w, worker,
			      (struct step){ .kind = wait, .object = go, .other = held });
		end(w, worker);
	}
}

/* Waits for @mine, works, and then posts @other. */
static void pingpong_party(struct workload *w, struct params *p, const char *name, u32 mine,
			   u32 other)
{
	u32 party = new_program(w, p, name, 1, SCHED_NORMAL);

	forever(w, party);
	workload_step(w, party, (struct step){ .kind = STEP_TAKE, .object = mine });
	workload_step(w, party, param_time(p, STEP_RUN, "run", 5 * NS_PER_US));
	workload_step(w, party, (struct step){ .kind = STEP_POST, .object = other });
	end(w, party);
}

/* Two tasks that wake each other in turn. */
static void pingpong(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, SIM_MAX_TASKS / 2, 1);

	while (n--) {
		u32 ping = workload_object(w, "ping"), pong = workload_object(w, "pong");

		w->objects[ping].start = 1;
		pingpong_party(w, p, "ping", ping, pong);
		pingpong_party(w, p, "pong", pong, ping);
	}
}

/*
 * The pipe of one receiver. A writer takes a place and leaves a message; a reader does the reverse.
 */
struct pipe {
	u32 places, messages;
};

static void pipe_group(struct workload *w, struct params *p, u32 fds, s64 capacity)
{
	struct step write = param_time(p, STEP_RUN, "write", 2 * NS_PER_US);
	struct step read = param_time(p, STEP_RUN, "read", 2 * NS_PER_US);
	u32 sender = new_program(w, p, "sender", fds, SCHED_NORMAL);

	forever(w, sender);
	for (u32 i = 0; i < fds; i++) {
		u32 receiver = new_program(w, p, "receiver", 1, SCHED_NORMAL);
		struct pipe pipe = { workload_object(w, "places"), workload_object(w, "messages") };

		w->objects[pipe.places].start = capacity;
		workload_step(w, sender, write);
		workload_step(w, sender, (struct step){ .kind = STEP_TAKE, .object = pipe.places });
		workload_step(w, sender,
			      (struct step){ .kind = STEP_POST, .object = pipe.messages });
		forever(w, receiver);
		workload_step(w, receiver,
			      (struct step){ .kind = STEP_TAKE, .object = pipe.messages });
		workload_step(w, receiver, read);
		workload_step(w, receiver,
			      (struct step){ .kind = STEP_POST, .object = pipe.places });
		end(w, receiver);
	}
	end(w, sender);
}

/* Like hackbench: in each group every sender writes to every receiver in turn. */
static void pipes(struct workload *w, struct params *p)
{
	u32 groups = param_number(p, "groups", 1, 10000, 1);
	u32 fds = param_number(p, "pairs", 1, 1000, 4);
	u32 capacity = param_number(p, "capacity", 1, 1u << 20, 16);

	while (groups--)
		pipe_group(w, p, fds, capacity);
}

/* A task of high priority takes another CPU out of service and puts it back. */
static void hotplug(struct workload *w, struct params *p)
{
	u32 cpu = param_number(p, "cpu", 0, p->nr_cpus - 1, p->nr_cpus - 1);
	u32 program = new_program(w, p, "hotplug", 1, SCHED_FIFO);
	struct attributes *attr = &w->programs[program].attr;

	if (p->nr_cpus == 1)
		usage_error("workload hotplug: the only CPU stays in service");
	if (!attr->set_affinity)
		for (u32 other = 0; other < p->nr_cpus; other++)
			cpumask_set(&attr->allowed, other);
	attr->set_affinity = true;
	cpumask_clear(&attr->allowed, cpu);
	workload_step(
		w, program,
		(struct step){ .kind = STEP_LOOP, .a = param_number(p, "times", 1, 1000000, 1) });
	workload_step(w, program, param_time(p, STEP_SLEEP, "after", 100 * NS_PER_MS));
	workload_step(w, program, (struct step){ .kind = STEP_HOTPLUG, .a = cpu });
	workload_step(w, program, param_time(p, STEP_SLEEP, "off", 100 * NS_PER_MS));
	workload_step(w, program, (struct step){ .kind = STEP_HOTPLUG, .a = cpu, .b = true });
	end(w, program);
}

/* The workload `group`: no tasks, only the settings of a group (shares, quota, clamps). */
static void group(struct workload *w, struct params *p)
{
	const char *name = param(p, "name");

	if (!name)
		usage_error("workload group: name= is missing");
	take_settings(w, p, group_at(w, p, "name", name));
}

#define LEAVES_MAX 4096u
#define DEPTH_MAX  8u
#define BRANCH_MAX 255u /* its 8th power does not overflow */

static u64 power(u64 base, u32 exponent)
{
	u64 result = 1;

	while (exponent--)
		result *= base;
	return result;
}

/* The path of leaf @leaf in a tree with @n branches at each of @depth levels: "/g0/g1". */
static void leaf_path(char *path, size_t size, u32 leaf, u32 n, u32 depth)
{
	size_t len = 0;

	while (depth--)
		len += (size_t)snprintf(path + len, size - len, "/g%u",
					(u32)(leaf / power(n, depth) % n));
}

/* A tree of groups with tasks in its leaves. The group settings apply to the leaves. */
static void groups(struct workload *w, struct params *p)
{
	u32 n = param_number(p, "n", 1, BRANCH_MAX, 2);
	u32 depth = param_number(p, "depth", 1, DEPTH_MAX, 1);
	u32 tasks = param_number(p, "tasks", 1, SIM_MAX_TASKS, 2);
	u64 leaves = power(n, depth);
	struct step run = param_time(p, STEP_RUN, "run", 0);
	struct step sleep = param_time(p, STEP_SLEEP, "sleep", 0);

	if (param(p, "group"))
		usage_error("workload groups: its tasks are in groups of their own");
	if (leaves > LEAVES_MAX)
		usage_error("workload groups: more than %u groups of tasks", LEAVES_MAX);
	if (!run.b)
		run.a = run.b = SIM_FOREVER;
	for (u32 leaf = 0; leaf < leaves; leaf++) {
		u32 program = new_program(w, p, "task", tasks, SCHED_NORMAL), number;
		struct attributes *attr = &w->programs[program].attr;
		char path[128];

		leaf_path(path, sizeof(path), leaf, n, depth);
		workload_group(w, path, &number);
		take_settings(w, p, number);
		attr->set_group = true;
		attr->group = number;
		forever(w, program);
		workload_step(w, program, run);
		if (sleep.b)
			workload_step(w, program, sleep);
		end(w, program);
	}
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*add)(struct workload *w, struct params *p);
	const char *help;
} library[] = {
	{ "hogs", hogs, "n=2 run=FOREVER: tasks that never sleep" },
	{ "bursts", bursts, "n=1 run=1ms sleep=10ms: run, sleep, over and over" },
	{ "yielders", yielders, "n=1 run=100us: run, yield, over and over" },
	{ "periodic", periodic,
	  "n=1 period=10ms run=2ms policy=fifo prio=10: a job each period;"
	  " deadline: policy=deadline runtime=5ms deadline=10ms" },
	{ "forks", forks,
	  "n=1 work=50us sleep=1ms run=500us: parents fork children that run and exit" },
	{ "jobs", jobs, "n=5 parts=1 run=20ms io=0 work=50us: n jobs at a time, as make -j" },
	{ "requests", requests, "workers=4 every=500us run=1ms: requests arrive, workers serve" },
	{ "messages", messages,
	  "n=2 workers=16 run=30ms work=20us sleep=0: workers woken by message threads "
	  "(schbench)" },
	{ "pingpong", pingpong, "n=1 run=5us: pairs that wake each other in turn" },
	{ "pipes", pipes,
	  "groups=1 pairs=4 capacity=16 write=2us read=2us: senders, receivers (hackbench)" },
	{ "hotplug", hotplug,
	  "cpu=LAST times=1 after=100ms off=100ms: a CPU out of service and back" },
	{ "groups", groups,
	  "n=2 depth=1 tasks=2 run=FOREVER sleep=0: tasks in the leaves of a tree of groups" },
	{ "group", group,
	  "name=a/b shares=1024 idle=0 quota= period=100ms burst=0: no tasks, sets up a group" },
};

void library_help(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(library); i++)
		printf("  %-9s %s\n", library[i].name, library[i].help);
}

static void split(struct params *p, char *text)
{
	char *item;

	while (text && *text && (item = strsep(&text, ","))) {
		char *value = strchr(item, '=');

		if (!value || value == item)
			usage_error("workload %s: '%s' is not key=value", p->name, item);
		if (p->nr == MAX_PARAMS)
			usage_error("workload %s: more than %u parameters", p->name, MAX_PARAMS);
		*value++ = '\0';
		for (u32 i = 0; i < p->nr; i++)
			if (!strcmp(p->key[i], item))
				usage_error("workload %s: '%s' is here twice", p->name, item);
		p->key[p->nr] = item;
		p->value[p->nr++] = value;
	}
}

void library_add(struct workload *w, const char *spec, unsigned nr_cpus)
{
	char *copy = strdup(spec), *rest = copy;
	struct params p = { .name = strsep(&rest, ":"), .nr_cpus = nr_cpus };
	u32 i = 0;

	while (i < ARRAY_SIZE(library) && strcmp(library[i].name, p.name))
		i++;
	if (i == ARRAY_SIZE(library))
		usage_error("no workload '%s'; schedsim --help lists them (a file ends in .json)",
			    p.name);
	split(&p, rest);
	library[i].add(w, &p);
	for (u32 n = 0; n < p.nr; n++)
		if (!p.used[n])
			usage_error("workload %s has no parameter '%s'", p.name, p.key[n]);
	free(copy);
}

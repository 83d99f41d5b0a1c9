/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Properties of rt-app's tasks and phases: policy, priority, CPUs, group, deadline. What is read
 * here but cannot be modelled is an error that says so; see rtapp.c.
 */
#include <ctype.h>
#include <string.h>

#include "sim/workload/rtapp.h"

/* Is @name, as "SCHED_FIFO", that of the policy whose name here is @own, as "fifo"? */
static bool is_named(const char *name, const char *own)
{
	if (strncmp(name, "SCHED_", 6))
		return false;
	for (name += 6; *own && *name == toupper((unsigned char)*own); own++)
		name++;
	return !*own && !*name;
}

int rtapp_policy_named(const struct rtapp_file *f, json_value key)
{
	char *name = json_string_of(&f->json, key);
	int policy = strcmp(name, "SCHED_OTHER") ? 1 : SCHED_NORMAL;

	for (; policy && policy < POLICY_LIMIT; policy++) {
		const char *own = sched_policy_info(policy).name;

		if (own && is_named(name, own))
			break;
	}
	free(name);
	if (policy == POLICY_LIMIT)
		json_error(&f->json, key, "\"%s\" is no policy", json_string_of(&f->json, key));
	return policy;
}

static void set_cpus(struct rtapp_file *f, json_value key, struct attributes *attr)
{
	json_value list = json_member(key), item = 0;

	if (!json_is_array(&f->json, list))
		json_error(&f->json, key, "\"cpus\" must be an array of integers");
	attr->set_affinity = true;
	attr->allowed = cpumask_none();
	while ((item = json_next(&f->json, list, item))) {
		s64 cpu = json_int_at(&f->json, item, "cpus", 0, CPU_MAX - 1);

		if (cpu >= f->nr_cpus)
			json_error(&f->json, item, "CPU %lld in \"cpus\": the machine has %u",
				   (long long)cpu, f->nr_cpus);
		cpumask_set(&attr->allowed, (unsigned)cpu);
	}
	if (cpumask_empty(&attr->allowed))
		json_error(&f->json, key, "\"cpus\" is empty");
}

static void set_policy(struct rtapp_file *f, json_value policy, json_value priority,
		       struct attributes *attr)
{
	struct sched_policy_info info;

	if (!policy && !priority)
		return;
	attr->set_policy = true;
	if (policy)
		attr->policy = rtapp_policy_named(f, policy);
	info = sched_policy_info(attr->policy);
	attr->rt_priority = info.priority ? 10 : 0;
	attr->nice = 0;
	if (priority && info.deadline)
		json_int_of(&f->json, priority, 0, 0);
	if (priority && info.priority)
		attr->rt_priority = (int)json_int_of(&f->json, priority, 1, 99);
	else if (priority)
		attr->nice = (int)json_int_of(&f->json, priority, -20, 19);
}

/* Checks a key that has no effect here: there is no memory. */
static bool take_ignored(struct rtapp_file *f, json_value key)
{
	if (json_equals(&f->json, key, "nodes_membind")) {
		json_value list = json_member(key), item = 0;

		if (!json_is_array(&f->json, list))
			json_error(&f->json, key, "\"nodes_membind\" must be an array of integers");
		while ((item = json_next(&f->json, list, item)))
			json_int_at(&f->json, item, "nodes_membind", 0, 1023);
		return true;
	}
	return false;
}

bool rtapp_is_property(struct rtapp_file *f, json_value key, bool of_task)
{
	static const char *const taken[] = { "policy",	   "priority",	"cpus",	     "loop",
					     "dl-runtime", "taskgroup", "dl-period", "dl-deadline",
					     "util_min",   "util_max" };
	static const char *const of_tasks[] = { "instance", "delay", "phases" };
	static const char *const unsupported[] = { "deadline", "period" };
	const struct json *json = &f->json;

	for (u32 i = 0; i < ARRAY_SIZE(taken); i++)
		if (json_equals(json, key, taken[i]))
			return true;
	for (u32 i = 0; i < ARRAY_SIZE(of_tasks) && of_task; i++)
		if (json_equals(json, key, of_tasks[i]))
			return true;
	for (u32 i = 0; i < ARRAY_SIZE(unsupported); i++)
		if (json_equals(json, key, unsupported[i]))
			json_error(json, key, "\"%s\" is not implemented by this scheduler",
				   unsupported[i]);
	return take_ignored(f, key);
}

json_value rtapp_key_of(const struct rtapp_file *f, json_value object, const char *name)
{
	json_value at = json_find(&f->json, object, name);

	return at ? at - 1 : 0;
}

/* rt-app has this restriction, too. */
static void set_group(struct rtapp_file *f, json_value key, struct attributes *attr)
{
	if (!sched_policy_info(attr->policy).nice)
		json_error(&f->json, key, "\"taskgroup\" of a real-time task");
	attr->set_group = true;
	attr->group = json_group_of(&f->json, key, f->w, json_string_of(&f->json, key));
}

/*
 * As rt-app: "dl-runtime" is needed, a missing deadline is the period and a missing period the
 * deadline, and if both are missing both are the runtime.
 */
static void set_deadline(struct rtapp_file *f, json_value object, struct attributes *attr)
{
	json_value runtime = rtapp_key_of(f, object, "dl-runtime");
	json_value deadline = rtapp_key_of(f, object, "dl-deadline");
	json_value period = rtapp_key_of(f, object, "dl-period");
	const struct json *json = &f->json;

	if (!runtime && !deadline && !period)
		return;
	attr->set_policy = true;
	if (runtime)
		attr->runtime_ns = (u64)json_int_of(json, runtime, 2, MAX_US) * NS_PER_US;
	if (period)
		attr->period_ns = (u64)json_int_of(json, period, 2, MAX_US) * NS_PER_US;
	if (deadline)
		attr->deadline_ns = (u64)json_int_of(json, deadline, 2, MAX_US) * NS_PER_US;
	attr->period_ns = attr->period_ns ?: attr->deadline_ns ?: attr->runtime_ns;
	attr->deadline_ns = attr->deadline_ns ?: attr->period_ns;
}

static void set_clamps(struct rtapp_file *f, json_value object, struct attributes *attr)
{
	static const char *const names[NR_SCHED_CLAMPS] = { "util_min", "util_max" };

	for (u32 i = 0; i < NR_SCHED_CLAMPS; i++) {
		json_value key = rtapp_key_of(f, object, names[i]);

		if (!key)
			continue;
		attr->clamps |= BIT(i);
		attr->util[i] = (u32)json_int_of(&f->json, key, 0, OPP_CAPACITY);
	}
}

void rtapp_take_properties(struct rtapp_file *f, json_value object, struct attributes *attr)
{
	json_value cpus = rtapp_key_of(f, object, "cpus"),
		   slice = rtapp_key_of(f, object, "dl-runtime");
	json_value group = rtapp_key_of(f, object, "taskgroup");

	set_policy(f, rtapp_key_of(f, object, "policy"), rtapp_key_of(f, object, "priority"), attr);
	set_clamps(f, object, attr);
	if (cpus)
		set_cpus(f, cpus, attr);
	if (group)
		set_group(f, group, attr);
	if (sched_policy_info(attr->policy).deadline) {
		set_deadline(f, object, attr);
		if (!attr->runtime_ns)
			json_error(&f->json, rtapp_key_of(f, object, "policy"),
				   "SCHED_DEADLINE needs \"dl-runtime\"");
		return;
	}
	if (!slice)
		return;
	/* For a fair task this is the size of its requests. */
	if (!sched_policy_info(attr->policy).nice)
		json_error(&f->json, slice, "\"dl-runtime\" of a real-time task");
	attr->set_policy = true;
	attr->slice_ns = (u64)json_int_of(&f->json, slice, 100, 100000) * NS_PER_US;
}

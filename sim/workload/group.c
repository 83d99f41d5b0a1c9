/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups in workloads. A group is named by its path, "/web/batch". Naming a group makes it and
 * the groups above it. One table describes the settings, for the built-in workload `group` and for
 * the object "taskgroups" of rt-app files.
 */
#include <ctype.h>
#include <string.h>

#include "sim/workload/group.h"
#include "sim/engine/util.h"

#define QUOTA_MAX  ((1ull << 44) - 1)
#define US_PER_SEC 1000000u

/* TIME: in microseconds in files, with a unit on the command line */
enum unit { PLAIN, FLAG, TIME };

static const struct setting {
	const char *key;
	size_t offset; /* in struct group */
	enum unit unit;
	u64 least, most; /* TIME: us */
} settings[] = {
#define SETTING(key, field, unit, least, most)                                                     \
	{                                                                                          \
		key, offsetof(struct group, field), unit, least, most                              \
	}
	SETTING("shares", params.shares, PLAIN, SCHED_SHARES_MIN, SCHED_SHARES_MAX),
	SETTING("idle", params.idle, FLAG, 0, 1),
	SETTING("quota", params.quota_ns, TIME, 1000, QUOTA_MAX),
	SETTING("period", params.period_ns, TIME, 1000, US_PER_SEC),
	SETTING("burst", params.burst_ns, TIME, 0, QUOTA_MAX),
	SETTING("deadline_rr", params.deadline_rr_ns, TIME, 0, US_PER_SEC),
	SETTING("deadline_wakeup", params.deadline_wakeup_ns, TIME, 0, US_PER_SEC),
	SETTING("guaranteed_shares", params.guaranteed_shares, PLAIN, 0, UINT32_MAX),
	SETTING("boost", boost, PLAIN, 0, 100),
	SETTING("util_min", clamp[SCHED_CLAMP_MIN], PLAIN, 0, OPP_CAPACITY),
	SETTING("util_max", clamp[SCHED_CLAMP_MAX], PLAIN, 0, OPP_CAPACITY),
#undef SETTING
};

/* --- paths ------------------------------------------------------------------------------------ */

static u32 new_group(struct workload *w, const char *path, size_t len, u32 parent)
{
	struct group *group;

	w->groups = grow(w->groups, w->nr_groups, &w->groups_size, sizeof(*w->groups));
	group = &w->groups[w->nr_groups];
	*group = (struct group){ .path = strndup(path, len),
				 .parent = parent,
				 .clamp = { 0, OPP_CAPACITY },
				 .params = { .shares = SCHED_SHARES_DEFAULT,
					     .quota_ns = SCHED_QUOTA_NONE,
					     .period_ns = SCHED_PERIOD_DEFAULT_NS } };
	if (!group->path)
		out_of_memory();
	return w->nr_groups++;
}

static u32 find_or_make(struct workload *w, const char *path, size_t len, u32 parent)
{
	for (u32 i = 0; i < w->nr_groups; i++)
		if (strlen(w->groups[i].path) == len && !strncmp(w->groups[i].path, path, len))
			return i;
	return new_group(w, path, len, parent);
}

bool workload_group(struct workload *w, const char *path, u32 *number)
{
	const char *at = path;

	if (!w->nr_groups)
		new_group(w, "/", 1, 0);
	*number = 0;
	for (const char *c = path; *c; c++)
		if (iscntrl((u8)*c))
			return false;
	if (!*path || !strcmp(path, "/"))
		return true;
	while (*at == '/') {
		size_t len = strcspn(at + 1, "/");

		if (!len || (at[1] == '.' && (len == 1 || (len == 2 && at[2] == '.'))))
			return false;
		at += len + 1;
		*number = find_or_make(w, path, (size_t)(at - path), *number);
	}
	return !*at;
}

/* --- settings --------------------------------------------------------------------------------- */

static void set(struct group *group, const struct setting *s, u64 value)
{
	char *field = (char *)group + s->offset;

	if (s->unit == FLAG)
		*(bool *)field = value;
	else
		*(u64 *)field = s->unit == TIME ? value * NS_PER_US : value;
}

const char *group_setting(u32 i)
{
	return i < ARRAY_SIZE(settings) ? settings[i].key : NULL;
}

bool group_set(struct group *group, u32 i, const char *text)
{
	const struct setting *s = &settings[i];
	u64 value;

	if (s->unit == TIME) {
		if (!parse_time_in_unit(text, &value) || value % NS_PER_US)
			return false;
		value /= NS_PER_US;
	} else if (!parse_number(text, s->most, &value)) {
		return false;
	}
	if (value < s->least || value > s->most)
		return false;
	set(group, s, value);
	return true;
}

const char *group_mistake(const struct group *group)
{
	const struct task_group_params *p = &group->params;

	if (p->idle && (p->shares != SCHED_SHARES_DEFAULT || p->guaranteed_shares))
		return "an idle group has no shares";
	if (p->deadline_wakeup_ns > p->deadline_rr_ns)
		return "deadline_wakeup is above deadline_rr";
	if (p->quota_ns == SCHED_QUOTA_NONE)
		return p->burst_ns ? "a burst without a quota" : NULL;
	return p->burst_ns > p->quota_ns ? "the burst is above the quota" : NULL;
}

/* --- rt-app files ----------------------------------------------------------------------------- */

static void take_setting(const struct json *json, json_value key, struct group *group)
{
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];

		if (!json_equals(json, key, s->key))
			continue;
		set(group, s,
		    s->unit == FLAG ? (u64)json_bool_of(json, key)
				    : (u64)json_int_of(json, key, (s64)s->least, (s64)s->most));
		return;
	}
	json_error(json, key, "unknown key \"%s\"", json_text(json, key));
}

u32 json_group_of(const struct json *json, json_value key, struct workload *w, char *path)
{
	u32 number;

	if (!workload_group(w, path, &number))
		json_error(json, key, "\"%s\" is not a path of groups, as \"/a\" or \"/a/b\"",
			   path);
	free(path);
	return number;
}

void json_groups(const struct json *json, json_value groups, struct workload *w)
{
	json_value key = 0;

	while ((key = json_next(json, groups, key))) {
		u32 number = json_group_of(json, key, w, json_text(json, key));
		json_value object = json_object_of(json, key), setting = 0;
		const char *mistake;

		if (!number)
			json_error(json, key, "the root group has no settings");
		while ((setting = json_next(json, object, setting)))
			take_setting(json, setting, &w->groups[number]);
		mistake = group_mistake(&w->groups[number]);
		if (mistake)
			json_error(json, key, "%s: %s", w->groups[number].path, mistake);
	}
}

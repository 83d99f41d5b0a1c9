/* SPDX-License-Identifier: GPL-2.0-only */
/* Task groups in workloads: their paths and settings; see group.c. */
#pragma once

#include "sim/workload/json.h"
#include "sim/workload/workload.h"

/*
 * The number of the group at @path, "/a/b", made if it is new; "" and "/" are the root, number 0.
 * False: not a path.
 */
bool workload_group(struct workload *w, const char *path, u32 *number);

/* The settings by name, NULL after the last. */
const char *group_setting(u32 i);
/* Setting @i from a command line's text. False: not a value for it. */
bool group_set(struct group *group, u32 i, const char *text);
/* Which of its settings contradict each other; NULL: none do. */
const char *group_mistake(const struct group *group);

/* The same for a path in a JSON file, which is freed; a mistake is an error at @key. */
u32 json_group_of(const struct json *json, json_value key, struct workload *w, char *path);
/* Take the groups' settings from the object @groups, {"/a": {"shares": 2048}, ...}. */
void json_groups(const struct json *json, json_value groups, struct workload *w);

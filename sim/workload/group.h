/* SPDX-License-Identifier: GPL-2.0-only */
/* Task groups in workloads: their paths and settings; see group.c. */
#pragma once

#include "sim/workload/json.h"
#include "sim/workload/workload.h"

/*
 * Finds the number of the group at @path, "/a/b", and makes the group if it is new. "" and "/" are
 * the root, number 0. False: @path is not a path.
 */
bool workload_group(struct workload *w, const char *path, u32 *number);

/* The name of setting @i; NULL after the last. */
const char *group_setting(u32 i);
/* Sets setting @i to a command line's text. False: it is not a value for it. */
bool group_set(struct group *group, u32 i, const char *text);
/* Says which settings contradict each other; NULL if none do. */
const char *group_mistake(const struct group *group);

/*
 * Returns the number of the group at @path, which is made if it is new (workload_group()). Frees
 * @path. A bad path is reported with the place of @key, and ends the program.
 */
u32 json_group_of(const struct json *json, json_value key, struct workload *w, char *path);
/* Takes the groups' settings from the object @groups, {"/a": {"shares": 2048}, ...}. */
void json_groups(const struct json *json, json_value groups, struct workload *w);

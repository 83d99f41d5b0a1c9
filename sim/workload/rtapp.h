/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of reading one of rt-app's files, shared by rtapp.c and rtapp_attr.c. */
#pragma once

#include "sim/workload/group.h"
#include "sim/engine/util.h"

#define MAX_US 1000000000000ll

enum object_kind { MUTEX, CONDITION, SEMAPHORE, BARRIER, TIMER, SUSPENSION };

/* A name in the file and its object. Names of different kinds do not clash. */
struct name {
	enum object_kind kind;
	char *text;
	u32 object;
};

struct rtapp_file {
	struct json json;
	bool strict; /* what is left out or mended is an error */
	struct workload *w;
	unsigned nr_cpus;
	u64 mem_ns_per_kib;
	int default_policy;
	struct name *names;
	u32 nr_names, names_size;
	u32 first_program, end_program; /* of the first task; behind that of the last */
	/* The task being read: */
	u32 program;
	struct attributes attr; /* as the latest phase set them */
	char *own_timer;	/* the one timer that each instance has for itself */
};

/* The scheduling policy that the value of @key names; an error if there is none of that name. */
int rtapp_policy_named(const struct rtapp_file *f, json_value key);
/*
 * True if @key is a property of a phase, or of a task if @of_task, and so no event. A property that
 * cannot be modelled is an error.
 */
bool rtapp_is_property(struct rtapp_file *f, json_value key, bool of_task);
/* The key called @name in @object, or 0 if there is none. */
json_value rtapp_key_of(const struct rtapp_file *f, json_value object, const char *name);
/* Read the properties of a task or phase, @object, into f->attr: policy, CPUs, group, deadline. */
void rtapp_take_properties(struct rtapp_file *f, json_value object, struct attributes *attr);

/* SPDX-License-Identifier: GPL-2.0-only */
/* Exploration for the page: of one policy, whose failures are shrunk (session.h). */
#include <string.h>

#include "sim/engine/plugin.h"
#include "sim/explore/explore.h"
#include "sim/session.h"

int session_explore(u64 seed, u64 ops)
{
	int failed;

	plugin_load(strdup(session_room(0)));
	failed = explore_random(&(struct explore_options){
		.policy = sched_policy_name(plugin_policy()), .seed = seed, .ops = ops });
	fflush(stdout);
	return failed;
}

void session_operations(void)
{
	static const struct {
		const char *name, *text;
	} ops[] = {
#define OP(name, text) { #name, text },
#include "sim/explore/op.def"
#undef OP
	};

	for (u32 i = 0; i < ARRAY_SIZE(ops); i++)
		printf("%s\"%s\": \"%s\"", i ? ", " : "{", ops[i].name, ops[i].text);
	puts("}");
	fflush(stdout);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* See plugin.h. */
#include <stdio.h>
#include <string.h>

#include "sim/engine/plugin.h"
#include "sim/engine/process.h"
#include "sim/engine/util.h"

static const struct fair_policy *loaded;
static const char *loaded_from;

void plugin_load(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int length = (int)strcspn(name, ".");
	char file[4096], symbol[256];
	const char *error;

	if (loaded)
		usage_error("--plugin %s: there is a plugin already", path);
	/* Without a slash dlopen() would search the system's libraries. */
	snprintf(file, sizeof(file), "%s%s", slash ? "" : "./", path);
	snprintf(symbol, sizeof(symbol), "%.*s_policy", length, name);
	loaded = process_load(file, symbol, &error);
	loaded_from = path;
	if (!loaded)
		usage_error("--plugin %s: %s: %s", path, symbol, error);
	if (!sched_policy_complete(loaded))
		usage_error("--plugin %s: %s lacks a name, a key or a hook; does its table begin "
			    "with FAIR_DEFAULTS?",
			    path, symbol);
	for (unsigned i = 0; sched_fair_name(i); i++)
		if (!strcmp(sched_fair_name(i), sched_policy_name(loaded)))
			usage_error("--plugin %s: a policy %s is built in", path,
				    sched_fair_name(i));
}

const struct fair_policy *plugin_policy(void)
{
	return loaded;
}

const char *plugin_path(void)
{
	return loaded_from;
}

const struct fair_policy *policy_at(unsigned index)
{
	const struct fair_policy *policy = sched_fair_policy(index);

	if (!policy && loaded && (!index || sched_fair_policy(index - 1)))
		return loaded;
	return policy;
}

const char *policy_name(unsigned index)
{
	const struct fair_policy *policy = policy_at(index);

	return policy ? sched_policy_name(policy) : NULL;
}

void policies_print(void)
{
	const struct fair_policy *policy;
	const char *trait;

	for (unsigned i = 0; (policy = policy_at(i)); i++) {
		printf("%s", sched_policy_name(policy));
		for (unsigned bit = 0; (trait = sched_trait_name(bit)); bit++)
			if (sched_policy_has(policy, (enum sched_trait)bit))
				printf(" %s", trait);
		putchar('\n');
	}
}

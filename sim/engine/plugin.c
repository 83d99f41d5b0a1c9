/* SPDX-License-Identifier: GPL-2.0-only */
/* See plugin.h; sim/policy/ has policies in expressions. */
#include <stdio.h>
#include <string.h>

#include "sim/engine/plugin.h"
#include "sim/engine/process.h"
#include "sim/engine/util.h"
#include "sim/policy/policy.h"

static const struct fair_policy *loaded;
static const char *loaded_from;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct fair_policy *load_object(const char *path)
{
	const char *name = base_name(path), *error;
	int length = (int)strcspn(name, ".");
	const struct fair_policy *policy;
	char file[4096], symbol[256];

	/* Without a slash dlopen() would search the system's libraries. */
	snprintf(file, sizeof(file), "%s%s", name == path ? "./" : "", path);
	snprintf(symbol, sizeof(symbol), "%.*s_policy", length, name);
	policy = process_load(file, symbol, &error);
	if (!policy)
		usage_error("--plugin %s: %s: %s", path, symbol, error);
	if (!sched_policy_complete(policy))
		usage_error("--plugin %s: %s lacks a name, a key or a hook; does its table begin "
			    "with FAIR_DEFAULTS?",
			    path, symbol);
	return policy;
}

void plugin_load(const char *path)
{
	if (loaded)
		usage_error("--plugin %s: there is a plugin already", path);
	loaded = recipe_is_text(path)
			 ? recipe_policy(recipe_load("--plugin", path), base_name(path))
			 : load_object(path);
	loaded_from = path;
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

const char *plugin_hook(void)
{
	const void *place = loaded ? process_called_in(loaded) : NULL;

	return place ? policy_hook_at(loaded, place) : NULL;
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

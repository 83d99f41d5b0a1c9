/* SPDX-License-Identifier: GPL-2.0-only */
/* The fair policies of this program: those built in, and one more (--plugin). */
#pragma once

#include "sched/sched.h"

/*
 * Load the policy of @path: of /dir/NAME.so, which exports `const struct fair_policy NAME_policy`,
 * or of a text with the ending .policy (docs/policies.md). Called once at most, before any machine
 * is made. Exits with a message if there is no such policy.
 */
void plugin_load(const char *path);
/* The policy from --plugin; NULL: there is none. Every machine has it as its guest. */
const struct fair_policy *plugin_policy(void);
const char *plugin_path(void);
/* The hook of the plugin that is being called, or NULL. */
const char *plugin_hook(void);

/* The @index-th policy, the plugin's last, or NULL past the end; its name. */
const struct fair_policy *policy_at(unsigned index);
const char *policy_name(unsigned index);
/* Print each policy's name and traits, a line each, for --list-policies. */
void policies_print(void);

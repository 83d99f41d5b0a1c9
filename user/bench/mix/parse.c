/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a mix, as they are written on its command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/args.h"
#include "bench/mix/part.h"

static bool parse_name(const char *text, char *name)
{
	return snprintf(name, NAME_LENGTH, "%s", text) < NAME_LENGTH;
}

/* "4ms/10ms": so much in each period, which is also the deadline. */
static bool parse_deadline(const char *text, struct deadline *d)
{
	char runtime[NAME_LENGTH];
	const char *slash = strchr(text, '/');

	if (!slash || !parse_name(text, runtime))
		return false;
	runtime[slash - text] = 0;
	if (!parse_time(runtime, &d->runtime) || !parse_time(slash + 1, &d->period))
		return false;
	d->deadline = d->period;
	return true;
}

static bool set_key(struct part *p, const char *key, const char *value)
{
	const struct {
		const char *key;
		uint64_t *ns;
	} times[] = { { "run", &p->run_ns }, { "own", &p->own_ns },
		    { "sleep", &p->sleep_ns }, { "slice", &p->slice_ns } };
	unsigned i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!strcmp(key, times[i].key))
			return parse_time(value, times[i].ns);
	if (!strcmp(key, "n"))
		return parse_int(value, 1, MAX_LIST / 2, &p->nr);
	if (!strcmp(key, "nice"))
		return parse_int(value, -20, 19, &p->nice);
	if (!strcmp(key, "policy"))
		return parse_policy(value, &p->policy);
	if (!strcmp(key, "deadline"))
		return parse_deadline(value, &p->deadline);
	if (!strcmp(key, "set"))
		return parse_change(value, &p->change);
	if (!strcmp(key, "cpus"))
		return parse_cpus(value, &p->cpus);
	if (!strcmp(key, "name"))
		return parse_name(value, p->name);
	if (!strcmp(key, "group"))
		return parse_name(value, p->group);
	return false;
}

static _Noreturn void refuse(const char *text, const char *what)
{
	fprintf(stderr, "mix: %s: %s; see --help\n", text, what);
	exit(2);
}

void parse_part(const char *text, struct part *p)
{
	char words[256], *kind, *word, *value;

	*p = (struct part){ .nr = 1 };
	if (snprintf(words, sizeof(words), "%s", text) >= (int)sizeof(words))
		refuse(text, "too long");
	word = strchr(words, ':');
	if (word)
		*word++ = 0;
	kind = words;
	p->kind = find_kind(kind);
	if (!p->kind || !parse_name(kind, p->name))
		refuse(text, "there is no such kind");
	for (word = strtok(word, ","); word; word = strtok(NULL, ",")) {
		value = strchr(word, '=');
		if (!value)
			refuse(word, "KEY=VALUE is expected");
		*value++ = 0;
		if (!set_key(p, word, value))
			refuse(word, "no such key, or a value that it cannot have");
	}
	if (p->kind->changes && !p->change.set)
		refuse(text, "set=WHAT is missing");
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes that a process of a mix makes while it and others run: of its own attributes, of its
 * group, or of a parameter of a group. Each setting takes its value as text.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/args.h"
#include "bench/mix/part.h"

static int not_understood(void)
{
	errno = EINVAL;
	return -1;
}

static int change_nice(const char *what, const char *value)
{
	int nice;

	(void)what;
	return parse_int(value, -20, 19, &nice) ? set_nice(0, nice) : not_understood();
}

static int change_policy(const char *what, const char *value)
{
	struct policy policy;

	(void)what;
	return parse_policy(value, &policy) ? set_policy(0, &policy) : not_understood();
}

/* "same": sched_setattr() with all that sched_getattr() says. */
static int change_slice(const char *what, const char *value)
{
	uint64_t ns;
	bool same = !strcmp(value, "same");

	(void)what;
	if (same && get_slice(0, &ns))
		return -1;
	return same || parse_time(value, &ns) ? set_slice(0, ns) : not_understood();
}

static int change_cpus(const char *what, const char *value)
{
	struct cpu_set cpus;

	(void)what;
	return parse_cpus(value, &cpus) ? set_cpus(0, &cpus) : not_understood();
}

int write_group(const char *file, const char *value)
{
	ssize_t len = (ssize_t)strlen(value);
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), GROUPS "/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ret = write(fd, value, len) == len ? 0 : -1;
	close(fd);
	return ret;
}

/* A thread that moves itself alone waits for nobody on Linux; a process does, for milliseconds. */
static int change_group(const char *what, const char *value)
{
	char file[64];

	(void)what;
	snprintf(file, sizeof(file), "%s/cgroup.threads", value);
	return write_group(file, "0");
}

static const struct {
	const char *name;
	change_fn *set;
} settings[] = {
	{ "nice", change_nice }, { "policy", change_policy }, { "slice", change_slice },
	{ "cpus", change_cpus }, { "group", change_group },
};

static change_fn *find_setting(const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].name, name))
			return settings[i].set;
	return strchr(name, '/') ? write_group : NULL;
}

bool parse_change(const char *text, struct change *c)
{
	int used;

	if (sscanf(text, "%31s%n", c->what, &used) != 1)
		return false;
	c->set = find_setting(c->what);
	for (c->nr = 0, text += used; c->nr < MAX_VALUES; c->nr++, text += used)
		if (sscanf(text, "%31s%n", c->value[c->nr], &used) != 1)
			break;
	return c->set && c->nr && !*text;
}

void make_change(const struct change *c, uint64_t n)
{
	if (c->set(c->what, c->value[n % c->nr]))
		die(c->what);
}

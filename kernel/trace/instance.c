/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The directory instances/ of tracefs: mkdir there makes a buffer with events and settings of its
 * own, rmdir ends it. An instance that ended leaves its place in trace_instances to a later one, so
 * a file of it that is still open finds a place that is not live, or another instance.
 */
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/pseudo/engine.h"
#include "kernel/trace/internal.h"
#include "lib/string.h"

#define NAME_SIZE 32
#define PREFIX	  "instances/"

/* guarded by: instances_lock, which is taken before trace_lock */
static char prefixes[NR_TRACE_INSTANCES][sizeof(PREFIX) + NAME_SIZE + 1];
static struct mutex instances_lock = MUTEX_INIT(instances_lock);

const char *tracefs_prefix(unsigned i)
{
	return prefixes[i];
}

static int add_files(unsigned i)
{
	int err = tracefs_add_control(i);

	debug_assert(i < NR_TRACE_INSTANCES);
	if (!err)
		err = tracefs_add_settings(i);
	return err ? err : tracefs_add_events(i);
}

/* The directory of instance @i goes, with all files. instances_lock held. */
static void remove_files(unsigned i)
{
	size_t len = strlen(prefixes[i]);

	assert(mutex_is_held(&instances_lock));
	prefixes[i][len - 1] = '\0'; /* without the slash */
	pseudo_remove(&tracefs_type, prefixes[i]);
	prefixes[i][0] = '\0';
}

static int start(unsigned i)
{
	int err;

	debug_assert(mutex_is_held(&instances_lock));
	mutex_lock(&trace_lock);
	err = trace_instance_start(&trace_instances[i]);
	mutex_unlock(&trace_lock);
	return err;
}

/* 0, or -EBUSY: files that read its rings are open. */
static int stop(unsigned i)
{
	struct trace_instance *t = &trace_instances[i];
	int err = 0;

	debug_assert(mutex_is_held(&instances_lock));
	mutex_lock(&trace_lock);
	if (t->nr_open)
		err = -EBUSY;
	else
		trace_instance_stop(t);
	mutex_unlock(&trace_lock);
	return err;
}

static int create(const char *name, size_t len)
{
	unsigned i = 1;
	int err;

	assert(mutex_is_held(&instances_lock));
	if (len >= NAME_SIZE)
		return -ENAMETOOLONG;
	while (i < NR_TRACE_INSTANCES && trace_instances[i].live)
		i++;
	if (i == NR_TRACE_INSTANCES)
		return -ENOSPC;
	snprintf(prefixes[i], sizeof(prefixes[i]), PREFIX "%.*s/", (int)len, name);
	/* Until the start each file says that there is no instance. */
	err = add_files(i);
	if (!err)
		err = start(i);
	if (err)
		remove_files(i);
	return err;
}

/* The number of the instance called @name; 0: there is none. instances_lock held. */
static unsigned find(const char *name, size_t len)
{
	assert(mutex_is_held(&instances_lock));
	for (unsigned i = 1; i < NR_TRACE_INSTANCES; i++) {
		const char *its = prefixes[i] + strlen(PREFIX);

		if (trace_instances[i].live && strlen(its) == len + 1 && !memcmp(its, name, len))
			return i;
	}
	return 0;
}

static bool is_instances(const struct dentry *dir)
{
	return dir == pseudo_find(&tracefs_type, "instances");
}

int tracefs_mkdir(struct dentry *dir, const char *name, size_t len, u32 mode)
{
	int err;

	(void)mode;
	if (!is_instances(dir))
		return -EPERM;
	mutex_lock(&instances_lock);
	err = find(name, len) ? -EEXIST : create(name, len);
	mutex_unlock(&instances_lock);
	return err;
}

int tracefs_rmdir(struct dentry *dir, const char *name, size_t len, bool as_dir)
{
	unsigned i;
	int err;

	if (!is_instances(dir) || !as_dir)
		return -EPERM;
	mutex_lock(&instances_lock);
	i = find(name, len);
	err = i ? stop(i) : -ENOENT;
	if (!err)
		remove_files(i);
	mutex_unlock(&instances_lock);
	return err;
}

static int instances_init(void)
{
	int err = pseudo_mkdir(&tracefs_type, "instances");

	return err ? err : add_files(0);
}
INITCALL(instances_init);

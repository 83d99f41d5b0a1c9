/* SPDX-License-Identifier: GPL-2.0-only */
/* /sys/kernel/sched_ext, with the names and texts of Linux. */
#include "kernel/kernel.h"
#include "kernel/pseudo/engine.h"
#include "kernel/scx/scx.h"
#include "kernel/task/hotplug.h"
#include "lib/fmt.h"

static size_t show_state(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%s\n", scx_state());
}

/* Are all fair tasks the scheduler's? */
static size_t show_switch_all(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%d\n", scx_switches_all());
}

static size_t show_enable_seq(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%lu\n", scx_nr_loads());
}

/* No task is ever refused: `disallow` has no effect. */
static size_t show_nr_rejected(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "0\n");
}

static size_t show_hotplug_seq(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%lu\n", cpu_nr_changes());
}

static size_t show_ops(void *arg, char *buf, size_t size)
{
	char name[128] = "";

	(void)arg;
	scx_name(name, sizeof(name));
	return (size_t)snprintf(buf, size, "%s\n", name);
}

static size_t show_events(void *arg, char *buf, size_t size)
{
	struct ext_events events = scx_events();
	struct text t = text_of(buf, size);

	(void)arg;
	for (unsigned i = 0; i < NR_EXT_EVENTS; i++)
		text_add(&t, "%s %lld\n", sched_ext_event_name[i], (long long)events.count[i]);
	return t.len;
}

static struct dentry *root;

void scx_show_root(bool visible)
{
	if (root)
		pseudo_show(root, visible);
}

static int scx_sysfs_init(void)
{
	static const struct pseudo_file files[] = {
		{ .name = "kernel/sched_ext/state", .mode = 0444, .show = show_state },
		{ .name = "kernel/sched_ext/switch_all", .mode = 0444, .show = show_switch_all },
		{ .name = "kernel/sched_ext/enable_seq", .mode = 0444, .show = show_enable_seq },
		{ .name = "kernel/sched_ext/nr_rejected", .mode = 0444, .show = show_nr_rejected },
		{ .name = "kernel/sched_ext/hotplug_seq", .mode = 0444, .show = show_hotplug_seq },
		{ .name = "kernel/sched_ext/root/ops", .mode = 0444, .show = show_ops },
		{ .name = "kernel/sched_ext/root/events", .mode = 0444, .show = show_events },
	};
	int err = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(files) && !err; i++)
		err = sysfs_add(&files[i]);
	root = pseudo_find(&sysfs_type, "kernel/sched_ext/root");
	scx_show_root(false);
	return err;
}
INITCALL(scx_sysfs_init);

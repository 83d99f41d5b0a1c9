/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control files of /sys/kernel/tracing: names, texts and errors are Linux's, so that scripts
 * and trace-cmd find what they expect. Each file is a row of a table: a function that makes its
 * text, a function that takes a write. trace, trace_pipe and trace_pipe_raw are in text.c.
 *
 * Writers take trace_lock; readers of single settings do without.
 */
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"

bool tracefs_is(const char *text, size_t len, const char *word)
{
	len = pseudo_trim(text, len);
	return strlen(word) == len && !memcmp(text, word, len);
}

static size_t tracefs_show_constant(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s", (const char *)arg);
}

const char *tracefs_word(const char *text, size_t end, size_t *pos, size_t *len)
{
	const char *blanks = " \t\n,";
	size_t start;

	while (*pos < end && (!text[*pos] || strchr(blanks, text[*pos])))
		(*pos)++;
	start = *pos;
	while (*pos < end && text[*pos] && !strchr(blanks, text[*pos]))
		(*pos)++;
	*len = *pos - start;
	return *len ? text + start : NULL;
}

int tracefs_lock(void *arg)
{
	mutex_lock(&trace_lock);
	if (instance_of(arg)->live)
		return 0;
	mutex_unlock(&trace_lock);
	return -ENODEV;
}

long tracefs_unlock(int err, size_t len)
{
	mutex_unlock(&trace_lock);
	return err ? err : (long)len;
}

int tracefs_open(void *arg)
{
	int err = tracefs_lock(arg);

	if (err)
		return err;
	instance_of(arg)->nr_open++;
	return (int)tracefs_unlock(0, 0);
}

void tracefs_release(struct trace_instance *t)
{
	mutex_lock(&trace_lock);
	debug_assert(t->nr_open);
	t->nr_open--;
	mutex_unlock(&trace_lock);
}

/* --- on and off ------------------------------------------------------------------------------ */

static size_t show_tracing_on(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%d\n", READ_ONCE(instance_of(arg)->recording));
}

static long store_tracing_on(void *arg, const char *text, size_t len)
{
	u64 value;
	int err;

	if (parse_u64(text, len, &value))
		return -EINVAL;
	err = tracefs_lock(arg);
	if (err)
		return err;
	trace_set_on(instance_of(arg), value);
	return tracefs_unlock(0, len);
}

/* --- events ---------------------------------------------------------------------------------- */

/*
 * The number of an event's files is its own + 1, of a system's files that of its first event; 0
 * means all events.
 */
static const struct trace_event *event_of(void *arg)
{
	return &trace_events[number_of(arg) - 1];
}

static u64 mask_of_event(void *arg)
{
	return BIT(number_of(arg) - 1);
}

static u64 mask_of_system(void *arg)
{
	const char *system = number_of(arg) ? event_of(arg)->system : "*";

	return trace_events_matching(system, strlen(system)) & trace_events_switchable();
}

static size_t show_enable(void *arg, u64 mask, char *buf, size_t size)
{
	u64 on = READ_ONCE(instance_of(arg)->events_on) & mask;

	return (size_t)snprintf(buf, size, "%c\n", !on ? '0' : on == mask ? '1' : 'X');
}

static long store_enable(void *arg, u64 mask, const char *text, size_t len)
{
	struct trace_instance *t = instance_of(arg);
	bool on;
	int err;

	if (parse_bool(text, len, &on))
		return -EINVAL;
	err = tracefs_lock(arg);
	if (err)
		return err;
	err = trace_set_events(t, on ? t->events_on | mask : t->events_on & ~mask);
	return tracefs_unlock(err, len);
}

static size_t show_event_enable(void *arg, char *buf, size_t size)
{
	return show_enable(arg, mask_of_event(arg), buf, size);
}

static long store_event_enable(void *arg, const char *text, size_t len)
{
	return store_enable(arg, mask_of_event(arg), text, len);
}

static size_t show_system_enable(void *arg, char *buf, size_t size)
{
	return show_enable(arg, mask_of_system(arg), buf, size);
}

static long store_system_enable(void *arg, const char *text, size_t len)
{
	return store_enable(arg, mask_of_system(arg), text, len);
}

static size_t show_event_filter(void *arg, char *buf, size_t size)
{
	return trace_show_filter(arg, number_of(arg) - 1, buf, size);
}

static long store_event_filter(void *arg, const char *text, size_t len)
{
	return trace_store_filter(arg, mask_of_event(arg), text, len);
}

static size_t show_event_trigger(void *arg, char *buf, size_t size)
{
	return trace_show_trigger(arg, number_of(arg) - 1, buf, size);
}

static long store_event_trigger(void *arg, const char *text, size_t len)
{
	return trace_store_trigger(arg, number_of(arg) - 1, text, len);
}

static void truncate_event_trigger(void *arg)
{
	trace_truncate_trigger(arg, number_of(arg) - 1);
}

static size_t show_event_hist(void *arg, char *buf, size_t size)
{
	return trace_show_hist(arg, number_of(arg) - 1, buf, size);
}

static size_t show_system_filter(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size,
				"### global filter ###\n"
				"# Use this to set filters for multiple events.\n"
				"# Only events with the given fields will be affected.\n"
				"# If no events are modified, an error message will be displayed "
				"here\n");
}

static long store_system_filter(void *arg, const char *text, size_t len)
{
	return trace_store_filter(arg, mask_of_system(arg), text, len);
}

static size_t show_event_format(void *arg, char *buf, size_t size)
{
	return trace_event_format(event_of(arg), buf, size);
}

static size_t show_event_id(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%d\n", event_of(arg)->id);
}

static size_t show_events(u64 mask, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++) {
		if (mask & BIT(nr))
			text_add(&out, "%s:%s\n", trace_events[nr].system, trace_events[nr].name);
	}
	return out.len;
}

static size_t show_available_events(void *arg, char *buf, size_t size)
{
	(void)arg;
	return show_events(trace_events_switchable(), buf, size);
}

static size_t show_set_event(void *arg, char *buf, size_t size)
{
	return show_events(READ_ONCE(instance_of(arg)->events_on), buf, size);
}

/* Words "sys:event", "sys:*", "event"; with ! in front they are switched off. All or nothing. */
static long store_set_event(void *arg, const char *text, size_t len)
{
	struct trace_instance *t = instance_of(arg);
	size_t pos = 0, word_len;
	const char *word;
	int err = tracefs_lock(arg);
	u64 on;

	if (err)
		return err;
	on = t->events_on;
	while (!err && (word = tracefs_word(text, len, &pos, &word_len))) {
		bool off = *word == '!';
		u64 mask = trace_events_matching(word + off, word_len - off);

		if (!mask)
			err = -EINVAL;
		on = off ? on & ~mask : on | mask;
	}
	return tracefs_unlock(err ? err : trace_set_events(t, on), len);
}

static void truncate_set_event(void *arg)
{
	if (tracefs_lock(arg))
		return;
	trace_set_events(instance_of(arg), 0);
	tracefs_unlock(0, 0);
}

/* --- for programs that expect a function tracer ---------------------------------------------- */

static long store_tracer(void *arg, const char *text, size_t len)
{
	(void)arg;
	return tracefs_is(text, len, "nop") ? (long)len : -EINVAL;
}

/* --- trace_marker ---------------------------------------------------------------------------- */

static long marker_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	struct trace_instance *t = instance_of(inode_arg(f->inode));
	char text[TRACE_MARKER_MAX];

	(void)pos;
	if (!READ_ONCE(t->recording))
		return -EBADF;
	n = min(n, sizeof(text));
	if (!n)
		return 0;
	if (arch_copy_from_user(text, user_buf, n))
		return -EFAULT;
	return tracing_mark_write(t, text, n);
}

/* A thread that writes a mark must not wait for one that was preempted while it wrote its own. */
static int marker_open(struct inode *i, struct file *f)
{
	file_stream(f);
	return tracefs_open(inode_arg(i));
}

static void marker_release(struct file *f)
{
	tracefs_release(instance_of(inode_arg(f->inode)));
}

static long marker_truncate(struct inode *i, u64 size)
{
	(void)i;
	(void)size;
	return 0;
}

static const struct file_ops marker_ops = {
	.open = marker_open,
	.write = marker_write,
	.truncate = marker_truncate,
	.release = marker_release,
};

/* --- the tables ------------------------------------------------------------------------------ */

static size_t show_tracer(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "nop\n");
}

static size_t show_header_page(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%s", trace_header_page);
}

static size_t show_header_event(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%s", trace_header_event);
}

/* In the top directory only. */
static const struct pseudo_file top_files[] = {
	{ .name = "available_tracers",
	  .mode = 0440,
	  .show = tracefs_show_constant,
	  .arg = ARG("nop\n") },
	{ .name = "available_events", .mode = 0440, .show = show_available_events },
	{ .name = "set_ftrace_pid",
	  .mode = 0640,
	  .show = trace_show_function_pids,
	  .store = trace_store_function_pids,
	  .truncate = trace_truncate_function_pids },
	{ .name = "saved_cmdlines", .mode = 0440, .show = trace_show_cmdlines },
	{ .name = "printk_formats", .mode = 0440, .show = tracefs_show_constant, .arg = ARG("") },
};

/* In the directory of each instance. */
static const struct pseudo_file control_files[] = {
	{ .name = "tracing_on", .mode = 0640, .show = show_tracing_on, .store = store_tracing_on },
	{ .name = "trace", .mode = 0640, .ops = &trace_text_ops },
	{ .name = "trace_pipe", .mode = 0440, .ops = &trace_pipe_ops },
	{ .name = "trace_marker", .mode = 0220, .ops = &marker_ops },
	{ .name = "current_tracer", .mode = 0640, .show = show_tracer, .store = store_tracer },
	{ .name = "set_event",
	  .mode = 0640,
	  .show = show_set_event,
	  .store = store_set_event,
	  .truncate = truncate_set_event },
	{ .name = "set_event_pid",
	  .mode = 0640,
	  .show = trace_show_pids,
	  .store = trace_store_pids,
	  .truncate = trace_truncate_pids },
	{ .name = "error_log",
	  .mode = 0640,
	  .show = trace_show_error,
	  .store = trace_store_error,
	  .truncate = trace_truncate_error },
	{ .name = "events/enable",
	  .mode = 0640,
	  .show = show_system_enable,
	  .store = store_system_enable },
	{ .name = "events/header_page", .mode = 0440, .show = show_header_page },
	{ .name = "events/header_event", .mode = 0440, .show = show_header_event },
};

/* The files in events/SYSTEM; their number is that of the system's first event. */
static const struct pseudo_file system_files[] = {
	{ .name = "enable",
	  .mode = 0640,
	  .show = show_system_enable,
	  .store = store_system_enable },
	{ .name = "filter",
	  .mode = 0640,
	  .show = show_system_filter,
	  .store = store_system_filter },
};

/* The files in events/SYSTEM/EVENT; the first four only where the event can be switched. */
static const struct pseudo_file event_files[] = {
	{ .name = "enable", .mode = 0640, .show = show_event_enable, .store = store_event_enable },
	{ .name = "filter", .mode = 0640, .show = show_event_filter, .store = store_event_filter },
	{ .name = "trigger",
	  .mode = 0640,
	  .show = show_event_trigger,
	  .store = store_event_trigger,
	  .truncate = truncate_event_trigger },
	{ .name = "hist", .mode = 0440, .show = show_event_hist },
	{ .name = "format", .mode = 0440, .show = show_event_format },
	{ .name = "id", .mode = 0440, .show = show_event_id },
};

int tracefs_add_file(unsigned i, const char *dir, const struct pseudo_file *file, unsigned n)
{
	struct pseudo_file pf = *file;
	char name[128];

	debug_assert(strlen(tracefs_prefix(i)) + strlen(dir) + strlen(file->name) < sizeof(name));
	snprintf(name, sizeof(name), "%s%s%s", tracefs_prefix(i), dir, file->name);
	pf.name = name;
	pf.arg = TRACE_ARG(i, n);
	return tracefs_add(&pf);
}

int tracefs_add_dir(unsigned i, const char *dir, const struct pseudo_file *files, unsigned nr,
		    unsigned n)
{
	int err = 0;

	for (unsigned f = 0; f < nr && !err; f++)
		err = tracefs_add_file(i, dir, &files[f], n);
	return err;
}

static int add_event(unsigned i, unsigned nr)
{
	const struct trace_event *ev = &trace_events[nr];
	unsigned skip = trace_events_switchable() & BIT(nr) ? 0 : 4;
	bool first_of_system = true;
	char dir[64];
	int err = 0;

	debug_assert(i < NR_TRACE_INSTANCES && nr < NR_TRACE_EVENTS);
	for (unsigned before = 0; before < nr; before++)
		first_of_system &= strcmp(trace_events[before].system, ev->system) != 0;
	snprintf(dir, sizeof(dir), "events/%s/", ev->system);
	if (first_of_system && !skip)
		err = tracefs_add_dir(i, dir, system_files, ARRAY_SIZE(system_files), nr + 1);
	snprintf(dir, sizeof(dir), "events/%s/%s/", ev->system, ev->name);
	return err ? err
		   : tracefs_add_dir(i, dir, event_files + skip, ARRAY_SIZE(event_files) - skip,
				     nr + 1);
}

int tracefs_add_control(unsigned i)
{
	return tracefs_add_dir(i, "", control_files, ARRAY_SIZE(control_files), 0);
}

int tracefs_add_events(unsigned i)
{
	int err = 0;

	for (unsigned nr = 0; nr < NR_TRACE_EVENTS && !err; nr++)
		err = add_event(i, nr);
	return err;
}

static int tracefs_init(void)
{
	int err = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(top_files) && !err; i++)
		err = tracefs_add(&top_files[i]);
	return err;
}
INITCALL(tracefs_init);

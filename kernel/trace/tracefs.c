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

size_t tracefs_show_constant(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s", (const char *)arg);
}

/* The next word of @text from *pos on: its start, its length in *len; NULL at the end. */
static const char *next_word(const char *text, size_t end, size_t *pos, size_t *len)
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

/* --- on and off ------------------------------------------------------------------------------ */

static size_t show_tracing_on(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%d\n", trace_is_on());
}

static long store_tracing_on(void *arg, const char *text, size_t len)
{
	u64 value;

	(void)arg;
	if (parse_u64(text, len, &value))
		return -EINVAL;
	mutex_lock(&trace_lock);
	trace_set_on(value);
	mutex_unlock(&trace_lock);
	return (long)len;
}

/* --- events ---------------------------------------------------------------------------------- */

/*
 * The arg of an event's files is its number + 1, of a system's files that of its first event; 0
 * means all events.
 */
static const struct trace_event *event_of(void *arg)
{
	return &trace_events[(uintptr_t)arg - 1];
}

static u64 mask_of_event(void *arg)
{
	return BIT((uintptr_t)arg - 1);
}

static u64 mask_of_system(void *arg)
{
	const char *system = arg ? event_of(arg)->system : "*";

	return trace_events_matching(system, strlen(system)) & trace_events_switchable();
}

static size_t show_enable(u64 mask, char *buf, size_t size)
{
	u64 on = trace_events_on() & mask;

	return (size_t)snprintf(buf, size, "%c\n", !on ? '0' : on == mask ? '1' : 'X');
}

static long store_enable(u64 mask, const char *text, size_t len)
{
	u64 value;
	int err;

	if (parse_u64(text, len, &value) || value > 1)
		return -EINVAL;
	mutex_lock(&trace_lock);
	err = trace_set_events(value ? trace_events_on() | mask : trace_events_on() & ~mask);
	mutex_unlock(&trace_lock);
	return err ? err : (long)len;
}

static size_t show_event_enable(void *arg, char *buf, size_t size)
{
	return show_enable(mask_of_event(arg), buf, size);
}

static long store_event_enable(void *arg, const char *text, size_t len)
{
	return store_enable(mask_of_event(arg), text, len);
}

static size_t show_system_enable(void *arg, char *buf, size_t size)
{
	return show_enable(mask_of_system(arg), buf, size);
}

static long store_system_enable(void *arg, const char *text, size_t len)
{
	return store_enable(mask_of_system(arg), text, len);
}

static size_t show_no_filter(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "none\n");
}

static size_t show_no_filters(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "### global filter ###\n");
}

/* There are no filters, so only "0", which removes one, can be written. */
static long store_filter(void *arg, const char *text, size_t len)
{
	(void)arg;
	return tracefs_is(text, len, "0") ? (long)len : -EINVAL;
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
	(void)arg;
	return show_events(trace_events_on(), buf, size);
}

/* Words "sys:event", "sys:*", "event"; with ! in front they are switched off. All or nothing. */
static long store_set_event(void *arg, const char *text, size_t len)
{
	size_t pos = 0, word_len;
	const char *word;
	long ret = (long)len;
	u64 on;

	(void)arg;
	mutex_lock(&trace_lock);
	on = trace_events_on();
	while ((word = next_word(text, len, &pos, &word_len))) {
		bool off = *word == '!';
		u64 mask = trace_events_matching(word + off, word_len - off);

		if (!mask) {
			ret = -EINVAL;
			break;
		}
		on = off ? on & ~mask : on | mask;
	}
	if (ret >= 0) {
		int err = trace_set_events(on);

		ret = err ? err : ret;
	}
	mutex_unlock(&trace_lock);
	return ret;
}

static void truncate_set_event(void *arg)
{
	(void)arg;
	mutex_lock(&trace_lock);
	trace_set_events(0);
	mutex_unlock(&trace_lock);
}

/* --- for programs that expect a function tracer ---------------------------------------------- */

static long store_tracer(void *arg, const char *text, size_t len)
{
	(void)arg;
	return tracefs_is(text, len, "nop") ? (long)len : -EINVAL;
}

/* No function is traced, so no list of processes restricts it; clearing the list always works. */
static long store_ftrace_pid(void *arg, const char *text, size_t len)
{
	size_t pos = 0, word_len;

	(void)arg;
	return next_word(text, len, &pos, &word_len) ? -EINVAL : (long)len;
}

/* --- trace_marker ---------------------------------------------------------------------------- */

static long marker_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	char text[TRACE_MARKER_MAX];

	(void)f;
	(void)pos;
	if (!trace_is_on())
		return -EBADF;
	n = min(n, sizeof(text));
	if (!n)
		return 0;
	if (arch_copy_from_user(text, user_buf, n))
		return -EFAULT;
	return tracing_mark_write(text, n);
}

static long marker_truncate(struct inode *i, u64 size)
{
	(void)i;
	(void)size;
	return 0;
}

static const struct file_ops marker_ops = { .write = marker_write, .truncate = marker_truncate };

/* --- the tables ------------------------------------------------------------------------------ */

static const struct pseudo_file top_files[] = {
	{ .name = "tracing_on", .mode = 0640, .show = show_tracing_on, .store = store_tracing_on },
	{ .name = "trace", .mode = 0640, .ops = &trace_text_ops },
	{ .name = "trace_pipe", .mode = 0440, .ops = &trace_pipe_ops },
	{ .name = "trace_marker", .mode = 0220, .ops = &marker_ops },
	{ .name = "current_tracer",
	  .mode = 0640,
	  .show = tracefs_show_constant,
	  .store = store_tracer,
	  .arg = ARG("nop\n") },
	{ .name = "available_tracers",
	  .mode = 0440,
	  .show = tracefs_show_constant,
	  .arg = ARG("nop\n") },
	{ .name = "available_events", .mode = 0440, .show = show_available_events },
	{ .name = "set_event",
	  .mode = 0640,
	  .show = show_set_event,
	  .store = store_set_event,
	  .truncate = truncate_set_event },
	{ .name = "set_ftrace_pid",
	  .mode = 0640,
	  .show = tracefs_show_constant,
	  .store = store_ftrace_pid,
	  .arg = ARG("no pid\n") },
	{ .name = "saved_cmdlines", .mode = 0440, .show = trace_show_cmdlines },
	{ .name = "printk_formats", .mode = 0440, .show = tracefs_show_constant, .arg = ARG("") },
	{ .name = "events/enable",
	  .mode = 0640,
	  .show = show_system_enable,
	  .store = store_system_enable },
	{ .name = "events/header_page",
	  .mode = 0440,
	  .show = tracefs_show_constant,
	  .arg = ARG(trace_header_page) },
	{ .name = "events/header_event",
	  .mode = 0440,
	  .show = tracefs_show_constant,
	  .arg = ARG(trace_header_event) },
};

/* The files in events/SYSTEM; their arg is made from the system's first event. */
static const struct pseudo_file system_files[] = {
	{ .name = "enable",
	  .mode = 0640,
	  .show = show_system_enable,
	  .store = store_system_enable },
	{ .name = "filter", .mode = 0640, .show = show_no_filters, .store = store_filter },
};

/* The files in events/SYSTEM/EVENT; the first two only where the event can be switched. */
static const struct pseudo_file event_files[] = {
	{ .name = "enable", .mode = 0640, .show = show_event_enable, .store = store_event_enable },
	{ .name = "filter", .mode = 0640, .show = show_no_filter, .store = store_filter },
	{ .name = "format", .mode = 0440, .show = show_event_format },
	{ .name = "id", .mode = 0440, .show = show_event_id },
};

int tracefs_add_dir(const struct pseudo_file *files, unsigned nr, const char *dir, uintptr_t arg)
{
	for (unsigned i = 0; i < nr; i++) {
		struct pseudo_file pf = files[i];
		char name[80];
		int err;

		snprintf(name, sizeof(name), "%s/%s", dir, pf.name);
		pf.name = name;
		pf.arg = (void *)arg;
		err = tracefs_add(&pf);
		if (err)
			return err;
	}
	return 0;
}

static int add_event(unsigned nr)
{
	const struct trace_event *ev = &trace_events[nr];
	unsigned skip = trace_events_switchable() & BIT(nr) ? 0 : 2;
	bool first_of_system = true;
	char dir[64];
	int err = 0;

	for (unsigned before = 0; before < nr; before++)
		first_of_system &= strcmp(trace_events[before].system, ev->system) != 0;
	snprintf(dir, sizeof(dir), "events/%s", ev->system);
	if (first_of_system && !skip)
		err = tracefs_add_dir(system_files, ARRAY_SIZE(system_files), dir, nr + 1);
	snprintf(dir, sizeof(dir), "events/%s/%s", ev->system, ev->name);
	return err ? err
		   : tracefs_add_dir(event_files + skip, ARRAY_SIZE(event_files) - skip, dir,
				     nr + 1);
}

static int tracefs_init(void)
{
	int err = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(top_files) && !err; i++)
		err = tracefs_add(&top_files[i]);
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS && !err; nr++)
		err = add_event(nr);
	return err;
}
INITCALL(tracefs_init);

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control files that say which records of an event are kept: filters, threads, and the log of
 * what was wrong with a filter or a trigger.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"

/* --- error_log ------------------------------------------------------------------------------- */

#define COMMAND_SHOWN 120

/* The last command that was none; of all instances. guarded by: trace_lock */
static struct {
	u64 time;	/* ns; 0: there is none */
	char where[64]; /* what was asked for */
	struct trace_filter_error error;
	char command[COMMAND_SHOWN];
} last_error;

static void log_error(const char *where, const char *text, size_t len,
		      const struct trace_filter_error *error)
{
	assert(mutex_is_held(&trace_lock));
	str_copy(last_error.where, where, sizeof(last_error.where));
	last_error.time = arch_clock_ns();
	last_error.error = *error;
	str_copy(last_error.command, text, min(len + 1, sizeof(last_error.command)));
}

void trace_log_error(unsigned event, const char *text, size_t len,
		     const struct trace_filter_error *error)
{
	char where[sizeof(last_error.where)];

	debug_assert(mutex_is_held(&trace_lock));
	snprintf(where, sizeof(where), "hist:%s:%s", trace_events[event].system,
		 trace_events[event].name);
	log_error(where, text, len, error);
}

size_t trace_show_error(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	if (tracefs_lock(arg))
		return 0;
	if (last_error.time) {
		text_add(&out, "[%5llu.%06llu] %s: error: %s\n", last_error.time / NS_PER_SEC,
			 last_error.time % NS_PER_SEC / NS_PER_US, last_error.where,
			 last_error.error.what);
		text_add(&out, "  Command: %s\n           ", last_error.command);
		for (size_t i = 0; i < min(last_error.error.at, (size_t)COMMAND_SHOWN); i++)
			text_add(&out, " ");
		text_add(&out, "^\n");
	}
	tracefs_unlock(0, 0);
	return out.len;
}

/* As with `trace`, opening with O_TRUNC is what clears it. */
long trace_store_error(void *arg, const char *text, size_t len)
{
	(void)arg;
	(void)text;
	return (long)len;
}

void trace_truncate_error(void *arg)
{
	if (tracefs_lock(arg))
		return;
	last_error.time = 0;
	tracefs_unlock(0, 0);
}

/* --- filter ---------------------------------------------------------------------------------- */

size_t trace_show_filter(void *arg, unsigned event, char *buf, size_t size)
{
	const struct trace_filter *f;
	size_t len;

	debug_assert(event < NR_TRACE_EVENTS);
	if (tracefs_lock(arg))
		return 0;
	f = instance_of(arg)->filter[event];
	len = (size_t)snprintf(buf, size, "%s\n", f ? trace_filter_text(f) : "none");
	tracefs_unlock(0, 0);
	return len;
}

/* Makes the filters of the events of @mask. 0, or -errno with nothing changed. trace_lock held. */
static int replace_filters(struct trace_instance *t, u64 mask, const char *text, size_t len)
{
	struct trace_filter *made[NR_TRACE_EVENTS] = { NULL };
	struct trace_filter_error error;
	unsigned nr_made = 0;

	assert(mutex_is_held(&trace_lock));
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++) {
		if (mask & BIT(nr))
			made[nr] = trace_filter_parse(nr, text, len, &error);
		nr_made += made[nr] != NULL;
	}
	if (!nr_made) {
		if (error.what)
			log_error("event filter parse error", text, len, &error);
		return error.what ? -EINVAL : -ENOMEM;
	}
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++) {
		if (mask & BIT(nr))
			trace_set_filter(t, nr, made[nr]);
	}
	return 0;
}

long trace_store_filter(void *arg, u64 mask, const char *text, size_t len)
{
	size_t text_len = pseudo_trim(text, len);
	bool none = tracefs_is(text, len, "0");
	int err = tracefs_lock(arg);

	if (err)
		return err;
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS && none; nr++) {
		if (mask & BIT(nr))
			trace_set_filter(instance_of(arg), nr, NULL);
	}
	if (!none)
		err = replace_filters(instance_of(arg), mask, text, text_len);
	return tracefs_unlock(err, len);
}

/* --- set_event_pid --------------------------------------------------------------------------- */

static void add_list(struct text *out, const u64 *pids)
{
	debug_assert(mutex_is_held(&trace_lock));
	for (unsigned pid = 0; pid < PID_MAX; pid++) {
		if (pids[pid / 64] & BIT(pid % 64))
			text_add(out, "%u\n", pid);
	}
}

size_t trace_show_pids(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	if (tracefs_lock(arg))
		return 0;
	if (instance_of(arg)->pids)
		add_list(&out, instance_of(arg)->pids);
	tracefs_unlock(0, 0);
	return out.len;
}

/* Adds the numbers in @text to @pids. 0 or -EINVAL. */
static int add_pids(u64 *pids, const char *text, size_t len)
{
	size_t pos = 0, word_len;
	const char *word;
	u64 pid;

	while ((word = tracefs_word(text, len, &pos, &word_len))) {
		if (parse_u64(word, word_len, &pid) || pid >= PID_MAX)
			return -EINVAL;
		pids_add(pids, (int)pid);
	}
	return 0;
}

/* A copy of @pids, or an empty list, with the numbers in @text. NULL and -errno in *err: none. */
static u64 *longer_list(const u64 *pids, const char *text, size_t len, int *err)
{
	u64 *copy = kzalloc(PID_MAX / 8);

	debug_assert(mutex_is_held(&trace_lock));
	*err = copy ? 0 : -ENOMEM;
	if (copy && pids)
		memcpy(copy, pids, PID_MAX / 8);
	if (copy)
		*err = add_pids(copy, text, len);
	if (*err) {
		kfree(copy);
		return NULL;
	}
	return copy;
}

/* Adds to those that are there; opening with O_TRUNC has taken them away. */
long trace_store_pids(void *arg, const char *text, size_t len)
{
	struct trace_instance *t = instance_of(arg);
	size_t pos = 0, word_len;
	u64 *pids;
	int err;

	if (!tracefs_word(text, len, &pos, &word_len))
		return (long)len;
	err = tracefs_lock(arg);
	if (err)
		return err;
	pids = longer_list(t->pids, text, len, &err);
	if (pids)
		trace_set_pids(t, pids);
	return tracefs_unlock(err, len);
}

void trace_truncate_pids(void *arg)
{
	if (tracefs_lock(arg))
		return;
	trace_set_pids(instance_of(arg), NULL);
	tracefs_unlock(0, 0);
}

/* --- set_ftrace_pid -------------------------------------------------------------------------- */

/*
 * The threads that a function tracer would be restricted to; the only tracer here, nop, traces no
 * function. guarded by: trace_lock
 */
static u64 *function_pids;

size_t trace_show_function_pids(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	(void)arg;
	mutex_lock(&trace_lock);
	if (function_pids)
		add_list(&out, function_pids);
	else
		text_add(&out, "no pid\n");
	mutex_unlock(&trace_lock);
	return out.len;
}

long trace_store_function_pids(void *arg, const char *text, size_t len)
{
	size_t pos = 0, word_len;
	u64 *pids;
	int err;

	(void)arg;
	if (!tracefs_word(text, len, &pos, &word_len))
		return (long)len;
	mutex_lock(&trace_lock);
	pids = longer_list(function_pids, text, len, &err);
	if (pids) {
		kfree(function_pids);
		function_pids = pids;
	}
	return tracefs_unlock(err, len);
}

void trace_truncate_function_pids(void *arg)
{
	(void)arg;
	mutex_lock(&trace_lock);
	kfree(function_pids);
	function_pids = NULL;
	mutex_unlock(&trace_lock);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files trigger and hist of an event: commands that make, stop and end histograms, and what
 * they counted. Words and errors are Linux's.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/trace/hist.h"
#include "lib/errno.h"
#include "lib/math64.h"
#include "lib/string.h"

#define DEFAULT_SIZE 2048u
#define LEAST_SIZE   128u
#define MOST_SIZE    131072u

static const char *const modifier_names[] = {
	[HIST_PLAIN] = "",	     [HIST_HEX] = ".hex",	    [HIST_LOG2] = ".log2",
	[HIST_BUCKETS] = ".buckets", [HIST_EXECNAME] = ".execname",
};

/* --- reading a command ----------------------------------------------------------------------- */

/* A part of the command. */
struct span {
	const char *text;
	size_t len;
};

enum hist_act { ACT_MAKE, ACT_PAUSE, ACT_CONTINUE, ACT_CLEAR };

struct command {
	bool remove;
	enum hist_act act;
	struct hist_spec spec;
	struct span keys, vals,
		sorts; /* lists of names; sorts are read when the others are known */
	struct span filter;
	struct trace_filter_error error; /* at: a position in the whole text */
	const char *whole;
};

static bool is(struct span s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.text, word, s.len);
}

/* Takes the part of *rest before @mark away, or all of it; *rest then begins after @mark. */
static struct span take_until(struct span *rest, char mark)
{
	const char *end = memchr(rest->text, mark, rest->len);
	struct span part = { rest->text, end ? (size_t)(end - rest->text) : rest->len };
	size_t used = part.len + (end != NULL);

	*rest = (struct span){ rest->text + used, rest->len - used };
	return part;
}

static int refuse(struct command *c, const char *what, const char *at)
{
	c->error = (struct trace_filter_error){ what, (size_t)(at - c->whole) };
	return -EINVAL;
}

static int parse_modifier(struct command *c, struct hist_field *f, struct span modifier)
{
	struct span name = take_until(&modifier, '=');
	const struct trace_field *field = &f->field;

	if (is(name, "hex"))
		f->modifier = HIST_HEX;
	else if (is(name, "log2"))
		f->modifier = HIST_LOG2;
	else if (is(name, "execname") && !strcmp(field->name, "common_pid"))
		f->modifier = HIST_EXECNAME;
	else if (is(name, "buckets") && !parse_u64(modifier.text, modifier.len, &f->width) &&
		 f->width)
		f->modifier = HIST_BUCKETS;
	else
		return refuse(c, "Invalid field modifier", name.text);
	return field->kind == FIELD_TEXT ? refuse(c, "Invalid field modifier", name.text) : 0;
}

/* NAME[.MODIFIER] of @event. The CPU is called common_cpu unless the event has a field cpu. */
static int parse_field(struct command *c, unsigned event, struct span word, struct hist_field *f)
{
	struct span name = take_until(&word, '.');
	const struct trace_field *field = is(name, "common_cpu")
						  ? trace_field_find(event, "CPU", 3)
						  : trace_field_find(event, name.text, name.len);

	if (!field || field->kind == FIELD_CURRENT_COMM || field->kind == FIELD_LOCATION)
		return refuse(c, "Couldn't find field", name.text);
	f->field = *field;
	f->words = field->kind == FIELD_TEXT ? HIST_TEXT_WORDS : 1;
	if (field->kind == FIELD_CPU)
		f->field.name = "common_cpu";
	return word.text == name.text + name.len ? 0 : parse_modifier(c, f, word);
}

static int parse_keys(struct command *c, unsigned event)
{
	struct span rest = c->keys;
	int err = rest.len ? 0 : -EINVAL;

	while (rest.len && !err) {
		if (c->spec.nr_keys == HIST_KEYS)
			return -EINVAL;
		err = parse_field(c, event, take_until(&rest, ','),
				  &c->spec.keys[c->spec.nr_keys++]);
	}
	return err;
}

/* Hits are counted whether or not they are in the list. Texts cannot be added up. */
static int parse_vals(struct command *c, unsigned event)
{
	struct span rest = c->vals;
	int err = 0;

	c->spec.nr_vals = 1;
	while (rest.len && !err) {
		struct span name = take_until(&rest, ',');
		struct hist_field *f = &c->spec.vals[c->spec.nr_vals];

		if (is(name, "hitcount"))
			continue;
		if (c->spec.nr_vals == HIST_VALS)
			return -EINVAL;
		err = parse_field(c, event, name, f);
		if (!err && (f->field.kind == FIELD_TEXT || f->modifier > HIST_HEX))
			err = refuse(c, "Invalid field modifier", name.text);
		c->spec.nr_vals++;
	}
	return err;
}

/* The number that a sort has for the column @name, or -1. */
static int column_of(const struct hist_spec *spec, struct span name)
{
	if (is(name, "hitcount"))
		return 0;
	for (unsigned i = 1; i < spec->nr_vals; i++) {
		if (is(name, spec->vals[i].field.name))
			return (int)i;
	}
	for (unsigned i = 0; i < spec->nr_keys; i++) {
		if (is(name, spec->keys[i].field.name))
			return (int)(HIST_VALS + i);
	}
	return -1;
}

static int parse_sorts(struct command *c)
{
	struct span rest = c->sorts;

	if (!rest.len)
		c->spec.nr_sorts = 1; /* by hits, ascending */
	while (rest.len) {
		struct span order = take_until(&rest, ','), name = take_until(&order, '.');
		int of = column_of(&c->spec, name);

		if (of < 0)
			return refuse(c, "Sort field must be a key or a val", name.text);
		if (order.len && !is(order, "ascending") && !is(order, "descending"))
			return refuse(c, "Invalid sort modifier", order.text);
		if (c->spec.nr_sorts == HIST_SORTS)
			return refuse(c, "Too many sort fields (Max = 2)", name.text);
		c->spec.sorts[c->spec.nr_sorts++] =
			(struct hist_sort){ (u8)of, is(order, "descending") };
	}
	return 0;
}

static int parse_size(struct command *c, struct span word)
{
	u64 size;

	if (parse_u64(word.text, word.len, &size) || !size || size > MOST_SIZE)
		return -EINVAL;
	c->spec.size = LEAST_SIZE;
	while (c->spec.size < size)
		c->spec.size *= 2;
	return 0;
}

/* NAME=VALUE, or a word. */
static int parse_attribute(struct command *c, struct span text)
{
	struct span name = take_until(&text, '=');

	if (is(name, "keys") || is(name, "key"))
		c->keys = text;
	else if (is(name, "values") || is(name, "vals") || is(name, "val"))
		c->vals = text;
	else if (is(name, "sort"))
		c->sorts = text;
	else if (is(name, "size"))
		return parse_size(c, text);
	else if (is(name, "pause"))
		c->act = ACT_PAUSE;
	else if (is(name, "continue") || is(name, "cont"))
		c->act = ACT_CONTINUE;
	else if (is(name, "clear"))
		c->act = ACT_CLEAR;
	else
		return -EINVAL;
	return 0;
}

/* [!]hist:ATTRIBUTE:...[ if FILTER]. 0 or -EINVAL, with c->error if there is more to say. */
static int parse_command(struct command *c, unsigned event, const char *text, size_t len)
{
	struct span rest = { text, len };
	const char *condition = strstr(text, " if "); /* a store's text has a NUL */
	int err = 0;

	*c = (struct command){ .whole = text, .spec.size = DEFAULT_SIZE };
	if (condition && condition < text + len) {
		rest.len = (size_t)(condition - text);
		c->filter = (struct span){ condition + 4, len - rest.len - 4 };
	}
	c->remove = len && *text == '!';
	if (c->remove)
		take_until(&rest, '!');
	if (!is(take_until(&rest, ':'), "hist"))
		return -EINVAL;
	while (rest.len && !err)
		err = parse_attribute(c, take_until(&rest, ':'));
	err = err ? err : parse_keys(c, event);
	err = err ? err : parse_vals(c, event);
	return err ? err : parse_sorts(c);
}

/* --- writing --------------------------------------------------------------------------------- */

static void add_field(struct text *out, const struct hist_field *f)
{
	text_add(out, "%s%s", f->field.name, modifier_names[f->modifier]);
	if (f->modifier == HIST_BUCKETS)
		text_add(out, "=%lu", f->width);
}

static const char *column_name(const struct hist_spec *spec, unsigned of)
{
	debug_assert(of < HIST_VALS + HIST_KEYS);
	return !of		? "hitcount"
	       : of < HIST_VALS ? spec->vals[of].field.name
				: spec->keys[of - HIST_VALS].field.name;
}

/* The command that makes @h, and what it does now. */
static void add_trigger(struct text *out, const struct trace_hist *h)
{
	const struct hist_spec *spec = &h->spec;

	text_add(out, "hist:keys=");
	for (unsigned i = 0; i < spec->nr_keys; i++) {
		text_add(out, "%s", i ? "," : "");
		add_field(out, &spec->keys[i]);
	}
	text_add(out, ":vals=hitcount");
	for (unsigned i = 1; i < spec->nr_vals; i++) {
		text_add(out, ",");
		add_field(out, &spec->vals[i]);
	}
	for (unsigned i = 0; i < spec->nr_sorts; i++)
		text_add(out, "%s%s%s", i ? "," : ":sort=", column_name(spec, spec->sorts[i].of),
			 spec->sorts[i].descending ? ".descending" : "");
	text_add(out, ":size=%u", spec->size);
	if (h->filter)
		text_add(out, " if %s", trace_filter_text(h->filter));
	text_add(out, " [%s]\n", h->paused ? "paused" : "active");
}

static void add_key(struct text *out, const struct hist_field *f, const u64 *key)
{
	text_add(out, "%s: ", f->field.name);
	if (f->field.kind == FIELD_TEXT)
		text_add(out, "%-50.*s", COMM_LEN, (const char *)key);
	else if (f->modifier == HIST_HEX)
		text_add(out, "%lx", *key);
	else if (f->modifier == HIST_LOG2)
		text_add(out, "~ 2^%-2lu", *key);
	else if (f->modifier == HIST_BUCKETS)
		text_add(out, "~ %lu-%lu", *key, *key + f->width - 1);
	else if (f->modifier == HIST_EXECNAME)
		text_add(out, "%-16.*s[%10lu]", COMM_LEN, trace_comm((int)*key), *key);
	else
		text_add(out, "%10lu", *key);
}

static void add_entry(struct text *out, const struct trace_hist *h, const u64 *entry)
{
	const u64 *key = entry + 1, *sums = key + h->key_words;

	for (unsigned i = 0; i < h->spec.nr_keys; i++) {
		text_add(out, "%s", i ? ", " : "{ ");
		add_key(out, &h->spec.keys[i], key);
		key += h->spec.keys[i].words;
	}
	text_add(out, " } hitcount: %10lu", sums[0]);
	for (unsigned i = 1; i < h->spec.nr_vals; i++) {
		bool hex = h->spec.vals[i].modifier == HIST_HEX;

		text_add(out, hex ? "  %s: %10lx" : "  %s: %10lu", h->spec.vals[i].field.name,
			 sums[i]);
	}
	text_add(out, "\n");
}

static void add_hist(struct text *out, const struct trace_hist *h)
{
	struct hist_sum sum;

	text_add(out, "# event histogram\n#\n# trigger info: ");
	add_trigger(out, h);
	text_add(out, "#\n\n");
	if (!hist_add_up(h, &sum)) {
		text_add(out, "# no memory to add it up\n");
		return;
	}
	for (u32 i = 0; i < sum.nr; i++)
		add_entry(out, h, sum.entries[i]);
	text_add(out, "\nTotals:\n    Hits: %lu\n    Entries: %u\n    Dropped: %lu\n", sum.hits,
		 sum.nr, sum.dropped);
	hist_sum_end(&sum);
}

/* --- the files ------------------------------------------------------------------------------- */

size_t trace_show_trigger(void *arg, unsigned event, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	debug_assert(event < NR_TRACE_EVENTS);
	if (tracefs_lock(arg))
		return 0;
	for (const struct trace_hist *h = instance_of(arg)->hists[event]; h; h = h->next)
		add_trigger(&out, h);
	if (!out.len)
		text_add(&out, "# Available triggers:\n# hist\n");
	tracefs_unlock(0, 0);
	return out.len;
}

size_t trace_show_hist(void *arg, unsigned event, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	debug_assert(event < NR_TRACE_EVENTS);
	if (tracefs_lock(arg))
		return 0;
	for (const struct trace_hist *h = instance_of(arg)->hists[event]; h; h = h->next) {
		text_add(&out, "%s", out.len ? "\n\n" : "");
		add_hist(&out, h);
	}
	tracefs_unlock(0, 0);
	return out.len;
}

static bool same_fields(const struct hist_field *a, const struct hist_field *b, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (strcmp(a[i].field.name, b[i].field.name) || a[i].modifier != b[i].modifier ||
		    a[i].width != b[i].width)
			return false;
	}
	return true;
}

/* Do two commands for one event mean the same histogram? Of sizes the first counts. */
static bool same_spec(const struct hist_spec *a, const struct hist_spec *b)
{
	if (a->nr_keys != b->nr_keys || a->nr_vals != b->nr_vals || a->nr_sorts != b->nr_sorts)
		return false;
	for (unsigned i = 0; i < a->nr_sorts; i++) {
		if (a->sorts[i].of != b->sorts[i].of ||
		    a->sorts[i].descending != b->sorts[i].descending)
			return false;
	}
	return same_fields(a->keys, b->keys, a->nr_keys) &&
	       same_fields(a->vals + 1, b->vals + 1, a->nr_vals - 1);
}

/* Where the pointer to the histogram of @c with @filter is, or the one at the end of the list. */
static struct trace_hist **find(struct trace_instance *t, unsigned event, const struct command *c,
				const struct trace_filter *filter)
{
	struct trace_hist **at = &t->hists[event];

	debug_assert(mutex_is_held(&trace_lock));
	for (; *at; at = &(*at)->next) {
		const struct trace_filter *its = (*at)->filter;

		if (same_spec(&(*at)->spec, &c->spec) && !its == !filter &&
		    (!its || !strcmp(trace_filter_text(its), trace_filter_text(filter))))
			break;
	}
	return at;
}

/* Take *@at, one of @event's, out of its list and end it. */
static void end_hist(struct trace_instance *t, unsigned event, struct trace_hist **at)
{
	struct trace_hist *h = *at;

	debug_assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(*at, h->next);
	if (!t->hists[event])
		t->hist_events &= ~BIT(event);
	trace_apply();
	trace_wait_for_writers();
	hist_free(h);
}

void trace_remove_hists(struct trace_instance *t, unsigned event)
{
	assert(mutex_is_held(&trace_lock));
	while (t->hists[event])
		end_hist(t, event, &t->hists[event]);
}

static void clear(struct trace_hist *h)
{
	bool was_paused = h->paused;

	debug_assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(h->paused, true);
	trace_wait_for_writers();
	hist_clear(h);
	WRITE_ONCE(h->paused, was_paused);
}

/* Puts a histogram at the end of the list, where *@at is; it owns @filter. 0 or -ENOMEM. */
static int add(struct trace_instance *t, unsigned event, struct trace_hist **at,
	       const struct command *c, struct trace_filter *filter)
{
	struct trace_hist *h = hist_make(&c->spec, filter);

	debug_assert(mutex_is_held(&trace_lock));
	if (!h)
		return -ENOMEM;
	h->paused = c->act == ACT_PAUSE;
	__atomic_store_n(at, h, __ATOMIC_RELEASE);
	t->hist_events |= BIT(event);
	trace_apply();
	return 0;
}

/* Does what @c says. *@filter is NULL afterwards if somebody owns it. trace_lock held. */
static int perform(struct trace_instance *t, unsigned event, struct command *c,
		   struct trace_filter **filter)
{
	struct trace_hist **at = find(t, event, c, *filter), *h = *at;
	int err = 0;

	debug_assert(mutex_is_held(&trace_lock));
	if (c->remove) {
		if (h)
			end_hist(t, event, at);
	} else if (h) {
		if (c->act == ACT_MAKE)
			err = -EEXIST;
		else if (c->act == ACT_CLEAR)
			clear(h);
		else
			WRITE_ONCE(h->paused, c->act == ACT_PAUSE);
	} else if (c->act == ACT_CONTINUE || c->act == ACT_CLEAR) {
		refuse(c, "Can't clear or continue a nonexistent hist trigger", c->whole);
		err = -ENOENT;
	} else {
		err = add(t, event, at, c, *filter);
		*filter = err ? *filter : NULL;
	}
	return err;
}

long trace_store_trigger(void *arg, unsigned event, const char *text, size_t len)
{
	size_t text_len = pseudo_trim(text, len), pos = 0, word_len;
	struct trace_filter_error unfit;
	struct trace_filter *filter = NULL;
	struct command c;
	int err;

	debug_assert(event < NR_TRACE_EVENTS);
	if (!tracefs_word(text, text_len, &pos, &word_len))
		return (long)len;
	err = tracefs_lock(arg);
	if (err)
		return err;
	err = parse_command(&c, event, text, text_len);
	if (!err && c.filter.len) {
		filter = trace_filter_parse(event, c.filter.text, c.filter.len, &unfit);
		err = filter ? 0 : unfit.what ? -EINVAL : -ENOMEM;
		if (err)
			refuse(&c, unfit.what, c.filter.text + unfit.at);
	}
	if (!err)
		err = perform(instance_of(arg), event, &c, &filter);
	trace_filter_free(filter);
	if (err && c.error.what)
		trace_log_error(event, text, text_len, &c.error);
	return tracefs_unlock(err, len);
}

void trace_truncate_trigger(void *arg, unsigned event)
{
	if (tracefs_lock(arg))
		return;
	trace_remove_hists(instance_of(arg), event);
	tracefs_unlock(0, 0);
}

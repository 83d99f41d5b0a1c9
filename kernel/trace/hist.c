/* SPDX-License-Identifier: GPL-2.0-only */
/* Histograms of events: counting, and adding up what the CPUs counted. hist.h has the idea. */
#include "kernel/trace/hist.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/math64.h"
#include "lib/string.h"

/* --- counting -------------------------------------------------------------------------------- */

/* @value as the key of its modifier. */
static u64 modified(const struct hist_field *f, u64 value)
{
	debug_assert(f->modifier != HIST_BUCKETS || f->width);
	if (f->modifier == HIST_LOG2) /* rounded up */
		return value > 1 ? ilog2(value - 1) + 1 : 0;
	if (f->modifier == HIST_BUCKETS)
		return value - value % f->width;
	return value;
}

static void make_key(const struct hist_spec *spec, const void *record, u64 *key)
{
	for (unsigned i = 0; i < spec->nr_keys; i++) {
		const struct hist_field *f = &spec->keys[i];

		if (f->field.kind == FIELD_TEXT) {
			const char *text = (const char *)record + f->field.offset;

			key[0] = key[1] = 0;
			memcpy(key, text, strnlen(text, COMM_LEN));
		} else {
			*key = modified(f, trace_field_number(&f->field, record));
		}
		key += f->words;
	}
}
STATIC_ASSERT(HIST_TEXT_WORDS == 2, "make_key() knows it");

static u32 hash_of(const u64 *key, unsigned words)
{
	u64 hash = 0;

	for (unsigned i = 0; i < words; i++)
		hash = (hash ^ key[i] ^ hash >> 29) * 0x9e3779b97f4a7c15ull;
	return (u32)(hash >> 32);
}

/* The entry of @key in the table @c; NULL: it is not there, and the table is full. */
static u64 *entry_of(const struct trace_hist *h, struct hist_cpu *c, const u64 *key)
{
	u32 mask = 2 * h->spec.size - 1, at = hash_of(key, h->key_words) & mask;
	u64 *entry = c->entries + (size_t)at * h->entry_words;

	debug_assert(!(h->spec.size & (h->spec.size - 1)));
	while (*entry && memcmp(entry + 1, key, h->key_words * sizeof(*key))) {
		at = (at + 1) & mask;
		entry = c->entries + (size_t)at * h->entry_words;
	}
	if (*entry)
		return entry;
	if (c->nr_used == h->spec.size)
		return NULL;
	c->nr_used++;
	memcpy(entry + 1, key, h->key_words * sizeof(*key));
	__atomic_store_n(entry, 1, __ATOMIC_RELEASE); /* a reader that sees it used sees its key */
	return entry;
}

static void count(struct trace_hist *h, const void *record)
{
	struct hist_cpu *c = &h->cpus[arch_cpu_id()];
	u64 key[HIST_KEYS * HIST_TEXT_WORDS], *entry, *sums;

	debug_assert(!arch_irq_enabled());
	make_key(&h->spec, record, key);
	entry = entry_of(h, c, key);
	if (!entry) {
		WRITE_ONCE(c->dropped, c->dropped + 1);
		return;
	}
	sums = entry + 1 + h->key_words;
	WRITE_ONCE(c->hits, c->hits + 1);
	WRITE_ONCE(sums[0], sums[0] + 1);
	for (unsigned i = 1; i < h->spec.nr_vals; i++)
		WRITE_ONCE(sums[i], sums[i] + trace_field_number(&h->spec.vals[i].field, record));
}

void trace_count(const struct trace_instance *t, unsigned event, const void *record)
{
	struct trace_hist *h = READ_ONCE(t->hists[event]);

	debug_assert(!arch_irq_enabled());
	for (; h; h = READ_ONCE(h->next)) {
		if (!READ_ONCE(h->paused) && (!h->filter || trace_filter_passes(h->filter, record)))
			count(h, record);
	}
}

/* --- making ---------------------------------------------------------------------------------- */

static size_t table_bytes(const struct trace_hist *h)
{
	return 2ull * h->spec.size * h->entry_words * sizeof(u64);
}

struct trace_hist *hist_make(const struct hist_spec *spec, struct trace_filter *filter)
{
	struct trace_hist *h = vmap_alloc(sizeof(*h));

	debug_assert(spec->nr_keys && spec->nr_vals);
	if (!h)
		return NULL;
	h->spec = *spec;
	for (unsigned i = 0; i < spec->nr_keys; i++)
		h->key_words += spec->keys[i].words;
	h->entry_words = 1 + h->key_words + spec->nr_vals;
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		h->cpus[cpu].entries = vmap_alloc(table_bytes(h));
		if (!h->cpus[cpu].entries) {
			hist_free(h);
			return NULL;
		}
	}
	h->filter = filter;
	return h;
}

void hist_free(struct trace_hist *h)
{
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		if (h->cpus[cpu].entries)
			vmap_free(h->cpus[cpu].entries);
	}
	trace_filter_free(h->filter);
	vmap_free(h);
}

void hist_clear(struct trace_hist *h)
{
	debug_assert(READ_ONCE(h->paused));
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		u64 *entries = h->cpus[cpu].entries;

		memset(entries, 0, table_bytes(h));
		h->cpus[cpu] = (struct hist_cpu){ .entries = entries };
	}
}

/* --- adding up ------------------------------------------------------------------------------- */

static void swap(u64 **a, u64 **b)
{
	u64 *was = *a;

	*a = *b;
	*b = was;
}

typedef int hist_compare(const struct trace_hist *h, const u64 *a, const u64 *b);

/* Sift the entry at @at down, so that all below are at most as great. */
static void sift(const struct trace_hist *h, u64 **list, u32 at, u32 nr, hist_compare *compare)
{
	for (u32 child; (child = 2 * at + 1) < nr; at = child) {
		if (child + 1 < nr && compare(h, list[child], list[child + 1]) < 0)
			child++;
		if (compare(h, list[at], list[child]) >= 0)
			return;
		swap(&list[at], &list[child]);
	}
}

static void sort(const struct trace_hist *h, u64 **list, u32 nr, hist_compare *compare)
{
	for (u32 at = nr / 2; at-- > 0;)
		sift(h, list, at, nr, compare);
	for (u32 last = nr; last-- > 1;) {
		swap(&list[0], &list[last]);
		sift(h, list, 0, last, compare);
	}
}

static int compare_numbers(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

/* By the key number @nr, or by the first key that differs. */
static int compare_key(const struct trace_hist *h, unsigned nr, const u64 *a, const u64 *b)
{
	const struct hist_field *f = &h->spec.keys[nr];
	unsigned at = 1;

	debug_assert(nr < h->spec.nr_keys);
	for (unsigned i = 0; i < nr; i++)
		at += h->spec.keys[i].words;
	if (f->field.kind == FIELD_TEXT)
		return memcmp(a + at, b + at, COMM_LEN);
	if (f->field.kind == FIELD_SIGNED && f->modifier == HIST_PLAIN)
		return (s64)a[at] < (s64)b[at] ? -1 : (s64)a[at] > (s64)b[at];
	return compare_numbers(a[at], b[at]);
}

static int by_keys(const struct trace_hist *h, const u64 *a, const u64 *b)
{
	int order = 0;

	for (unsigned i = 0; i < h->spec.nr_keys && !order; i++)
		order = compare_key(h, i, a, b);
	return order;
}

static int as_asked(const struct trace_hist *h, const u64 *a, const u64 *b)
{
	unsigned sums = 1 + h->key_words;
	int order = 0;

	for (unsigned i = 0; i < h->spec.nr_sorts && !order; i++) {
		const struct hist_sort *s = &h->spec.sorts[i];
		debug_assert(s->of < HIST_VALS + HIST_KEYS);

		order = s->of < HIST_VALS ? compare_numbers(a[sums + s->of], b[sums + s->of])
					  : compare_key(h, s->of - HIST_VALS, a, b);
		if (s->descending)
			order = -order;
	}
	return order ? order : by_keys(h, a, b);
}

/* Copies the entries in use of all CPUs to @sum; there is room for @most. */
static void collect(const struct trace_hist *h, struct hist_sum *sum, u32 most)
{
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		const struct hist_cpu *c = &h->cpus[cpu];

		sum->hits += READ_ONCE(c->hits);
		sum->dropped += READ_ONCE(c->dropped);
		for (u32 i = 0; i < 2 * h->spec.size && sum->nr < most; i++) {
			const u64 *from = c->entries + (size_t)i * h->entry_words;
			u64 *to = sum->room + (size_t)sum->nr * h->entry_words;

			if (!__atomic_load_n(from, __ATOMIC_ACQUIRE))
				continue;
			memcpy(to, from, h->entry_words * sizeof(u64));
			sum->entries[sum->nr++] = to;
		}
	}
}

/* Entries with one key, which are beside each other, become one. */
static void merge(const struct trace_hist *h, struct hist_sum *sum)
{
	u32 nr = 0;

	for (u32 i = 0; i < sum->nr; i++) {
		u64 *of = sum->entries[i], *last = nr ? sum->entries[nr - 1] : NULL;

		if (!last || by_keys(h, last, of)) {
			sum->entries[nr++] = of;
			continue;
		}
		for (unsigned v = 1 + h->key_words; v < h->entry_words; v++)
			last[v] += of[v];
	}
	sum->nr = nr;
}

bool hist_add_up(const struct trace_hist *h, struct hist_sum *sum)
{
	u32 most = 0;

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		most += READ_ONCE(h->cpus[cpu].nr_used);
	*sum = (struct hist_sum){
		.entries = vmap_alloc((most + 1ull) * sizeof(u64 *)),
		.room = vmap_alloc((most + 1ull) * h->entry_words * sizeof(u64)),
	};
	if (!sum->entries || !sum->room) {
		hist_sum_end(sum);
		return false;
	}
	collect(h, sum, most);
	sort(h, sum->entries, sum->nr, by_keys);
	merge(h, sum);
	sort(h, sum->entries, sum->nr, as_asked);
	return true;
}

void hist_sum_end(struct hist_sum *sum)
{
	if (sum->entries)
		vmap_free(sum->entries);
	if (sum->room)
		vmap_free(sum->room);
}

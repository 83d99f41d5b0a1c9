/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histograms that an event fills, as Linux's hist triggers (Documentation/trace/histogram.rst):
 *
 *	echo 'hist:keys=next_comm:vals=prev_pid:sort=hitcount.descending' > trigger
 *	cat hist
 *
 * Each CPU has a table of its own, in which only it writes, with interrupts off. So counting takes
 * no lock, as recording does not; a reader adds the tables up, and may see a hit and not yet its
 * values. hist_text.c reads commands and writes results, hist.c counts.
 *
 * LOCKING. trace_lock guards lists and settings. What counting reads changes only by whole words,
 * and is freed after trace_wait_for_writers().
 */
#pragma once

#include "kernel/trace/internal.h"

#define HIST_KEYS	3u
#define HIST_VALS	4u /* the first is the number of hits */
#define HIST_SORTS	2u
#define HIST_TEXT_WORDS (COMM_LEN / 8)

enum hist_modifier { HIST_PLAIN, HIST_HEX, HIST_LOG2, HIST_BUCKETS, HIST_EXECNAME };

/* A field that is a key or is added up. */
struct hist_field {
	struct trace_field field; /* of hits there is none */
	u8 modifier;
	u8 words;  /* in a key */
	u64 width; /* of HIST_BUCKETS */
};

struct hist_sort {
	u8 of; /* a value, or HIST_VALS + the number of a key */
	bool descending;
};

/* The keys, values and order that a command asks for. They tell histograms of an event apart. */
struct hist_spec {
	unsigned nr_keys, nr_vals, nr_sorts;
	struct hist_field keys[HIST_KEYS], vals[HIST_VALS];
	struct hist_sort sorts[HIST_SORTS];
	u32 size; /* entries of each CPU; a power of two */
};

/*
 * An entry is some words: 1 if it is used, the key, and a sum for each value. There are twice as
 * many as may be used, so a search is short.
 */
struct hist_cpu {
	u64 *entries;
	u64 hits, dropped;
	u32 nr_used;
};

struct trace_hist {
	struct trace_hist *next; /* of the same event, in the order in which they were made */
	struct hist_spec spec;
	struct trace_filter *filter; /* NULL: every record */
	bool paused;
	unsigned key_words, entry_words;
	struct hist_cpu cpus[MAX_CPUS];
};

/* A histogram without hits, which owns @filter then; NULL: no memory. */
struct trace_hist *hist_make(const struct hist_spec *spec, struct trace_filter *filter);
/* Nobody counts in it any more. */
void hist_free(struct trace_hist *h);
/* Forget all hits. It must be paused, and trace_wait_for_writers() have returned. */
void hist_clear(struct trace_hist *h);

/* The sums of all CPUs. */
struct hist_sum {
	u64 **entries; /* sorted as the histogram says; the key is the second word of each */
	u64 *room;     /* in which they lie */
	u32 nr;
	u64 hits, dropped;
};
/* False: no memory. hist_sum_end() ends it. */
bool hist_add_up(const struct trace_hist *h, struct hist_sum *sum);
void hist_sum_end(struct hist_sum *sum);

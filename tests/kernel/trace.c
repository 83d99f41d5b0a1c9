/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer inside the kernel: events that are on are recorded, events that are off are not, rings
 * can be replaced while every CPU writes, and histograms count what rings have.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"
#include "kernel/trace/filter.h"
#include "kernel/trace/hist.h"
#include "lib/string.h"

/*
 * The number of unread events of type @id on all CPUs; at least SIZE_MAX / 2 if one of them is
 * malformed. Later events do not count: beside writers that are faster there would be no end.
 */
static size_t count_events(u16 id)
{
	struct ring_reader *rd = kmalloc(sizeof(*rd));
	struct ring_event ev;
	u64 now = arch_clock_ns();
	size_t nr = 0;

	for (unsigned cpu = 0; rd && cpu < arch_nr_cpus; cpu++) {
		u64 last = 0;

		ring_reader_init(rd, &trace_rings[cpu]);
		while (ring_reader_next(rd, &ev) && ev.time <= now) {
			const struct record_header *h = ev.data;

			if (!trace_event_by_id(h->type) || ev.size < sizeof(*h) || ev.time < last)
				nr = SIZE_MAX / 2;
			nr += h->type == id;
			last = ev.time;
		}
	}
	kfree(rd);
	return nr;
}

static void set_events(u64 mask)
{
	mutex_lock(&trace_lock);
	trace_set_events(trace_top, mask);
	trace_clear(trace_top, -1);
	mutex_unlock(&trace_lock);
}

static void set_on(bool on)
{
	mutex_lock(&trace_lock);
	trace_set_on(trace_top, on);
	mutex_unlock(&trace_lock);
}

SELFTEST(trace_marker)
{
	static const char text[] = "selftest";

	set_events(0);
	SELFTEST_CHECK(tracing_mark_write(trace_top, text, strlen(text)) == (long)strlen(text));
	SELFTEST_CHECK(count_events(EVENT_ID_print) == 1);
	set_on(false);
	SELFTEST_CHECK(tracing_mark_write(trace_top, text, strlen(text)) < 0);
	SELFTEST_CHECK(count_events(EVENT_ID_print) == 1);
	set_on(true);
	return 0;
}

/* A sleep is two switches at least: away from this thread and back. */
SELFTEST(trace_switches_are_recorded)
{
	u64 before = trace_top->events_on;
	unsigned tries = 0;
	size_t nr;

	set_events(BIT(EVENT_sched_switch));
	/* Where a busy host stops us for a while, the time to wake up may come before the sleep. */
	do {
		sleep_until(clock_ns() + NS_PER_MS, 0);
		nr = count_events(EVENT_ID_sched_switch);
	} while (nr < 2 && ++tries < 100);
	SELFTEST_CHECK(nr >= 2 && nr < SIZE_MAX / 2);
	SELFTEST_CHECK(count_events(EVENT_ID_sched_waking) == 0);

	set_events(0);
	sleep_until(clock_ns() + NS_PER_MS, 0);
	SELFTEST_CHECK(count_events(EVENT_ID_sched_switch) == 0);
	set_events(before);
	return 0;
}

SELFTEST(trace_event_names)
{
	SELFTEST_CHECK(trace_events_matching("sched:sched_switch", 18) == BIT(EVENT_sched_switch));
	SELFTEST_CHECK(trace_events_matching("sched_waking", 12) == BIT(EVENT_sched_waking));
	SELFTEST_CHECK(trace_events_matching("irq_vectors:*", 13) ==
		       trace_events_matching("irq_vectors", 11));
	SELFTEST_CHECK(trace_events_matching("decision:sched_decision_candidate", 33) ==
		       BIT(EVENT_sched_decision_candidate));
	SELFTEST_CHECK(trace_events_matching("*:*", 3) == trace_events_switchable());
	SELFTEST_CHECK(trace_events_matching("sched:", 6) == trace_events_matching("sched", 5));
	SELFTEST_CHECK(!trace_events_matching("ftrace:print", 12));
	SELFTEST_CHECK(!trace_events_matching("sched:sched_switchx", 19));
	SELFTEST_CHECK(!trace_events_matching("", 0));
	return 0;
}

/* --- histograms ------------------------------------------------------------------------------ */

#define SLEEPS 20u
static u32 nr_sleeping;

static void sleep_often(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < SLEEPS; i++)
		sleep_until(clock_ns() + 50 * NS_PER_US, 0);
	__atomic_sub_fetch(&nr_sleeping, 1, __ATOMIC_SEQ_CST);
}

static bool write_trigger(const char *text)
{
	long len = (long)strlen(text);

	return trace_store_trigger(TRACE_ARG(0, 0), EVENT_sched_switch, text, (size_t)len) == len;
}

/*
 * False without memory. In *@all_there: does the histogram have as many hits as there are records,
 * and an entry for each of @nr threads?
 */
static bool histogram_has_all(u32 nr, bool *all_there)
{
	size_t recorded = count_events(EVENT_ID_sched_switch);
	struct hist_sum sum;
	u64 most = 0;

	if (!hist_add_up(trace_top->hists[EVENT_sched_switch], &sum))
		return false;
	for (u32 i = 0; i < sum.nr; i++)
		most = max(most, sum.entries[i][2]);
	*all_there = sum.nr == nr && sum.hits == recorded && !sum.dropped && most > SLEEPS / 2;
	hist_sum_end(&sum);
	return true;
}

/* On all CPUs at once: as many hits as records, and an entry for each thread. */
SELFTEST(trace_histogram_counts_what_is_recorded)
{
	static const char filter[] = "next_comm == \"histogram\"";
	u64 before = trace_top->events_on;
	unsigned nr = 2 * arch_nr_cpus, tries = 0;
	bool all_there;

	set_events(BIT(EVENT_sched_switch));
	SELFTEST_CHECK(trace_store_filter(TRACE_ARG(0, 0), BIT(EVENT_sched_switch), filter,
					  strlen(filter)) > 0);
	SELFTEST_CHECK(
		write_trigger("hist:keys=next_pid:vals=next_prio if next_comm == \"histogram\""));
	SELFTEST_CHECK(!write_trigger("hist:keys=next_comm:keys=nothing"));
	__atomic_store_n(&nr_sleeping, nr, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < nr; i++)
		SELFTEST_CHECK(kthread_create("histogram", sleep_often, NULL));
	while (READ_ONCE(nr_sleeping))
		sleep_until(clock_ns() + NS_PER_MS, 0);
	do { /* On a busy host the last one may still be on its way out. */
		sleep_until(clock_ns() + NS_PER_MS, 0);
		SELFTEST_CHECK(histogram_has_all(nr, &all_there));
	} while (!all_there && ++tries < 100);
	SELFTEST_CHECK(all_there);
	trace_truncate_trigger(TRACE_ARG(0, 0), EVENT_sched_switch);
	SELFTEST_CHECK(!trace_top->hist_events && !trace_top->hists[EVENT_sched_switch]);
	SELFTEST_CHECK(trace_store_filter(TRACE_ARG(0, 0), BIT(EVENT_sched_switch), "0", 1) == 1);
	set_events(before);
	return 0;
}

/* --- for tools that read the memory ----------------------------------------------------------- */

/* Has the list of pairs at @text, each a name and its text, one of @name whose text has @part? */
static bool has_text(const char *text, const char *name, const char *part)
{
	while (*text) {
		const char *its = text + strlen(text) + 1;

		if (!strcmp(text, name) && strstr(its, part))
			return true;
		text = its + strlen(its) + 1;
	}
	return false;
}

SELFTEST(trace_texts_are_in_memory)
{
	const u64 *image = phys_to_virt(0x7000); /* as tools/ finds it */
	const char *texts = phys_to_virt(image[4]);

	SELFTEST_CHECK(!memcmp(image, "FGTRACE", 8) && image[4]);
	SELFTEST_CHECK(has_text(texts, "trace_clock", "local"));
	SELFTEST_CHECK(has_text(texts, "sched", "name: sched_switch\n"));
	SELFTEST_CHECK(has_text(texts, "irq_vectors", "name: local_timer_entry\n"));
	return 0;
}

/* --- filters --------------------------------------------------------------------------------- */

/* Of @nr comparisons. */
static bool is_filter(unsigned nr)
{
	static char text[1000];
	struct trace_filter_error error;
	struct trace_filter *f;
	size_t len = 0;

	for (unsigned i = 0; i < nr; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%sprev_pid==%u",
					i ? "||" : "", i);
	f = trace_filter_parse(EVENT_sched_switch, text, len, &error);
	trace_filter_free(f);
	return f;
}

SELFTEST(trace_filter_of_many_terms)
{
	unsigned most = 1;

	while (most < 48 && is_filter(most + 1))
		most++;
	SELFTEST_CHECK(most >= 16 && most < 48);
	for (unsigned nr = most + 1; nr <= 48; nr++)
		SELFTEST_CHECK(!is_filter(nr));
	return 0;
}

/* --- replacing rings under load -------------------------------------------------------------- */

static struct {
	bool stop;
	u32 nr_running;
} writers;

static void write_markers(void *arg)
{
	(void)arg;
	while (!READ_ONCE(writers.stop))
		tracing_mark_write(trace_top, "load", 4);
	__atomic_sub_fetch(&writers.nr_running, 1, __ATOMIC_SEQ_CST);
}

SELFTEST(trace_resize_under_load)
{
	u64 size = trace_buffer_kb(trace_top, 0);
	int err = 0;

	writers.stop = false;
	for (unsigned i = 0; i < 2 * arch_nr_cpus; i++) {
		SELFTEST_CHECK(kthread_create("tracer", write_markers, NULL));
		__atomic_add_fetch(&writers.nr_running, 1, __ATOMIC_SEQ_CST);
	}
	for (u64 kb = 8; kb < 28 && !err; kb++) {
		sleep_until(clock_ns() + 200 * NS_PER_US, 0);
		mutex_lock(&trace_lock);
		err = trace_set_buffer_kb(trace_top, kb % 2 ? -1 : 0, kb);
		mutex_unlock(&trace_lock);
		SELFTEST_CHECK(count_events(EVENT_ID_print) < SIZE_MAX / 2);
	}
	WRITE_ONCE(writers.stop, true);
	while (READ_ONCE(writers.nr_running))
		sleep_until(clock_ns() + NS_PER_MS, 0);
	SELFTEST_CHECK(!err);
	mutex_lock(&trace_lock);
	err = trace_set_buffer_kb(trace_top, -1, size);
	mutex_unlock(&trace_lock);
	SELFTEST_CHECK(!err);
	return 0;
}

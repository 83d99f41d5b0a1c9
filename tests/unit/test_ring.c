/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace ring against an independent decoder: a reader of Linux's ring buffer format must see
 * what was written, across page turns, long gaps, long records, overwriting, consuming and
 * clearing, and with a reader that races the writer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/trace/ring.h"

#define NR_PAGES  8
#define NR_EVENTS 5000
#define NR_RACING 2000000

struct fixture {
	struct ring ring;
	struct ring_slot slots[NR_PAGES];
};

/* Every payload identifies itself: its number, then bytes derived from it. */
struct expected {
	u64 time;
	u32 size;
};
static struct expected expected[NR_EVENTS];

/* The ring is compiled for tests/hosted, whose explorer is told of each block that runs. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
}

static u64 rng = 88172645463325252ull;
static u64 next_random(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	return rng ^= rng << 17;
}

static int setup(void **state)
{
	struct fixture *fx = aligned_alloc(128, sizeof(*fx));

	rng = 88172645463325252ull;
	for (unsigned i = 0; i < NR_PAGES; i++)
		fx->slots[i].page = aligned_alloc(RING_PAGE_SIZE, RING_PAGE_SIZE);
	ring_init(&fx->ring, fx->slots, NR_PAGES);
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	for (unsigned i = 0; i < NR_PAGES; i++)
		free(fx->slots[i].page);
	free(fx);
	return 0;
}

static bool write_event(struct ring *r, u64 now, u32 nr, u32 size)
{
	u8 *payload = ring_reserve(r, now, size);

	if (!payload)
		return false;
	memcpy(payload, &nr, 4);
	memset(payload + 4, (int)(nr * 7 + 1), size - 4);
	ring_commit(r);
	return true;
}

static void check_payload(const u8 *payload, u32 nr, u32 size)
{
	u32 stored;

	memcpy(&stored, payload, 4);
	assert_int_equal(stored, nr);
	for (u32 i = 4; i < size; i++)
		assert_int_equal(payload[i], (u8)(nr * 7 + 1));
}

/* Mostly short records at short distances, with the special cases mixed in. */
static u64 write_random(struct ring *r, u32 nr, u64 now)
{
	u64 kind = next_random() % 100;
	u32 size = kind < 4 ? 116 + next_random() % 900 / 4 * 4 : 8 + next_random() % 27 * 4;

	now += kind < 90   ? next_random() % 5000
	       : kind < 95 ? (1ull << RING_DELTA_BITS) - 2 + next_random() % 4
			   : next_random() % (1ull << 45);
	expected[nr] = (struct expected){ now, size };
	assert_true(write_event(r, now, nr, size));
	return now;
}

/*
 * Reads one page by the format's rules alone, and calls back for each event. Returns their number.
 */
static u32 decode_page(const u8 *page, u32 first_nr)
{
	u64 now, commit, end;
	u32 nr = first_nr;

	memcpy(&now, page, 8);
	memcpy(&commit, page + 8, 8);
	end = 16 + (commit & 0x7ffffff);
	assert_true(end <= 4096);
	for (u64 at = 16; at < end;) {
		u32 word, array, type;

		memcpy(&word, page + at, 4);
		memcpy(&array, page + at + 4, 4);
		type = word & 31;
		now += word >> 5;
		at += 4;
		if (type == 30) {
			now += (u64)array << 27;
			at += 4;
			continue;
		}
		assert_in_range(type, 0, 28);
		assert_int_equal(now, expected[nr].time);
		assert_int_equal(type ? type * 4 : array - 4, expected[nr].size);
		at += type ? 0 : 4;
		check_payload(page + at, nr, expected[nr].size);
		at += expected[nr++].size;
		assert_true(at <= end);
	}
	return nr - first_nr;
}

static u32 first_nr_of(const u8 *page)
{
	u32 at = 16, word, nr;

	for (;; at += 8) {
		memcpy(&word, page + at, 4);
		if ((word & 31) != 30)
			break;
	}
	memcpy(&nr, page + at + (word & 31 ? 4 : 8), 4);
	return nr;
}

/* A run of up to @max records, of which some may not be used. Returns how many it has. */
static u32 write_run(struct ring *r, u32 nr, u64 now, u32 max)
{
	u32 reserved = 1 + next_random() % 5, used = 1 + next_random() % reserved;
	u8 *at = ring_reserve_run(r, now, reserved * 116 - 4);

	used = min(used, max);
	assert_non_null(at);
	for (u32 i = 0; i < used; i++) {
		u32 size = 8 + next_random() % 27 * 4, *word = (u32 *)(at - 4);

		*word = (i ? 0 : *word) | size / 4;
		expected[nr + i] = (struct expected){ now, size };
		memset(at, (int)((nr + i) * 7 + 1), size);
		memcpy(at, &(u32){ nr + i }, 4);
		at += size + 4;
	}
	ring_commit_run(r, at - 4, used);
	return used;
}

static void assert_pages_hold_all(struct fixture *fx)
{
	u64 total = 0;

	assert_true(fx->ring.head > 2 * NR_PAGES);
	for (u64 n = fx->ring.tail; n <= fx->ring.head; n++) {
		const u8 *page = (const u8 *)fx->slots[n % NR_PAGES].page;

		assert_int_equal(first_nr_of(page), fx->slots[n % NR_PAGES].first);
		total += decode_page(page, first_nr_of(page));
	}
	assert_int_equal(total, NR_EVENTS - fx->slots[fx->ring.tail % NR_PAGES].first);
}

static void test_pages_decode(void **state)
{
	struct fixture *fx = *state;
	u64 now = 1000;

	for (u32 nr = 0; nr < NR_EVENTS; nr++)
		now = write_random(&fx->ring, nr, now);
	assert_pages_hold_all(fx);
}

static void test_runs_decode(void **state)
{
	struct fixture *fx = *state;
	u64 now = 1000;

	for (u32 nr = 0; nr < NR_EVENTS;) {
		now += next_random() % (next_random() % 4 ? 5000 : 1ull << 40);
		nr += write_run(&fx->ring, nr, now, NR_EVENTS - nr);
		if (nr < NR_EVENTS)
			now = write_random(&fx->ring, nr++, now);
	}
	assert_pages_hold_all(fx);
}

static void test_reader_sees_all(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_event ev;
	u64 now = 1000;
	u32 seen = 0;

	/* The reader follows the writer by one to four events: nothing is lost. */
	ring_reader_init(rd, &fx->ring);
	assert_false(ring_reader_next(rd, &ev));
	for (u32 nr = 0; nr < NR_EVENTS;) {
		for (u64 n = next_random() % 4 + 1; n-- && nr < NR_EVENTS; nr++)
			now = write_random(&fx->ring, nr, now);
		while (ring_reader_next(rd, &ev)) {
			assert_int_equal(ev.nr, seen);
			assert_int_equal(ev.lost, 0);
			assert_int_equal(ev.time, expected[seen].time);
			assert_int_equal(ev.size, expected[seen].size);
			check_payload(ev.data, seen, ev.size);
			seen++;
		}
		assert_int_equal(seen, nr);
	}
	/* A reader from the start misses what was overwritten, and knows how much that is. */
	ring_reader_init(rd, &fx->ring);
	assert_true(ring_reader_next(rd, &ev));
	assert_int_equal(ev.nr, ev.lost);
	assert_int_equal(ev.nr, fx->slots[fx->ring.tail % NR_PAGES].first);
	free(rd);
}

/* The rest of a page that is handed out is zero: nothing of earlier pages follows the events. */
static void assert_rest_is_clear(const struct ring_page *page)
{
	u64 stored = page->commit & RING_LOST_STORED ? 8 : 0;

	for (u64 i = (page->commit & 0x7ffffff) + stored; i < RING_DATA_SIZE; i++)
		assert_int_equal(page->data[i], 0);
}

static void test_raw_pages(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_stats st;
	u64 now = 1000, lost;
	u32 nr = 0, seen = 0;

	/* Pages are handed out while half full. The rest of the page follows later. */
	for (unsigned round = 0; round < 100; round++) {
		for (u64 n = next_random() % 40; n--; nr++)
			now = write_random(&fx->ring, nr, now);
		while (ring_read_page(&fx->ring, rd)) {
			assert_int_equal(rd->copy.commit & (RING_LOST_EVENTS | RING_LOST_STORED),
					 0);
			seen += decode_page((const u8 *)&rd->copy, seen);
			assert_rest_is_clear(&rd->copy);
		}
		assert_int_equal(seen, nr);
	}
	/* Events overwritten unread are counted on the page after the gap. */
	for (; nr < NR_EVENTS; nr++)
		now = write_random(&fx->ring, nr, now);
	ring_stats(&fx->ring, &st);
	assert_int_equal(st.entries + st.overrun, nr - seen);
	assert_int_equal(st.read_events, seen);
	assert_true(ring_read_page(&fx->ring, rd));
	assert_true(rd->copy.commit & RING_LOST_EVENTS);
	lost = first_nr_of((const u8 *)&rd->copy) - seen;
	assert_int_equal(lost, st.overrun);
	if (rd->copy.commit & RING_LOST_STORED)
		assert_memory_equal(rd->copy.data + (rd->copy.commit & 0x7ffffff), &lost, 8);
	decode_page((const u8 *)&rd->copy, seen + (u32)lost);
	assert_rest_is_clear(&rd->copy);
	free(rd);
}

static void test_clear_and_stats(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_stats st;
	struct ring_event ev;
	u64 now = 1000;

	for (u32 nr = 0; nr < 100; nr++)
		now = write_random(&fx->ring, nr, now);
	ring_clear(&fx->ring);
	ring_stats(&fx->ring, &st);
	assert_int_equal(st.entries, 0);
	assert_int_equal(st.overrun, 0);
	ring_reader_init(rd, &fx->ring);
	assert_false(ring_reader_next(rd, &ev));
	assert_false(ring_read_page(&fx->ring, rd));
	now = write_random(&fx->ring, 100, now);
	ring_reader_init(rd, &fx->ring);
	assert_true(ring_reader_next(rd, &ev));
	assert_int_equal(ev.nr, 100);
	assert_int_equal(ev.time, now);
	ring_consume(&fx->ring, &ev);
	ring_stats(&fx->ring, &st);
	assert_int_equal(st.entries, 0);
	assert_int_equal(st.read_events, 1);
	free(rd);
}

static void test_drop_when_full(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_stats st;
	u32 nr = 0;

	fx->ring.overwrite = false;
	while (write_event(&fx->ring, nr, nr, 64))
		nr++;
	assert_int_equal(nr, NR_PAGES * (RING_DATA_SIZE / 68));
	assert_false(write_event(&fx->ring, nr, nr, 64));
	assert_null(ring_reserve_run(&fx->ring, nr, 3 * 68 - 4));
	assert_int_equal(fx->ring.dropped, 3);
	ring_stats(&fx->ring, &st);
	assert_int_equal(st.entries, nr);
	assert_int_equal(st.overrun, 0);
	assert_true(ring_read_page(&fx->ring, rd)); /* room for a page again */
	assert_true(write_event(&fx->ring, nr, nr, 64));
	free(rd);
}

static void test_closed(void **state)
{
	struct fixture *fx = *state;

	assert_true(write_event(&fx->ring, 10, 0, 64));
	ring_set_closed(&fx->ring, true);
	assert_false(write_event(&fx->ring, 20, 1, 64));
	assert_null(ring_reserve_run(&fx->ring, 20, 64));
	ring_set_closed(&fx->ring, false);
	assert_true(write_event(&fx->ring, 30, 1, 64));
	assert_int_equal(fx->ring.written, 2);
	assert_int_equal(fx->slots[0].page->commit, 68);
}

/* A reader that came to a page before its first event has the time of that event all the same. */
static void test_reader_on_an_empty_page(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_event ev;

	ring_reader_init(rd, &fx->ring);
	assert_false(ring_reader_next(rd, &ev));
	assert_true(write_event(&fx->ring, 1ull << 40, 0, 64));
	assert_true(write_event(&fx->ring, (1ull << 40) + 5, 1, 64));
	assert_true(ring_reader_next(rd, &ev));
	assert_int_equal(ev.time, 1ull << 40);
	assert_true(ring_reader_next(rd, &ev));
	assert_int_equal(ev.time, (1ull << 40) + 5);
	free(rd);
}

/* The same on a page that is used again: the time of the lap before is on it until then. */
static void test_reader_on_a_turned_page(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_event ev;
	u64 time = 0, page;
	u8 *payload;

	ring_reader_init(rd, &fx->ring);
	do {
		while (ring_reader_next(rd, &ev))
			;
		page = fx->ring.head;
		payload = ring_reserve(&fx->ring, ++time, 64);
		memset(payload, 0, 64);
		if (fx->ring.head > page) {
			u64 *stamp = &fx->ring.page->time, ours = *stamp;

			/* Between the writer's turn of the page and its stamp. */
			*stamp = 0;
			assert_false(ring_reader_next(rd, &ev));
			*stamp = ours;
		}
		ring_commit(&fx->ring);
		assert_true(ring_reader_next(rd, &ev));
		assert_int_equal(ev.time, time);
	} while (fx->ring.head < 2 * NR_PAGES);
	free(rd);
}

static void *write_all(void *arg)
{
	for (u32 nr = 0; nr < NR_RACING; nr++)
		write_event(arg, nr * 10ull, nr, 8 + nr % 27 * 4);
	return NULL;
}

/* A whole event of write_all(), which comes after @next events and those that were lost. */
static bool is_whole(const struct ring_event *ev, u64 next)
{
	const u8 *payload = ev->data;
	u32 stored;

	if (ev->nr != next + ev->lost || ev->time != ev->nr * 10 || ev->size != 8 + ev->nr % 27 * 4)
		return false;
	memcpy(&stored, payload, 4);
	for (u32 i = 4; i < ev->size; i++)
		if (payload[i] != (u8)(stored * 7 + 1))
			return false;
	return stored == ev->nr;
}

/*
 * The writer laps the reader again and again: what the reader gets is whole and in order, and the
 * gaps add up. The writer has ended before anything is asserted, which may free the ring.
 */
static void test_racing_reader(void **state)
{
	struct fixture *fx = *state;
	struct ring_reader *rd = malloc(sizeof(*rd));
	struct ring_event ev;
	u64 next = 0;
	bool whole = true;
	pthread_t writer;

	ring_reader_init(rd, &fx->ring);
	pthread_create(&writer, NULL, write_all, &fx->ring);
	while (next < NR_RACING && whole) {
		if (!ring_reader_next(rd, &ev))
			continue;
		whole = is_whole(&ev, next);
		next = ev.nr + 1;
	}
	pthread_join(writer, NULL);
	assert_int_equal(ev.time, ev.nr * 10);
	assert_int_equal(ev.size, 8 + ev.nr % 27 * 4);
	check_payload(ev.data, (u32)ev.nr, ev.size);
	assert_true(whole);
	free(rd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pages_decode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_runs_decode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_sees_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_raw_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clear_and_stats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drop_when_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_on_an_empty_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_on_a_turned_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_racing_reader, setup, teardown),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perfcheck: perf_event_open(2) with arguments that mean nothing, with a ring that its program
 * writes over, and with one that is too small.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/pingpong.h"
#include "lib/threads.h"
#include "perfcheck/perfcheck.h"

static void test_bad_arguments(void)
{
	struct attr a = attr_of(SOFTWARE, DUMMY), good = a;

	EXPECT_ERROR(EFAULT, open_event(NULL, 0, -1, -1, 0));
	EXPECT_ERROR(EFAULT, open_event((void *)(1ul << 63), 0, -1, -1, 0));
	EXPECT_ERROR(EINVAL, open_event(&good, -1, -1, -1, 0));
	EXPECT_ERROR(ESRCH, open_event(&good, -2, 0, -1, 0));
	EXPECT_ERROR(EINVAL, open_event(&good, 0, 10000, -1, 0));
	EXPECT_ERROR(ESRCH, open_event(&good, 31999, -1, -1, 0));
	EXPECT_ERROR(EINVAL, open_event(&good, 0, -1, -1, 1ul << 40));
	EXPECT_ERROR(EBADF, open_event(&good, 0, -1, 99, 0));
	EXPECT_ERROR(EBADF, open_event(&good, 0, -1, 1, 0));
	a.size = 8;
	EXPECT_ERROR(E2BIG, open_event(&a, 0, -1, -1, 0));
	EXPECT(a.size == sizeof(a));
	a = good;
	a.type = 0;
	EXPECT_ERROR(ENOENT, open_event(&a, 0, -1, -1, 0));
	a = attr_of(TRACEPOINT, 65000);
	EXPECT_ERROR(EINVAL, open_event(&a, 0, -1, -1, 0));
	a.config = UINT64_MAX;
	EXPECT_ERROR(EINVAL, open_event(&a, 0, -1, -1, 0));
	a = good;
	a.sample_type = CALLCHAIN;
	EXPECT_ERROR(EOPNOTSUPP, open_event(&a, 0, -1, -1, 0));
	a = good;
	a.read_format = 1 << 20;
	EXPECT_ERROR(EINVAL, open_event(&a, 0, -1, -1, 0));
}

static void test_bits_of_later_versions(void)
{
	static const struct {
		unsigned at; /* byte */
		uint64_t value, flags;
		int error;
	} rows[] = {
		{ 40, 1ull << 63, 0, EINVAL }, /* flags */
		{ 24, 1ull << 40, 0, EINVAL }, /* sample_type */
		{ 110, 1, 0, EINVAL },
		{ 111, 1, 0, EINVAL },
		{ 16, 1ull << 63, 0, EINVAL }, /* period, or frequency */
		{ 16, INT64_MAX, 0, 0 },
		{ 16, 1ull << 40, IS_FREQUENCY, EINVAL },
		{ 16, 100001, IS_FREQUENCY, EINVAL },
		{ 16, 100000, IS_FREQUENCY, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attr a = attr_of(SOFTWARE, DUMMY);
		size_t size = rows[i].at >= 110 ? 1 : 8;

		a.flags |= rows[i].flags;
		memcpy((char *)&a + rows[i].at, &rows[i].value, size);
		errno = 0;
		EXPECT((open_event(&a, 0, -1, -1, 0) < 0) == !!rows[i].error);
		EXPECT(errno == rows[i].error);
	}
}

static void test_longer_attributes(void)
{
	struct {
		struct attr known;
		uint8_t more[64];
	} a = { .known = attr_of(SOFTWARE, DUMMY) };

	a.known.size = sizeof(a);
	EXPECT(open_event(&a, 0, -1, -1, 0) >= 0);
	a.more[63] = 1;
	EXPECT_ERROR(E2BIG, open_event(&a, 0, -1, -1, 0));
}

static void test_other_users(void)
{
	struct attr a = attr_of(SOFTWARE, SWITCHES);

	EXPECT(setuid(1000) == 0);
	EXPECT_ERROR(EACCES, open_event(&a, 0, -1, -1, 0));
	a.flags = NOT_KERNEL;
	EXPECT(open_event(&a, 0, -1, -1, 0) >= 0);
	EXPECT_ERROR(EACCES, open_event(&a, -1, 0, -1, 0));
	a = attr_of(TRACEPOINT, SCHED_SWITCH);
	EXPECT_ERROR(EACCES, open_event(&a, 0, -1, -1, 0));
}

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static void test_counts_its_own_switches(void)
{
	struct attr a = attr_of(SOFTWARE, SWITCHES);
	uint64_t count = 99, before;
	int fd;

	a.flags = 1; /* disabled */
	fd = open_event(&a, 0, -1, -1, 0);
	EXPECT(fd >= 0);
	sleep_ms(5);
	EXPECT(read(fd, &count, 8) == 8 && count == 0);
	EXPECT_ERROR(ENOSPC, read(fd, &count, 7));
	EXPECT_ERROR(EFAULT, read(fd, (void *)8, 8));
	EXPECT(ioctl(fd, ENABLE, 0) == 0);
	for (int i = 0; i < 10; i++)
		sleep_ms(1);
	EXPECT(ioctl(fd, DISABLE, 0) == 0);
	EXPECT(read(fd, &before, 8) == 8 && before >= 10);
	sleep_ms(5);
	EXPECT(read(fd, &count, 8) == 8 && count == before);
	EXPECT_ERROR(ENOTTY, ioctl(fd, 0x1234, 0));
	EXPECT_ERROR(EFAULT, ioctl(fd, (int)ID, 8));
}

/* No event waits for a counter: it has run for as long as it was enabled. */
static void test_times_are_of_one_moment(void)
{
	struct attr a = attr_of(SOFTWARE, CPU_CLOCK);
	uint64_t words[3], last = 0;
	int fd;

	a.read_format = TIME_ENABLED | TIME_RUNNING;
	fd = open_event(&a, -1, 0, -1, 0);
	EXPECT(fd >= 0);
	for (int i = 0; i < 1000; i++) {
		EXPECT(read(fd, words, sizeof(words)) == sizeof(words));
		EXPECT(words[0] >= last && words[1] == words[2]);
		last = words[0];
	}
}

/* A clock begins again, as a count does, and goes on. */
static void test_reset_begins_again(void)
{
	struct attr a = attr_of(SOFTWARE, CPU_CLOCK);
	uint64_t before, at_once, later, t0, ms = 1000000;
	int fd = open_event(&a, -1, 0, -1, 0);

	EXPECT(fd >= 0);
	sleep_ms(20);
	EXPECT(read(fd, &before, 8) == 8 && before >= 19 * ms);
	t0 = now_ns();
	EXPECT(!ioctl(fd, RESET, 0) && read(fd, &at_once, 8) == 8);
	EXPECT(at_once < now_ns() - t0 + ms);
	sleep_ms(5);
	EXPECT(read(fd, &later, 8) == 8 && later >= at_once + 4 * ms);
}

/* On CPU @cpu, where this program runs from now on. */
static int open_switches(int cpu)
{
	struct attr a = attr_of(TRACEPOINT, SCHED_SWITCH);
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	EXPECT(sched_setaffinity(0, sizeof(only), &only) == 0);
	a.sample_type = TID | RAW;
	return open_event(&a, -1, cpu, -1, 0);
}

static void test_bad_rings(void)
{
	struct attr a = attr_of(SOFTWARE, SWITCHES);
	int thread = open_event(&a, 0, -1, -1, 0), fd = open_switches(0), other = open_switches(0);
	uint64_t *ring;

	EXPECT(thread >= 0 && fd >= 0 && other >= 0);
	EXPECT_ERROR(EINVAL, map(thread, 3) == MAP_FAILED ? -1 : 0);
	EXPECT_ERROR(EINVAL, map(fd, 1) == MAP_FAILED ? -1 : 0);
	EXPECT_ERROR(EINVAL, map(fd, 4) == MAP_FAILED ? -1 : 0);
	EXPECT_ERROR(EINVAL, map(fd, 1 << 20) == MAP_FAILED ? -1 : 0);
	EXPECT_ERROR(EINVAL, ioctl(other, SET_OUTPUT, fd));
	EXPECT(mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, fd, PAGE) == MAP_FAILED &&
	       errno == EINVAL);
	ring = map(fd, 3);
	EXPECT(ring != MAP_FAILED);
	EXPECT_ERROR(EINVAL, map(fd, 5) == MAP_FAILED ? -1 : 0);
	EXPECT_ERROR(EINVAL, ioctl(fd, SET_OUTPUT, fd));
	EXPECT_ERROR(EINVAL, ioctl(thread, SET_OUTPUT, fd));
	EXPECT_ERROR(EBADF, ioctl(fd, SET_OUTPUT, 1));
	EXPECT_ERROR(EBADF, ioctl(fd, SET_OUTPUT, 99));
	EXPECT(ioctl(other, SET_OUTPUT, fd) == 0);
	/* The mapping outlives the file. */
	close(fd);
	close(other);
	sleep_ms(2);
	ring[2 * PAGE / 8] = 1;
}

/* While a program has mapped a ring, its event keeps it. This passes on Linux. */
static void test_mapped_rings_stay(void)
{
	struct attr a = attr_of(SOFTWARE, DUMMY);
	int fd = open_event(&a, -1, 0, -1, 0), other = open_event(&a, -1, 0, -1, 0);
	uint64_t *ring = map(fd, 2);

	EXPECT(fd >= 0 && other >= 0 && ring != MAP_FAILED);
	EXPECT_ERROR(EINVAL, ioctl(fd, SET_OUTPUT, -1l));
	EXPECT_ERROR(EINVAL, ioctl(fd, SET_OUTPUT, other));
	EXPECT_ERROR(EBADF, ioctl(fd, SET_OUTPUT, 1));
	EXPECT(ioctl(other, SET_OUTPUT, fd) == 0 && ioctl(other, SET_OUTPUT, -1l) == 0);
	EXPECT(ring[HEAD] == 0 && !munmap(ring, 2 * PAGE));
	EXPECT(ioctl(fd, SET_OUTPUT, -1l) == 0);
}

/* Walks the records from @from to @to; the number of @type. */
static unsigned count_records(const uint64_t *ring, uint64_t from, uint64_t to, uint32_t type)
{
	const uint8_t *data = (const uint8_t *)ring + PAGE;
	unsigned nr = 0;

	while (from < to) {
		const struct header *h = (const struct header *)(data + from % PAGE);

		EXPECT(h->size >= 8 && h->size % 8 == 0 && (h->type == LOST || h->type == SAMPLE));
		EXPECT(h->misc == (h->type == LOST ? 0 : MISC_KERNEL));
		nr += h->type == type;
		from += h->size;
	}
	return nr;
}

static void test_a_full_ring_says_what_it_lost(void)
{
	int fd = open_switches(0);
	uint64_t *ring = map(fd, 2), full;
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	EXPECT(ring != MAP_FAILED);
	EXPECT(poll(&ready, 1, 10000) == 1 && ready.revents == POLLIN);
	for (int i = 0; i < 300; i++)
		sleep_ms(1);
	full = ring[HEAD];
	EXPECT(full > PAGE / 2 && full <= PAGE);
	EXPECT(count_records(ring, 0, full, LOST) == 0);
	EXPECT(count_records(ring, 0, full, SAMPLE) > 20);
	ring[TAIL] = full;
	for (int i = 0; i < 20; i++)
		sleep_ms(1);
	EXPECT(ring[HEAD] > full);
	EXPECT(count_records(ring, full, full + 8, LOST) == 1);
	/* A head, the event's ID, and how many. */
	EXPECT(ring[(PAGE + full % PAGE) / 8] >> 48 == 24);
	EXPECT(ring[(PAGE + (full + 16) % PAGE) / 8] > 100);
}

static void test_a_program_may_spoil_its_ring(void)
{
	int fd = open_switches(0);
	uint64_t *ring = map(fd, 2);

	EXPECT(ring != MAP_FAILED);
	for (unsigned i = 0; i < 200; i++) {
		memset(ring, (int)(i * 37), 2 * PAGE);
		ring[TAIL] = i % 3 ? UINT64_MAX - i : i * 4096ull;
		sleep_ms(1);
	}
}

/* --- who counts, and who pays ----------------------------------------------------------- */

static uint64_t value_of(int fd)
{
	uint64_t value;

	EXPECT(read(fd, &value, 8) == 8);
	return value;
}

static void sleep_often(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++)
		sleep_ms(1);
}

static void have_a_child(void *unused)
{
	await_child(spawn(sleep_often, unused));
}

static void test_children_inherit(void)
{
	struct attr a = attr_of(SOFTWARE, SWITCHES);
	int alone = open_event(&a, 0, -1, -1, 0), family, late;
	uint64_t before;
	pid_t child;

	a.flags = 2; /* inherit */
	family = open_event(&a, 0, -1, -1, 0);
	EXPECT(alone >= 0 && family >= 0);
	child = spawn(have_a_child, NULL);
	late = open_event(&a, 0, -1, -1, 0);
	await_child(child);
	EXPECT(value_of(family) >= value_of(alone) + 10 && value_of(late) <= value_of(alone));
	before = value_of(alone);
	sleep_often(NULL);
	EXPECT(value_of(alone) >= before + 10 && value_of(late) >= 10);
}

static void test_others_are_watched(void)
{
	struct attr a = attr_of(TRACEPOINT, SCHED_SWITCH), b = attr_of(SOFTWARE, SWITCHES);
	pid_t child = spawn(sleep_often, NULL);
	int switches = open_event(&b, child, -1, -1, 0), records = open_event(&a, child, -1, -1, 0);
	int gone = open_event(&b, child, -1, -1, 0);

	EXPECT(switches >= 0 && records >= 0 && gone >= 0 && !close(gone));
	await_child(child);
	EXPECT(value_of(switches) >= 5 && value_of(records) >= 5);
	EXPECT(!close(records) && value_of(switches) >= 5);
}

enum { NR_EVENTS = 1000 }; /* of each of the PARTIES */

/* An ordinary user opens many events, says so, and waits until the test closes @pipes[1]. */
static void have_events(void *pipes)
{
	const struct rlimit most = { NR_EVENTS + 50, NR_EVENTS + 50 };
	struct attr a = attr_of(SOFTWARE, SWITCHES);
	int(*p)[2] = pipes;
	char c = 0;

	EXPECT(!setrlimit(RLIMIT_NOFILE, &most) && setuid(1000) == 0 && !close(p[1][1]));
	for (int i = 0; i < NR_EVENTS; i++) {
		a = attr_of(SOFTWARE, i % 2 ? SWITCHES : DUMMY);
		a.flags = NOT_KERNEL |
			  (i % 2 ? 0 : 1 << 9 | 1 << 12 | 1 << 13); /* comm, exec, task */
		EXPECT(open_event(&a, 0, -1, -1, 0) >= 0);
	}
	EXPECT(write(p[0][1], &c, 1) == 1 && !read(p[1][0], &c, 1));
}

static void test_a_thread_has_its_share(void)
{
	const struct rlimit most = { 4000, 4000 };
	struct attr a = attr_of(SOFTWARE, DUMMY);
	int nr = 0, last = -1, fd;

	EXPECT(!setrlimit(RLIMIT_NOFILE, &most));
	for (; (fd = open_event(&a, 0, -1, -1, 0)) >= 0; nr++)
		last = fd;
	EXPECT(errno == ENOSPC && nr == 1024 && !close(last));
	EXPECT(open_event(&a, 0, -1, -1, 0) >= 0);
}

static void nothing(void *unused)
{
	(void)unused;
}

static double round_trip(void)
{
	return pipe_round_trip_ns(300, 0, 0);
}

/* Of a process that is born and ends. */
static double life(void)
{
	uint64_t start = now_ns();

	for (int i = 0; i < 50; i++)
		await_child(spawn(nothing, NULL));
	return (double)(now_ns() - start) / 50;
}

/* Others pay the same while a user has thousands of events. It needs ICOUNT=1 and one CPU. */
static void test_strangers_do_not_pay(void)
{
	double trip, lives, trip_now, lives_now;
	pid_t users[PARTIES];
	char c;
	int p[2][2], i;

	pin_to_cpu(0);
	round_trip();
	life();
	trip = round_trip();
	lives = life();
	EXPECT(!pipe(p[0]) && !pipe(p[1]));
	for (i = 0; i < PARTIES; i++)
		users[i] = spawn(have_events, p);
	for (i = 0; i < PARTIES; i++)
		EXPECT(read(p[0][0], &c, 1) == 1);
	trip_now = round_trip();
	lives_now = life();
	printf("# round trip %.0f, then %.0f; life %.0f, then %.0f\n", trip, trip_now, lives,
	       lives_now);
	EXPECT(trip_now < trip * 1.03 && lives_now < lives * 1.03);
	EXPECT(!close(p[1][1]));
	for (i = 0; i < PARTIES; i++)
		await_child(users[i]);
}

/* Two events, of which one has a ring, and threads that go on until one of them is done. */
static struct {
	int with, without;
	_Atomic int done;
} race;

static void *look(void *unused)
{
	while (!race.done) {
		struct pollfd ready = { .fd = race.without, .events = POLLIN };
		volatile uint64_t *ring = map(race.without, 2);

		poll(&ready, 1, 0);
		if (ring != MAP_FAILED)
			munmap((void *)ring, 2 * PAGE);
	}
	return unused;
}

static void *share_and_take_away(void *unused)
{
	for (unsigned i = 0; i < 4000; i++) {
		ioctl(race.without, SET_OUTPUT, race.with);
		ioctl(race.without, SET_OUTPUT, -1);
	}
	race.done = 1;
	return unused;
}

static void test_a_ring_goes_while_others_look(void)
{
	pthread_t threads[3];

	race.with = open_switches(0);
	race.without = open_switches(0);
	race.done = 0;
	EXPECT(map(race.with, 2) != MAP_FAILED);
	EXPECT(!pthread_create(&threads[0], NULL, look, NULL));
	EXPECT(!pthread_create(&threads[1], NULL, look, NULL));
	EXPECT(!pthread_create(&threads[2], NULL, share_and_take_away, NULL));
	for (unsigned i = 0; i < 3; i++)
		EXPECT(!pthread_join(threads[i], NULL));
}

static const struct check tests[] = {
	{ "bad_arguments", test_bad_arguments },
	{ "longer_attributes", test_longer_attributes },
	{ "bits_of_later_versions", test_bits_of_later_versions },
	{ "other_users", test_other_users },
	{ "counts_its_own_switches", test_counts_its_own_switches },
	{ "times_are_of_one_moment", test_times_are_of_one_moment },
	{ "reset_begins_again", test_reset_begins_again },
	{ "bad_rings", test_bad_rings },
	{ "mapped_rings_stay", test_mapped_rings_stay },
	{ "a_full_ring_says_what_it_lost", test_a_full_ring_says_what_it_lost },
	{ "a_program_may_spoil_its_ring", test_a_program_may_spoil_its_ring },
	{ "children_inherit", test_children_inherit },
	{ "others_are_watched", test_others_are_watched },
	{ "a_thread_has_its_share", test_a_thread_has_its_share },
	{ "strangers_do_not_pay", test_strangers_do_not_pay },
	{ "a_ring_goes_while_others_look", test_a_ring_goes_while_others_look },
	{ NULL, NULL },
};

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"perfcheck",
	"Check perf_event_open(2) with bad arguments and bad rings. Without NAME: all.",
	"[NAME]...",
	args,
};

int main(int argc, char **argv)
{
	static const struct check *const groups[] = { tests, record_tests };

	return run_checks(&program, groups, sizeof(groups) / sizeof(groups[0]), argc, argv);
}

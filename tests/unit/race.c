/* SPDX-License-Identifier: GPL-2.0-only */
/* One part between any two accesses to memory of another; see race.h. */
#include "race.h"
#include "host.h"

static const struct race *of;
static bool stepping; /* here() runs, and there() has not begun */
static unsigned act_at, nr_accesses;

/* here() is about to read or write. */
static void before_an_access(void)
{
	if (!stepping || of->locked() || nr_accesses++ < act_at)
		return;
	stepping = false;
	host_elsewhere(of->there);
}

static void before_or_after_a_lock(struct machine *m, const struct host_lock *lock)
{
	(void)m;
	(void)lock;
	before_an_access();
}

/* The compiler puts calls of these before each access. */
#define ACCESS(name, ...)                                                                          \
	void __tsan_##name(__VA_ARGS__);                                                           \
	void __tsan_##name(__VA_ARGS__)                                                            \
	{                                                                                          \
		before_an_access();                                                                \
	}
#define NO_ACCESS(name, ...)                                                                       \
	void __tsan_##name(__VA_ARGS__);                                                           \
	void __tsan_##name(__VA_ARGS__)                                                            \
	{                                                                                          \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
ACCESS(read1, void *at)
ACCESS(read2, void *at)
ACCESS(read4, void *at)
ACCESS(read8, void *at)
ACCESS(read16, void *at)
ACCESS(write1, void *at)
ACCESS(write2, void *at)
ACCESS(write4, void *at)
ACCESS(write8, void *at)
ACCESS(write16, void *at)
ACCESS(unaligned_read2, void *at)
ACCESS(unaligned_read4, void *at)
ACCESS(unaligned_read8, void *at)
ACCESS(unaligned_read16, void *at)
ACCESS(unaligned_write2, void *at)
ACCESS(unaligned_write4, void *at)
ACCESS(unaligned_write8, void *at)
ACCESS(unaligned_write16, void *at)
ACCESS(read_range, void *at, long bytes)
ACCESS(write_range, void *at, long bytes)
#define ATOMIC(bits, type)                                                                         \
	RETURNS(type, atomic##bits##_load, const volatile void *at, int order)                     \
	{                                                                                          \
		return before_an_access(), *(const volatile type *)at;                             \
	}                                                                                          \
	RETURNS(void, atomic##bits##_store, volatile void *at, type value, int order)              \
	{                                                                                          \
		before_an_access();                                                                \
		*(volatile type *)at = value;                                                      \
	}                                                                                          \
	RETURNS(bool, atomic##bits##_compare_exchange_strong, volatile void *at, void *was,        \
		type value, int order, int failing)                                                \
	{                                                                                          \
		type is = (before_an_access(), *(volatile type *)at);                              \
		bool same = is == *(type *)was;                                                    \
                                                                                                   \
		*(type *)was = is;                                                                 \
		if (same)                                                                          \
			*(volatile type *)at = value;                                              \
		return same;                                                                       \
	}                                                                                          \
	CHANGE(bits, type, exchange, value)                                                        \
	CHANGE(bits, type, fetch_add, (type)(was + value))                                         \
	CHANGE(bits, type, fetch_sub, (type)(was - value))                                         \
	CHANGE(bits, type, fetch_and, was &value)                                                  \
	CHANGE(bits, type, fetch_or, was | value)                                                  \
	CHANGE(bits, type, fetch_xor, was ^ value)
#define CHANGE(bits, type, name, new)                                                              \
	RETURNS(type, atomic##bits##_##name, volatile void *at, type value, int order)             \
	{                                                                                          \
		type was = (before_an_access(), *(volatile type *)at);                             \
                                                                                                   \
		*(volatile type *)at = new;                                                        \
		return was;                                                                        \
	}
#define RETURNS(type, name, ...)                                                                   \
	type __tsan_##name(__VA_ARGS__);                                                           \
	type __tsan_##name(__VA_ARGS__)
ATOMIC(8, u8)
ATOMIC(32, u32)
ATOMIC(64, u64)
NO_ACCESS(atomic_thread_fence, int order)
NO_ACCESS(init, void)
NO_ACCESS(func_entry, void *from)
NO_ACCESS(func_exit, void *from)
#pragma GCC diagnostic pop

static void one_after_the_other(bool here_first, s64 *value)
{
	of->begin();
	if (here_first)
		of->here();
	host_elsewhere(of->there);
	if (!here_first)
		of->here();
	of->outcome(value);
	of->end();
	CHECKED();
}

/* The first field in which @got is neither @a nor @b; with @b NULL, is not @a. */
static unsigned first_other(const s64 *got, const s64 *a, const s64 *b)
{
	unsigned i = 0;

	while (of->field[i] && (got[i] == a[i] || (b && got[i] == b[i])))
		i++;
	return i;
}

/* @got must be what one of the two orders gives, in all fields. */
static void judge(const s64 *got, const s64 *here_first, const s64 *there_first)
{
	unsigned i = first_other(got, here_first, there_first);
	unsigned k = first_other(got, there_first, NULL);

	if (of->field[i])
		fail_msg("%s, and amid that, with the lock free, %s: then %s is %lld, where %lld "
			 "is right if the first comes first, and %lld if the second does",
			 of->here_is, of->there_is, of->field[i], got[i], here_first[i],
			 there_first[i]);
	i = first_other(got, here_first, NULL);
	if (of->field[i] && of->field[k])
		fail_msg("%s, and amid that, with the lock free, %s: then %s is %lld, as if the "
			 "second came first (else %lld), and %s is %lld, as if the first did (else "
			 "%lld)",
			 of->here_is, of->there_is, of->field[i], got[i], here_first[i],
			 of->field[k], got[k], there_first[k]);
}

static void stopped(const char *what)
{
	fail_msg("%s, and amid that, with the lock free, %s: then the machine stops, because this "
		 "does not hold: %s",
		 of->here_is, of->there_is, what);
}

void race_try(const struct race *race)
{
	s64 here_first[RACE_FIELDS], there_first[RACE_FIELDS], got[RACE_FIELDS];

	of = race;
	one_after_the_other(true, here_first);
	one_after_the_other(false, there_first);
	for (act_at = 0; !stepping; act_at++) {
		nr_accesses = 0;
		race->begin();
		host->on_bug = stopped;
		host->on_lock = host->on_unlock = before_or_after_a_lock;
		stepping = true;
		race->here();
		if (!stepping) {
			race->outcome(got);
			judge(got, here_first, there_first);
		}
		race->end();
	}
	stepping = false;
	if (act_at < 3)
		fail_msg("%s without an access to memory outside of the lock", of->here_is);
}

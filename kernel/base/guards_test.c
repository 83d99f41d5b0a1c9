/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fields that are used otherwise than declared: a check that finds nothing may be one that sees
 * nothing. the nightly test expects a sentence for each of them but the first.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"

struct misused {
	struct spinlock lock;
	GUARDED(lock);
	u64 right;
	u64 written_without, read_without;
	u64 with_another_lock;
	GUARDED(atomic);
	u32 torn;
	GUARDED(constant);
	u32 changing;

	bool ended;
};

static __noinline void use(struct misused *m, struct misused *other)
{
	spin_lock(&m->lock);
	m->right++;
	m->read_without++;
	spin_unlock(&m->lock);
	spin_lock(&other->lock);
	m->with_another_lock++;
	spin_unlock(&other->lock);
	if (READ_ONCE(m->read_without))
		m->written_without = 1;
	m->torn++;
	m->changing = 1;
}

static void misuse(void *both)
{
	struct misused **pair = both;

	for (unsigned i = 0; i < 2000; i++) {
		use(pair[0], pair[1]);
		cond_resched();
	}
	WRITE_ONCE(pair[0]->ended, true);
}

/* Another thread is at work on what this one has made, so nobody owns it. */
SELFTEST(guards_are_compared)
{
	struct misused *pair[2];

	for (unsigned i = 0; i < 2; i++) {
		struct misused *m = kzalloc(sizeof(*m));

		SELFTEST_CHECK(m);
		spin_lock_init(&m->lock, "misused");
		pair[i] = m;
	}
	SELFTEST_CHECK(kthread_create("misuse", misuse, pair));
	while (!READ_ONCE(pair[0]->ended))
		cond_resched();
	kfree(pair[0]);
	kfree(pair[1]);
	return 0;
}

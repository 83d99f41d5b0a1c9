/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts: what each user has taken of the kernel. The user of a thread is its real one, as on
 * Linux; the thread keeps the account (thread.account). An object that is charged keeps it too, and
 * gives back to it, whoever drops the object and whatever user the maker is by then.
 */
#pragma once

#include "lib/types.h"

enum resource {
	RES_THREADS,	/* RLIMIT_NPROC; also those that ended and were not waited for */
	RES_SIGNALS,	/* queued, and one for each timer: RLIMIT_SIGPENDING */
	RES_PIPE_PAGES, /* what its pipes and FIFOs can hold: pipe-user-pages-soft and -hard */
	RES_RING_PAGES, /* of perf events: perf_event_mlock_kb and RLIMIT_MEMLOCK */
	RES_WATCHES,	/* of its epoll sets: epoll/max_user_watches */
	RES_RECORDS,	/* record locks: RECORDS_MAX of record.c */
	RES_HELD,	/* pages that its pipes, sockets and texts of /proc do hold: oom.c */
	NR_RESOURCES
};
#define NO_LIMIT UINT64_MAX

struct account {
	GUARDED(account_lock);
	struct account *next; /* in its bucket */
	GUARDED(constant);
	u32 uid;
	GUARDED(atomic);
	u32 refs; /* threads, and objects that will give back */
	u64 used[NR_RESOURCES];
	GUARDED(proc_tree_lock);
	s64 points; /* of oom.c */
};

extern struct account root_account;

/* The account of @uid with a reference for the caller; NULL: no memory. */
struct account *account_find(u32 uid);
struct account *account_get(struct account *a);
void account_put(struct account *a); /* NULL is fine; any context */
/* Take @n for @a, unless it would then have more than @limit. Any context. */
bool account_charge(struct account *a, enum resource what, u64 n, u64 limit);
void account_give(struct account *a, enum resource what, u64 n);
static inline u64 account_used(const struct account *a, enum resource what)
{
	return READ_ONCE(a->used[what]);
}
/* The running thread counts for @uid from now on. False: no memory. */
bool account_switch(u32 uid);
/* Are limits on processes and pipes not for the running thread, because it is privileged? */
bool account_is_exempt(void);
/*
 * May the running thread take memory of the kernel that it can keep? When little is left only the
 * privileged may, so that somebody can still clean up.
 */
bool account_may_hoard(void);

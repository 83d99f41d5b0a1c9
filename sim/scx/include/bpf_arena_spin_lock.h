/* SPDX-License-Identifier: GPL-2.0-only */
/* Spin locks in an arena. A call may hold several of them. */
#pragma once

#include "scx/common.bpf.h"

#define arena_spinlock_t struct __qspinlock

struct __qspinlock {
	u32 taken;
};

/* Linux's wait in queues, whose nodes a program has. */
enum { _Q_MAX_CPUS = 1, _Q_MAX_NODES = 1 };
struct arena_qnode {
	u32 unused;
};
extern struct arena_qnode qnodes[_Q_MAX_CPUS][_Q_MAX_NODES];

static inline int arena_spin_lock(struct __qspinlock *lock)
{
	return scx_arena_lock(&lock->taken);
}
static inline void arena_spin_unlock(struct __qspinlock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}
#define arena_spin_lock_irqsave(lock, flags)	  ((void)(flags), arena_spin_lock(lock))
#define arena_spin_unlock_irqrestore(lock, flags) ((void)(flags), arena_spin_unlock(lock))

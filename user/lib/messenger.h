/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers that ask a messenger for work and sleep until it sends them: both versions of schbench
 * measure the time from being sent to running.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* One cache line for each word that different CPUs write. */
struct worker_slot {
	_Alignas(64) _Atomic uint32_t go; /* futex: 1 when there is work */
	uint64_t sent_ns;		  /* when the messenger said so */
	struct worker_slot *next;
};

struct messenger_box {					    /* zeroed before use */
	_Alignas(64) _Atomic(struct worker_slot *) waiting; /* last come, first */
	_Atomic uint32_t bell;				    /* futex: 1 when somebody came */
};

/* Worker: ask for work and sleep until sent. Returns ns from being sent to running. */
uint64_t wait_for_work(struct messenger_box *box, struct worker_slot *worker);

/* Messenger: sleep until somebody has come, or the bell was rung, since the last time. */
void wait_for_workers(struct messenger_box *box);
/* Messenger: take all waiting workers, as a linked list; NULL if there are none. */
struct worker_slot *take_workers(struct messenger_box *box);
/*
 * Messenger: give work to a worker that was taken. Read its link before: the worker owns it again.
 */
void send_to_work(struct worker_slot *worker);
/* Any thread: make the messenger look. */
void ring_bell(struct messenger_box *box);

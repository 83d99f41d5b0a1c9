/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers that ask a messenger for work and sleep until it sends them: what both versions of
 * schbench measure is the time from being sent to running.
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
/* Messenger: all that wait, linked; NULL. */
struct worker_slot *take_workers(struct messenger_box *box);
/* Messenger: give work to one that was taken. Its link is its own again: read it before. */
void send_to_work(struct worker_slot *worker);
/* Anybody: make the messenger look. */
void ring_bell(struct messenger_box *box);

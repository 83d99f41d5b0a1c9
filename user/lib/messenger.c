/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See messenger.h. The first worker to come rings the bell; the others find it rung and make no
 * system call.
 */
#include "lib/messenger.h"

#include "lib/clock.h"
#include "lib/sched.h"

void ring_bell(struct messenger_box *box)
{
	if (!atomic_exchange(&box->bell, 1))
		futex_wake((uint32_t *)&box->bell, 1);
}

uint64_t wait_for_work(struct messenger_box *box, struct worker_slot *worker)
{
	worker->go = 0;
	worker->next = box->waiting;
	while (!atomic_compare_exchange_weak(&box->waiting, &worker->next, worker))
		;
	ring_bell(box);
	while (!worker->go)
		futex_wait((uint32_t *)&worker->go, 0);
	return now_ns() - worker->sent_ns;
}

void wait_for_workers(struct messenger_box *box)
{
	while (!atomic_exchange(&box->bell, 0))
		futex_wait((uint32_t *)&box->bell, 0);
}

struct worker_slot *take_workers(struct messenger_box *box)
{
	return atomic_exchange(&box->waiting, NULL);
}

void send_to_work(struct worker_slot *worker)
{
	worker->sent_ns = now_ns();
	worker->go = 1;
	futex_wake((uint32_t *)&worker->go, 1);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of each CPU that another class reserves for the fair class: it may pick what the fair
 * class picks (dl/server.c). The fair class calls it, by s->server, while its policy has
 * TRAIT_FAIR_SERVER.
 */
#pragma once

#include "lib/types.h"

struct class_numbers;
struct fair_policy;
struct rq;
struct sched;

struct fair_server {
	/* Something fair is queued on @rq from now on, or nothing any more. Locked: @rq. */
	void (*start)(struct rq *rq);
	void (*stop)(struct rq *rq);

	/* A fair task of @rq ran for @ns, on behalf of the server or not. Locked: @rq. */
	void (*charge)(struct rq *rq, u64 ns);

	/* Makes @policy the machine's. 0, or what sched_fair_swap() returns. No lock is held. */
	int (*publish)(struct sched *s, const struct fair_policy *policy);

	/* For records: its numbers on @rq, locked. Returns whether it is active. */
	bool (*numbers)(struct rq *rq, struct class_numbers *n);
};

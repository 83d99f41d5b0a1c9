/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judging decisions while a machine is explored. The judge knows the scheduler's structures, which
 * the simulator must not, so it lives with the tests: tests/oracle/judge.c.
 */
#pragma once

struct sched;

/*
 * From now on each fair queue of @s that there is asks its policy through the judge: a decision
 * that is not right ends in host_bug(). Queues that are made later are not judged until the next
 * call; calling again is cheap.
 */
void judge_attach(struct sched *s);

/* judge_attach() does nothing any more: only invariants and assertions are left. */
void judge_dismiss(void);

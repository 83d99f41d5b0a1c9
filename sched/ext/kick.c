/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kicks: a scheduler has a CPU choose anew, and may wait until that has.
 *
 * PROTOCOL: kicks. An insert that an operation asks for is done when that has returned. A CPU that
 * was kicked before could look for the task too early, and idle. So the CPU that calls operations
 * notes the kicks that they ask for (`how`), pokes itself, and sends the kicks at its next
 * switch. A kick for an idle CPU reaches one that does not idle, too: that may have asked for work
 * in vain already, and be about to idle. At its own next switch it sees whether it idles.
 *
 * PROTOCOL: waiting for kicked CPUs. The CPU that kicks draws the next number of ext.waits, and
 * notes it and the CPU that it kicks. A CPU that has chosen publishes the number that was drawn
 * last (`answered`). Behind its own switch the CPU that kicked publishes, too, drops its runqueue's
 * lock, and waits until each CPU that it noted has published its number or a later one, or runs
 * nothing of the scheduler. CPUs cannot wait for each other for ever: if A waits for B, then B
 * published before A drew its number, and so before A published; a ring of such CPUs would have no
 * first one. A choice that was under way when the kick came is an answer as well.
 *
 * Locks: the runqueue's for all but the kick itself. Source: Linux 7.2 (docs/sources.md).
 */
#include "sched/ext/ext.h"

/* --- kicking -------------------------------------------------------------- */

/* @here, which is the CPU of the caller, is to wait for @er's. */
static void note_wait(struct ext_rq *here, const struct ext_rq *er)
{
	cpumask_set(&here->awaited, er->rq->cpu);
	here->number[er->rq->cpu] = __atomic_add_fetch(&er->x->waits, 1, __ATOMIC_SEQ_CST);
	WRITE_ONCE(here->waits, true);
	poke(here->rq);
}

/* @here, the CPU of the caller, kicks @er's. */
static void send_kick(struct ext_rq *here, struct ext_rq *er, u8 how)
{
	if (!READ_ONCE(er->rq->online))
		return;
	if ((how & KICKED_AWAITED) && er != here && READ_ONCE(er->curr))
		note_wait(here, er);
	__atomic_fetch_or(&er->kick, how, __ATOMIC_RELEASE);
	poke(er->rq);
}

static u8 how_kicked(u64 flags)
{
	if (flags & EXT_KICK_IDLE)
		return KICKED_IF_IDLE;
	return KICKED | (flags & EXT_KICK_PREEMPT ? KICKED_PREEMPT : 0) |
	       (flags & EXT_KICK_WAIT ? KICKED_AWAITED : 0);
}

void ext_kick(struct ext_call *c, u32 here, s32 cpu, u64 flags)
{
	struct ext_rq *er = &c->x->cpu[here];

	if (!ext_cpu_is_valid(c, cpu))
		return;
	if (c->kind == EXT_OUTSIDE) {
		send_kick(er, &c->x->cpu[cpu], how_kicked(flags));
		return;
	}
	er->how[cpu] |= how_kicked(flags);
	er->kick_first = er->kick_end ? min(er->kick_first, (u32)cpu) : (u32)cpu;
	er->kick_end = max(er->kick_end, (u32)cpu + 1);
	poke(er->rq);
}

/* The operations that asked @er's CPU for kicks are over. Returns how it kicks itself. */
static u32 send_kicks(struct ext_rq *er)
{
	u32 own = er->rq->cpu, itself = er->how[own];

	debug_assert_locked(er->rq);
	for (u32 cpu = er->kick_first; cpu < er->kick_end; cpu++) {
		if (er->how[cpu] && cpu != own)
			send_kick(er, &er->x->cpu[cpu], er->how[cpu]);
		er->how[cpu] = 0;
	}
	er->kick_end = 0;
	return itself;
}

/* --- being kicked --------------------------------------------------------- */

/* Kicks of a CPU, and the time between them, after which it seems to do nothing else. */
#define VAIN_KICKS  8192u
#define VAIN_GAP_NS (400 * NS_PER_US)

/*
 * A scheduler that kicks a CPU whenever that switches lets nobody run there. Its tasks are picked
 * again and again, so none waits for long; and in a simulation, where a switch may take no time,
 * there would be no end. A task has run there if it goes to sleep, and perhaps if there was no kick
 * for a while; but a virtual CPU may have stood still then, so that makes up for some kicks only.
 */
static void count_vain(struct ext_rq *er, u32 kick)
{
	u64 gap = kick & KICKED_PREEMPT ? VAIN_GAP_NS : 1;

	debug_assert_locked(er->rq);
	if (er->rq->clock - er->kicked_at < gap)
		er->nr_vain++;
	else
		ext_has_run(er);
	er->kicked_at = er->rq->clock;
	if (er->nr_vain >= VAIN_KICKS)
		ext_fault(er->x, er, "CPU %u is kicked again and again, and tasks hardly run there",
			  er->rq->cpu);
}

void ext_hear(struct ext_rq *er)
{
	u32 kick;

	debug_assert_locked(er->rq);
	ext_move_deferred(er);
	kick = send_kicks(er);
	kick |= __atomic_exchange_n(&er->kick, 0, __ATOMIC_ACQ_REL);
	/* To wait for others it chooses anew, too; if it has nothing to choose among: at once. */
	if (er->waits && er->curr)
		resched(er->rq);
	else if (er->waits)
		ext_answer(er);
	if (kick == KICKED_IF_IDLE && !is_idle_task(er->rq->curr))
		return;
	if (!kick || !er->rq->online)
		return;
	count_vain(er, kick);
	if ((kick & KICKED_PREEMPT) && er->curr)
		ext_part(er->curr)->seen->slice = 0;
	class_set_active(er->rq, CLASS_ext, true);
	resched(er->rq);
}

/* --- waiting -------------------------------------------------------------- */

void ext_answer(struct ext_rq *er)
{
	debug_assert_locked(er->rq);
	__atomic_store_n(&er->answered, __atomic_load_n(&er->x->waits, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	if (unlikely(er->waits))
		class_set_push(er->rq, CLASS_ext, true);
}

/* Has @er's CPU chosen since the number @number was drawn, or nothing of the scheduler to run? */
static bool has_answered(const struct ext_rq *er, u32 number)
{
	return (s32)(__atomic_load_n(&er->answered, __ATOMIC_ACQUIRE) - number) >= 0 ||
	       !READ_ONCE(er->curr);
}

/* Forgets the CPUs that have answered. Is there one that has not? */
static bool has_to_wait(struct ext_rq *er)
{
	struct ext *x = er->x;
	u32 cpu;

	debug_assert_locked(er->rq);
	for_each_cpu(cpu, &er->awaited)
		if (x->bypass || has_answered(&x->cpu[cpu], er->number[cpu]))
			cpumask_clear(&er->awaited, cpu);
	er->waits = !cpumask_empty(&er->awaited);
	return er->waits;
}

void ext_push(struct rq *rq)
{
	struct ext_rq *er;

	debug_assert_locked(rq);
	class_set_push(rq, CLASS_ext, false);
	/* Others may wait for the tasks that are on their way. */
	deliver(rq);
	rq_lock(rq);
	/* While the lock is dropped the scheduler may be unloaded. */
	while ((er = ext_of(rq)) && er->waits && has_to_wait(er)) {
		bool passed;

		ext_answer(er);
		rq_unlock(rq);
		passed = host_wait(rq->cpu);
		rq_lock(rq);
		if (!passed) {
			poke(rq);
			return;
		}
	}
	class_set_push(rq, CLASS_ext, false);
}

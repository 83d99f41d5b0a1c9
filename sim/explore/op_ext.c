/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler of random decisions for the class ext: it inserts tasks anywhere, in order of vtime
 * or not, keeps some to itself, walks through queues, kicks CPUs, and now and then errs. It knows
 * what it keeps by enqueue and dequeue alone, and that must be what the class says.
 */
#include <stdlib.h>

#include "lib/errno.h"
#include "sim/explore/judge.h"
#include "sim/explore/op.h"
#include "sched/ext.h"
#include "sim/scx/scx.h"

#define PROGRAM_DSQS 64u
#define NR_DSQS	     4u	  /* numbers 0..3; odd ones are in order of vtime */
#define MISTAKES     400u /* one decision in so many is an error */

#define PROGRAMS_MAX 16u

/* Programs for sched_ext that come and go, too. */
static const char *programs[PROGRAMS_MAX];
static unsigned nr_programs;

struct gambler {
	struct prng rng;
	struct ext_seen seen[WORLD_TASKS];
	struct task *kept[WORLD_TASKS];
	unsigned nr_kept;
	const struct sim *sim;
	void *memory;
	struct task *moving; /* that a move is likely to hold, while its locks are changed */
	bool is_loaded;	     /* and no program is */
	bool errs;	     /* it asked, perhaps, for a CPU that the task may not use */
};
static struct gambler gambler;

static unsigned draw(unsigned bound)
{
	return prng_below(&gambler.rng, bound);
}

/* --- what it keeps -------------------------------------------------------- */

static bool drop(struct task *t)
{
	for (unsigned i = 0; i < gambler.nr_kept; i++)
		if (gambler.kept[i] == t) {
			gambler.kept[i] = gambler.kept[--gambler.nr_kept];
			return true;
		}
	return false;
}

static void keep(struct task *t)
{
	EXPECT(!drop(t) && gambler.nr_kept < WORLD_TASKS);
	gambler.kept[gambler.nr_kept++] = t;
}

static unsigned allowed_cpu(struct ext_call *c, const struct task *t)
{
	s32 cpu = ext_pick_any(c, &t->allowed, draw(2));

	return cpu < 0 ? t->cpu : (unsigned)cpu;
}

/* Inserts @t, and says so before. */
static void put(struct ext_call *c, struct task *t, u64 dsq, u64 slice, u64 flags)
{
	judge_asks(c, t, dsq, slice, 0, flags);
	ext_insert(c, t, dsq, slice, flags);
}

static void put_in_order(struct ext_call *c, struct task *t, u64 dsq, u64 slice)
{
	u64 vtime = draw(5);

	judge_asks(c, t, dsq, slice, vtime, EXT_ENQ_PRIQ);
	ext_insert_vtime(c, t, dsq, slice, vtime, 0);
}

/* @t goes anywhere, and the CPU that it may go to is told, or not. */
static void insert(struct ext_call *c, struct task *t, bool may_leave)
{
	u32 ms = draw(3) ? draw(20) : 20;
	u64 slice = ms == 19 ? EXT_SLICE_INFINITE : NS_PER_MS * ms; /* 20: the default */
	u64 flags = draw(8) ? 0 : draw(2) ? EXT_ENQ_HEAD : EXT_ENQ_PREEMPT;
	unsigned dsq = draw(NR_DSQS);

	switch (draw(may_leave ? 5 : 4)) {
	case 0:
		put(c, t, EXT_DSQ_LOCAL, slice, flags);
		break;
	case 1:
		put(c, t, EXT_DSQ_GLOBAL, slice, 0);
		break;
	case 4:
		put(c, t, EXT_DSQ_LOCAL_ON | allowed_cpu(c, t), slice, flags);
		break;
	default:
		if (dsq % 2)
			put_in_order(c, t, dsq, slice);
		else
			put(c, t, dsq, slice, flags);
		break;
	}
}

static void perhaps_err(struct ext_call *c)
{
	if (!draw(MISTAKES))
		ext_report(c, EXT_EXIT_ERROR_BPF, 0, "a mistake");
}

/* --- operations ----------------------------------------------------------- */

/* A CPU of the even ones that @t may use, if one of them idles or its waker is one; else -EBUSY. */
static s32 select_even(struct ext_call *c, struct task *t, s32 prev, u64 wake_flags)
{
	struct cpumask even = { { 0 } };
	s32 cpu;

	for (u32 i = 0; i < CPU_MAX; i += 2)
		cpumask_set(&even, i);
	cpu = ext_select_within(c, t, prev, wake_flags, &even, draw(2));
	EXPECT(cpu == -EBUSY || (!(cpu & 1) && cpumask_test(&t->allowed, (u32)cpu)));
	return cpu;
}

static s32 gamble_select(struct ext_call *c, struct task *t, s32 prev, u64 wake_flags)
{
	bool idle = false;
	s32 even = draw(4) ? -EBUSY : select_even(c, t, prev, wake_flags);
	s32 cpu = even >= 0 ? even
		  : draw(3) ? ext_select_default(c, t, prev, wake_flags, &idle)
			    : (s32)allowed_cpu(c, t);

	if (idle && draw(2))
		put(c, t, EXT_DSQ_LOCAL, 0, 0);
	return cpu;
}

static void kick(struct ext_call *c, u32 here, u32 cpu)
{
	u64 flags = draw(8);

	judge_kicks(c, here, cpu, flags);
	ext_kick(c, here, (s32)cpu, flags);
}

static void gamble_enqueue(struct ext_call *c, struct task *t, u64 flags)
{
	(void)flags;
	perhaps_err(c);
	if (draw(3))
		insert(c, t, true);
	else
		keep(t);
	if (!draw(4))
		kick(c, gambler.sim->this_cpu, t->cpu);
}

static void gamble_dequeue(struct ext_call *c, struct task *t, u64 flags)
{
	(void)c, (void)flags;
	EXPECT(drop(t));
}

/* @t, found in a queue, goes to another. */
static void shift(struct ext_call *c, struct ext_iter *it, struct task *t)
{
	u64 slice = NS_PER_MS, vtime = draw(5);
	struct ext_moved how = { draw(2) ? &slice : NULL, &vtime };

	u64 dsq = draw(2) ? EXT_DSQ_LOCAL_ON | allowed_cpu(c, t) : 1;
	u64 flags = dsq == 1 ? EXT_ENQ_PRIQ : 0;

	gambler.moving = t;
	judge_walks(t, dsq, vtime, flags);
	judge_walked(t, ext_move(c, gambler.sim->this_cpu, it, t, dsq, flags, &how));
	gambler.moving = NULL;
}

/* Tasks of a queue go to others. */
static void walk(struct ext_call *c)
{
	struct ext_iter it;
	struct task *t;

	if (ext_iter_begin(c, &it, draw(NR_DSQS), draw(2) ? EXT_ITER_REVERSE : 0))
		return;
	while ((t = ext_iter_next(c, &it)) && draw(4))
		if (draw(2))
			shift(c, &it, t);
	ext_iter_end(c, &it);
}

static bool move_to_local(struct ext_call *c, u64 dsq)
{
	struct ext_iter it;
	bool moved;

	if (!ext_iter_begin(c, &it, dsq, 0)) {
		gambler.moving = ext_iter_next(c, &it);
		EXPECT(gambler.moving == ext_peek(c, dsq));
		ext_iter_end(c, &it);
	}
	judge_takes(c, dsq);
	moved = ext_move_to_local(c, dsq);
	gambler.moving = NULL;
	return moved;
}

static void gamble_dispatch(struct ext_call *c, s32 cpu, struct task *prev)
{
	(void)prev;
	perhaps_err(c);
	while (gambler.nr_kept && ext_slots(c) && draw(4)) {
		struct task *t = gambler.kept[draw(gambler.nr_kept)];

		drop(t);
		gambler.errs |= t->cpu != (u32)cpu && !cpumask_test(&t->allowed, (u32)cpu);
		insert(c, t, true);
		if (!draw(8)) {
			ext_cancel(c);
			judge_cancels(t);
			keep(t);
		}
	}
	if (!draw(4))
		walk(c);
	for (unsigned dsq = draw(NR_DSQS), n = 0; n < NR_DSQS && draw(8); n++)
		if (move_to_local(c, (dsq + n) % NR_DSQS) && draw(2))
			break;
	if (!draw(8))
		kick(c, (u32)cpu, draw(gambler.sim->config.nr_cpus));
}

static void gamble_release(struct ext_call *c, s32 cpu)
{
	(void)cpu;
	if (draw(2))
		ext_reenqueue_local(c);
}

static void gamble_tick(struct ext_call *c, struct task *t)
{
	(void)c;
	if (!draw(3))
		gambler.seen[t->pid - 1].slice = 0;
}

static void ignore_cpu(struct ext_call *c, s32 cpu)
{
	(void)c, (void)cpu;
}

static struct ext_seen *attach(struct ext_call *c, struct task *t)
{
	(void)c;
	EXPECT(t->pid > 0 && t->pid <= (int)WORLD_TASKS);
	return &gambler.seen[t->pid - 1];
}

static void detach(struct ext_call *c, struct task *t)
{
	(void)c;
	gambler.seen[t->pid - 1] = (struct ext_seen){ .slice = 0 };
}

static s32 gamble_init(struct ext_call *c)
{
	for (u64 dsq = 0; dsq < NR_DSQS; dsq++)
		EXPECT(!ext_create_dsq(c, dsq));
	EXPECT(ext_create_dsq(c, 0) && ext_create_dsq(c, NR_DSQS));
	return 0;
}

static struct ext_ops ops = {
	.name = "gambler",
	.timeout_ms = 60000000,
	.enqueue = gamble_enqueue,
	.dequeue = gamble_dequeue,
	.dispatch = gamble_dispatch,
	.cpu_release = gamble_release,
	.tick = gamble_tick,
	.init = gamble_init,
	.attach = attach,
	.detach = detach,
};

/* --- coming and going ----------------------------------------------------- */

static void settle_all(struct world *w)
{
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t)
			sched_ext_settle(w->sim->s, &w->subject[i].t->task);
}

/* A table of random operations, as @arg seeds them. */
static const struct ext_ops *draw_scheduler(u32 arg)
{
	prng_seed(&gambler.rng, arg);
	ops.flags = draw(4); /* ext_ops_flags */
	if (arg / 16 % 4 == 3)
		ops.flags |= EXT_OPS_SWITCH_PARTIAL;
	ops.dispatch_max_batch = draw(3);
	ops.select_cpu = draw(2) ? gamble_select : NULL;
	ops.cpu_online = ops.cpu_offline = draw(2) ? ignore_cpu : NULL;
	return judge_scheduler(&ops, true);
}

static void load(struct world *w, u32 arg)
{
	unsigned which = arg % (nr_programs + 1), nr_dsqs = which ? PROGRAM_DSQS : NR_DSQS;
	size_t size = sched_ext_size(w->shape.nr_cpus, nr_dsqs);
	const struct ext_ops *chosen;

	scx_go(false); /* of a run that failed */
	gambler =
		(struct gambler){ .sim = w->sim, .memory = aligned_alloc(64, (size + 63) & ~63ul) };
	EXPECT(gambler.memory);
	__builtin_memset(gambler.memory, 0, size);
	gambler.is_loaded = !which;
	if (which)
		chosen = judge_scheduler(scx_come(w->sim, programs[which - 1]), false);
	else
		chosen = draw_scheduler(arg);
	EXPECT(!sched_ext_load(w->sim->s, gambler.memory, nr_dsqs, chosen));
	settle_all(w);
}

/* No operation decides any more, and the class inserts what the scheduler keeps, and counts it. */
static void bypass(struct world *w)
{
	s64 kept = sched_ext_ended(w->sim->s) ? 0 : gambler.nr_kept, nr;
	struct ext_events before = sched_ext_events(w->sim->s), events;

	sched_ext_bypass(w->sim->s);
	events = sched_ext_events(w->sim->s);
	nr = events.count[EXT_EV_BYPASS_DISPATCH] - before.count[EXT_EV_BYPASS_DISPATCH];
	EXPECT(events.count[EXT_EV_BYPASS_ACTIVATE] == 1);
	EXPECT(nr >= kept); /* and more: a task that wakes up meanwhile */
}

void ext_unload(struct world *w)
{
	struct sched *s = w->sim->s;
	const struct ext_exit *exit;

	if (!sched_ext_name(s))
		return;
	bypass(w);
	sched_ext_leave(s);
	settle_all(w);
	judge_unloaded();
	exit = sched_ext_unload(s);
	EXPECT(exit->kind != EXT_EXIT_NONE);
	/* A mistake has a kind of its own, and so have tasks that wait for too long. */
	EXPECT(exit->kind != EXT_EXIT_ERROR || !gambler.is_loaded || gambler.errs);
	scx_go(true);
	free(gambler.memory);
}

bool ext_add_program(const char *spec)
{
	if (nr_programs == PROGRAMS_MAX)
		return false;
	programs[nr_programs++] = spec;
	return true;
}

void ext_print_programs(FILE *out)
{
	for (unsigned i = 0; i < nr_programs; i++)
		fprintf(out, "--scx %s ", programs[i]);
}

/* As a timer of the scheduler may do it. */
static void walk_outside(struct ext_call *c, void *argument)
{
	(void)argument;
	judge_callback(true);
	walk(c);
	judge_callback(false);
}

/* In the middle of another operation a scheduler only ends: that operation may use its memory. */
void do_ext(struct world *w, u32 arg)
{
	w->was_ext = true;
	if (!sched_ext_name(w->sim->s))
		load(w, arg);
	else if (w->is_inside)
		sched_ext_bypass(w->sim->s);
	else if (gambler.is_loaded && arg % 4)
		sched_ext_outside(w->sim->s, walk_outside, NULL);
	else
		ext_unload(w);
}

/* A scheduler that erred is thrown out at once. */
void ext_after_op(struct world *w)
{
	if (sched_ext_ended(w->sim->s))
		ext_unload(w);
}

const struct task *ext_moving(void)
{
	return gambler.moving;
}

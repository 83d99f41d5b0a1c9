/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of sched_ext and of BPF, by the names under which programs know them
 * (include/scx/common.bpf.h). Each acts for the operation that is being called.
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define CALL	(scx_frame()->call)
#define NEED(p) scx_need(p, sizeof(*(p)), false)

/* A fault of the program, in its own words. */
static void fault(const char *what)
{
	ext_report(CALL, EXT_EXIT_ERROR, 0, what);
}

/* The task that @p means; NULL and a fault if it is none of the program's. */
static struct task *task_of(const struct task_struct *p)
{
	struct task *t = scx_task(p);

	if (!t)
		fault("the idle task or NULL is given for a task");
	return t;
}

/* --- dispatch queues ------------------------------------------------------ */

s32 scx_bpf_create_dsq(u64 dsq, s32 node)
{
	(void)node;
	return ext_create_dsq(CALL, dsq);
}

void scx_bpf_destroy_dsq(u64 dsq)
{
	ext_destroy_dsq(CALL, dsq);
}

s32 scx_bpf_dsq_nr_queued(u64 dsq)
{
	return ext_dsq_nr(CALL, dsq);
}

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags)
{
	struct task *t = task_of(p);

	if (t)
		ext_insert(CALL, t, dsq, slice, enq_flags);
}

void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags)
{
	struct task *t = task_of(p);

	if (t)
		ext_insert_vtime(CALL, t, dsq, slice, vtime, enq_flags);
}

u32 scx_bpf_dispatch_nr_slots(void)
{
	return ext_slots(CALL);
}

void scx_bpf_dispatch_cancel(void)
{
	ext_cancel(CALL);
}

bool scx_to_local(u64 dsq)
{
	return ext_move_to_local(CALL, dsq);
}

u32 scx_bpf_reenqueue_local(void)
{
	return ext_reenqueue_local(CALL);
}

/* --- walks ---------------------------------------------------------------- */

/*
 * The program has a pointer to it, and may not end it: then the call does. guarded by: its CPU
 */
struct scx_walk {
	struct scx_walk *next; /* of the call's, the youngest first */
	struct ext_iter it;
	bool there, sets_slice, sets_vtime;
	u64 slice, vtime;
};

static void end_walk(struct scx_walk **at)
{
	struct scx_walk *w = *at;

	*at = w->next;
	if (w->there)
		ext_iter_end(CALL, &w->it);
	scx_free(w);
}

void scx_end_call(struct scx_frame *frame)
{
	while (frame->walks)
		end_walk(&frame->walks);
	if (frame->lock)
		__atomic_store_n(&frame->lock->taken, 0, __ATOMIC_RELEASE);
}

/* Where the call's list has the walk of @it; a fault, and the list's end, if it has not. */
static struct scx_walk **find_walk(const struct bpf_iter_scx_dsq *it)
{
	struct scx_walk **at = &scx_frame()->walks;

	scx_need(it, sizeof(*it), false);
	while (*at && *at != it->walk)
		at = &(*at)->next;
	if (!*at && it->walk)
		fault("a walk through a queue that has not begun");
	return at;
}

struct bpf_iter_scx_dsq scx_iter_begin_scx_dsq(u64 dsq, u64 flags)
{
	struct scx_walk *w = scx_alloc(sizeof(*w));

	if (!w)
		return (struct bpf_iter_scx_dsq){ NULL };
	w->there = !ext_iter_begin(CALL, &w->it, dsq, flags);
	w->next = scx_frame()->walks;
	scx_frame()->walks = w;
	return (struct bpf_iter_scx_dsq){ w };
}

struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	struct scx_walk *w = *find_walk(it);
	struct task *t = w && w->there ? ext_iter_next(CALL, &w->it) : NULL;

	return t ? scx_see(t) : NULL;
}

void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it)
{
	struct scx_walk **at = find_walk(it);

	if (*at)
		end_walk(at);
}

struct task_struct *scx_bpf_dsq_peek(u64 dsq)
{
	struct task *t = ext_peek(CALL, dsq);

	return t ? scx_see(t) : NULL;
}

void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice)
{
	struct scx_walk *w = *find_walk(it);

	if (!w)
		return;
	w->slice = slice;
	w->sets_slice = true;
}

void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	struct scx_walk *w = *find_walk(it);

	if (!w)
		return;
	w->vtime = vtime;
	w->sets_vtime = true;
}

static bool move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 flags)
{
	struct scx_walk *w = *find_walk(it);
	struct task *t = task_of(p);
	struct ext_moved how;

	if (!w)
		return false;
	how = (struct ext_moved){ w->sets_slice ? &w->slice : NULL,
				  w->sets_vtime ? &w->vtime : NULL };
	w->sets_slice = w->sets_vtime = false;
	return t && w->there && ext_move(CALL, scx_this_cpu(), &w->it, t, dsq, flags, &how);
}

bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 enq_flags)
{
	return move(it, p, dsq, enq_flags);
}

bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
			    u64 enq_flags)
{
	return move(it, p, dsq, enq_flags | EXT_ENQ_PRIQ);
}

/* --- CPUs ----------------------------------------------------------------- */

s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 wake_flags, bool *is_idle)
{
	struct task *t = task_of(p);

	scx_need(is_idle, sizeof(*is_idle), true);
	*is_idle = false;
	return t ? ext_select_default(CALL, t, prev, wake_flags, is_idle) : prev;
}

s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev, u64 wake_flags,
			   const struct cpumask *mask, u64 flags)
{
	struct task *t = task_of(p);

	NEED(mask);
	return t ? ext_select_within(CALL, t, prev, wake_flags, mask, flags) : -EBUSY;
}

/* A user half is on none of the CPUs on which it seems to be, and waits for none. */
void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	if (scx_frame()->pinned)
		flags &= ~(u64)EXT_KICK_WAIT;
	ext_kick(CALL, scx_this_cpu(), cpu, flags);
}

bool scx_bpf_test_and_clear_cpu_idle(s32 cpu)
{
	return ext_take_idle(CALL, cpu);
}

s32 scx_bpf_pick_idle_cpu(const struct cpumask *mask, u64 flags)
{
	NEED(mask);
	return ext_pick_idle(CALL, mask, flags);
}

s32 scx_bpf_pick_any_cpu(const struct cpumask *mask, u64 flags)
{
	NEED(mask);
	return ext_pick_any(CALL, mask, flags);
}

const struct cpumask *scx_bpf_get_idle_cpumask(void)
{
	return ext_idle_mask(CALL, false);
}

const struct cpumask *scx_bpf_get_idle_smtmask(void)
{
	return ext_idle_mask(CALL, true);
}

const struct cpumask *scx_bpf_get_possible_cpumask(void)
{
	return scx_possible();
}

const struct cpumask *scx_bpf_get_online_cpumask(void)
{
	return scx_online();
}

u32 scx_bpf_nr_cpu_ids(void)
{
	return scx_nr_cpus();
}

struct task_struct *scx_bpf_cpu_curr(s32 cpu)
{
	if (cpu < 0 || (u32)cpu >= scx_nr_cpus())
		return NULL;
	return scx_see(ext_running(CALL, (u32)cpu));
}

struct rq *scx_bpf_cpu_rq(s32 cpu)
{
	struct rq *rq = &scx_frame()->rq;

	*rq = (struct rq){ .curr = scx_bpf_cpu_curr(cpu), .cpu = (u32)cpu, .clock = scx_bpf_now() };
	return rq->curr ? rq : NULL;
}

bool scx_bpf_task_running(const struct task_struct *p)
{
	const struct task *t = task_of(p);

	return t && ext_running(CALL, t->cpu) == t;
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	const struct task *t = task_of(p);

	return t ? (s32)t->cpu : -1;
}

bool bpf_in_hardirq(void)
{
	return scx_in_interrupt();
}

u64 scx_clock_task(u32 cpu)
{
	return cpu < scx_nr_cpus() ? ext_clock(CALL, cpu) : 0;
}

u64 scx_clock_pelt(u32 cpu)
{
	return cpu < scx_nr_cpus() ? ext_scaled_time(CALL, cpu) : 0;
}

u64 scx_bpf_now(void)
{
	return ext_now(CALL, scx_this_cpu());
}

void scx_bpf_events(struct scx_event_stats *events, size_t size)
{
	struct ext_events all = ext_events(CALL);

	_Static_assert(sizeof(all) == sizeof(*events), "both are made of one list");
	size = min(size, sizeof(all));
	scx_need(events, size, true);
	memcpy(events, &all, size);
}

/* Frequencies are the governors' here: every CPU has its whole capacity, and keeps it. */
u32 scx_bpf_cpuperf_cap(s32 cpu)
{
	(void)cpu;
	return 1024;
}

u32 scx_bpf_cpuperf_cur(s32 cpu)
{
	(void)cpu;
	return 1024;
}

void scx_bpf_cpuperf_set(s32 cpu, u32 perf)
{
	(void)cpu, (void)perf;
}

/* --- locks ---------------------------------------------------------------- */

/* Looks at a lock before its holder counts as lost. */
#define LOOKS_MAX (1u << 22)

/* False: nobody releases the lock that is @word. */
static bool take(u32 *word)
{
	for (u32 looks = 0; __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE); looks++) {
		if (looks == LOOKS_MAX)
			return false;
		scx_relax();
	}
	return true;
}

s32 scx_arena_lock(u32 *word)
{
	scx_need(word, sizeof(*word), true);
	return take(word) ? 0 : -ETIMEDOUT;
}

void bpf_spin_lock(struct bpf_spin_lock *lock)
{
	struct scx_frame *frame = scx_frame();

	scx_need(lock, sizeof(*lock), true);
	if (frame->lock) {
		fault("a second lock in one call");
		return;
	}
	if (!take(&lock->taken)) {
		fault("a lock that nobody releases");
		return;
	}
	frame->lock = lock;
}

void bpf_spin_unlock(struct bpf_spin_lock *lock)
{
	struct scx_frame *frame = scx_frame();

	if (frame->lock != lock) {
		fault("a lock is released that is not held");
		return;
	}
	frame->lock = NULL;
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

/* --- tasks, time and chance ----------------------------------------------- */

struct task_struct *bpf_task_from_pid(s32 pid)
{
	return pid > 0 ? scx_see_pid((u32)pid) : NULL;
}

u64 bpf_ktime_get_ns(void)
{
	return scx_clock();
}

u32 bpf_get_smp_processor_id(void)
{
	return scx_this_cpu();
}

u32 bpf_get_prandom_u32(void)
{
	return scx_random();
}

long bpf_printk(const char *format, ...)
{
	char text[EXT_MESSAGE_LEN];
	size_t n;
	va_list args;

	va_start(args, format);
	scx_print(text, sizeof(text), format, args);
	va_end(args);
	n = strlen(text);
	if (n && text[n - 1] == '\n')
		text[--n] = 0;
	scx_say(text);
	return (long)n;
}

void scx_bpf_error(const char *format, ...)
{
	char text[EXT_MESSAGE_LEN];
	va_list args;

	va_start(args, format);
	scx_print(text, sizeof(text), format, args);
	va_end(args);
	ext_report(CALL, EXT_EXIT_ERROR_BPF, 0, text);
}

void scx_bpf_dump(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	scx_print(text, sizeof(text), format, args);
	va_end(args);
	ext_dump(CALL, text);
}

void scx_bpf_exit(s64 code, const char *format, ...)
{
	char text[EXT_MESSAGE_LEN];
	va_list args;

	va_start(args, format);
	scx_print(text, sizeof(text), format, args);
	va_end(args);
	ext_report(CALL, EXT_EXIT_UNREG_BPF, code, text);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The accountant of quotas. The scheduler tells every movement of runtime (decision.def); the
 * accountant knows what each queue used and when periods end, so it knows what each movement must
 * be, to the ns, and which one must come. A movement that was not told is seen when the books are
 * compared with the pools.
 *
 * Rules: Documentation/scheduler/sched-bwc.rst, and the commit "Introduce the burstable CFS
 * controller" of Linux 5.14 (docs/sources.md).
 */
#include "tests/oracle/quota.h"
#include "lib/fmt.h"
#include "sched/core/core.h"

#define BOOKS	 16
#define KEPT	 (1 * NS_PER_MS) /* what an empty queue keeps */
#define LATER	 (5 * NS_PER_MS) /* when runtime that came back is shared out */
#define TOO_NEAR (2 * NS_PER_MS) /* a period that ends so soon makes that pointless */

#define JUDGE(is_right, what)                                                                      \
	do {                                                                                       \
		if (unlikely(!(is_right)))                                                         \
			host_bug(__FILE__, __LINE__, "the accountant disagrees: " what);           \
	} while (0)

typedef struct event_sched_decision_quota told;

/* The movement or the moment that is judged, for what is said of it. */
static struct {
	const char *act;
	u32 group, cpu;
	bool of_a_queue;
} judged;

static void now_judge(const char *act, u32 group, bool of_a_queue, u32 cpu)
{
	judged.act = act;
	judged.group = group;
	judged.of_a_queue = of_a_queue;
	judged.cpu = cpu;
}

#define NAME_OF(number, name, sentence) [number] = #name,
static const char *const act_name[] = { QUOTA_ACTS(NAME_OF) };

static void is_not(int line, const char *what, const char *field, u64 got, u64 right)
{
	static char said[240];
	char queue[24] = "the pool";

	if (judged.of_a_queue)
		fmt_snprintf(queue, sizeof(queue), "CPU %u", judged.cpu);
	fmt_snprintf(said, sizeof(said),
		     "the accountant disagrees: %s: %s is %lld, where %lld is right (%s, group %u, "
		     "%s)",
		     what, field, (long long)got, (long long)right, judged.act, judged.group,
		     queue);
	host_bug(__FILE__, line, said);
}

/* @what is the rule, @field the name of what is compared. */
#define SAME(what, field, got, right)                                                              \
	do {                                                                                       \
		u64 got_ = (u64)(got), right_ = (u64)(right);                                      \
		if (unlikely(got_ != right_))                                                      \
			is_not(__LINE__, what, field, got_, right_);                               \
	} while (0)

/* --- books ------------------------------------------------------------------------------------ */

static struct ledger {
	struct sched *s;
	struct book book[BOOKS];
} ledgers[4];
static unsigned next;

void quota_open(struct sched *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(ledgers); i++)
		if (ledgers[i].s == s)
			ledgers[i].s = NULL;
	__builtin_memset(&ledgers[next], 0, sizeof(ledgers[next]));
	ledgers[next].s = s;
	next = (next + 1) % ARRAY_SIZE(ledgers);
}

/* The book of the group with that number; NULL: it never had a quota. */
static struct book *find(const struct sched *s, u32 group)
{
	for (unsigned i = 0; i < ARRAY_SIZE(ledgers); i++)
		for (unsigned n = 0; n < BOOKS && ledgers[i].s == s; n++)
			if (ledgers[i].book[n].group == group)
				return &ledgers[i].book[n];
	return NULL;
}

static struct book *open_book(const struct sched *s, u32 group)
{
	struct book *b = find(s, group);

	if (b)
		return b;
	b = find(s, 0);
	JUDGE(b, "there are more groups than there can be");
	b->group = group;
	b->quota = SCHED_QUOTA_NONE;
	return b;
}

static struct fair_queue *queue_of(struct sched *s, u32 group, unsigned cpu)
{
	struct rq *rq = s->rq_of[cpu];
	struct fair_queue *q;

	list_for_each(q, &rq->queues, link)
		if (q->group && q->group->id == group)
			return q;
	return NULL;
}

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static bool is_limited(const struct book *b)
{
	return b->quota != SCHED_QUOTA_NONE;
}

/* The pool takes so many ns back. */
static u64 room(const struct book *b)
{
	return b->quota + b->burst - b->pool;
}

static void forget_waiting(struct book *b, unsigned cpu)
{
	u32 kept = 0;

	for (u32 i = 0; i < b->nr_waiting; i++)
		if (b->waiting[i] != cpu)
			b->waiting[kept++] = b->waiting[i];
	b->nr_waiting = kept;
	b->share[cpu].debt = 0;
}

/* --- what a group may use --------------------------------------------------------------------- */

/*
 * From a refill to the end of a later period: what was granted since, and a burst, were in the pool
 * or came; CPUs had fetched some before, and may be overdrawn now (derived in docs/oracles.md).
 */
static void judge_windows(struct book *b, unsigned nr_cpus)
{
	u64 overdrawn = b->owed;

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		if (b->share[cpu].local < (s64)b->share[cpu].debt)
			overdrawn += b->share[cpu].debt - (u64)b->share[cpu].local;
	for (u32 i = 0; i < b->nr_marks; i++)
		JUDGE(b->used - b->mark[i].used <= b->granted - b->mark[i].granted + b->burst +
							   b->mark[i].held + overdrawn,
		      "more was used than n periods allow");
}

static void put_mark(struct book *b, unsigned nr_cpus)
{
	struct mark mark = { .used = b->used, .granted = b->granted };

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		if (b->share[cpu].local > 0)
			mark.held += (u64)b->share[cpu].local;
	if (b->nr_marks == BOOK_MARKS)
		__builtin_memmove(b->mark, b->mark + 1, --b->nr_marks * sizeof(b->mark[0]));
	b->mark[b->nr_marks++] = mark;
}

void quota_charge(struct fair_queue *q, u64 ns)
{
	unsigned cpu = q->rq->cpu;

	for (const struct fair_queue *above = q; above->group; above = above->owner->queue) {
		const struct book *b = find(q->rq->s, above->group->id);

		JUDGE(!b || !b->share[cpu].throttled || q->rq->need_resched,
		      "a task runs below a throttled queue");
	}
	if (q->group) {
		struct book *b = find(q->rq->s, q->group->id);

		if (!b || !b->share[cpu].limited)
			return;
		JUDGE(!b->share[cpu].hungry, "a queue without runtime did not ask for more");
		b->used += ns;
		b->share[cpu].local -= (s64)ns;
		b->share[cpu].hungry = b->share[cpu].local <= 0 && !b->share[cpu].throttled;
	}
}

/* --- movements between a queue and the pool --------------------------------------------------- */

/* A slice; but only what it owes if nobody is left that could use more. */
static void fetch(struct book *b, struct share *q, const told *d, const struct fair_queue *of)
{
	u64 to_one = 1 - (u64)q->local, to_slice = b->slice - (u64)q->local;
	u64 got = least(b->pool, d->asked);

	JUDGE(q->limited && !q->throttled && q->local <= 0, "fetch: it needs nothing");
	JUDGE(d->asked == (of->nr_running ? to_slice : to_one) ||
		      (d->asked == to_one && !q->hungry),
	      "fetch: asked");
	SAME("fetch: got", "what it got", d->got, got);
	if (!b->timed)
		b->at = (d->clock / b->period + 1) * b->period;
	b->timed = true;
	b->touched |= got > 0;
	b->pool -= got;
	q->local += (s64)got;
	q->hungry = false;
	q->refused = q->local <= 0;
}

static void throttle(struct book *b, struct share *q, const told *d)
{
	JUDGE(q->limited && !q->throttled, "throttle: it is, or has no limit");
	JUDGE(q->local <= 0 && !q->hungry, "throttle: it has runtime, or did not ask for more");
	JUDGE(!b->pool, "throttle: the pool is not empty");
	q->throttled = true;
	q->refused = false;
	q->debt = 1 + (u64)-q->local;
	q->local = 1;
	q->since = d->clock;
	b->waiting[b->nr_waiting++] = d->cpu;
}

static void pay(struct book *b, struct share *q, const told *d)
{
	u64 paid = least(b->pool, q->debt);

	JUDGE(b->paying, "pay: no period ended, and nothing is shared out");
	JUDGE(b->nr_waiting && b->waiting[0] == d->cpu, "pay: others were throttled before");
	JUDGE(paid, "pay: there was nothing to pay");
	SAME("pay: amount", "the debt before", d->asked, q->debt);
	SAME("pay: amount", "what was paid", d->got, paid);
	b->pool -= paid;
	if (paid == q->debt)
		forget_waiting(b, d->cpu);
	else
		q->debt -= paid;
}

/* A payment in full may be told before or after the queue leaves the list. */
static bool told_before_it_left(const struct book *b, const struct share *q, const told *d)
{
	return d->act == QUOTA_pay && !q->debt && d->nr_waiting == b->nr_waiting + 1;
}

static void unthrottle(struct book *b, struct share *q, const told *d)
{
	u64 throttled = d->clock > q->since ? d->clock - q->since : 0;

	JUDGE(q->throttled && !q->debt, "unthrottle: it is not, or its debt is not paid");
	SAME("unthrottle: for how long it was throttled", "the time", d->got, throttled);
	JUDGE(d->rule == GRANT_paid || d->rule == GRANT_limits_change || !q->limited,
	      "unthrottle: without a reason");
	q->throttled = false;
	b->throttled_time += throttled;
}

/* More than a slice came back while others wait: it is theirs a little later. */
static void start_slack(struct book *b, const told *d)
{
	if (!b->nr_waiting || b->pool <= b->slice || b->slack_timed ||
	    (s64)(b->at - d->clock) <= (s64)(LATER + TOO_NEAR))
		return;
	b->slack_timed = true;
	b->slack_at = d->clock + LATER;
}

static void give_back(struct book *b, struct share *q, const told *d, const struct fair_queue *of)
{
	u64 spare = (u64)q->local - KEPT, taken;

	JUDGE(q->limited && q->local > (s64)KEPT && !of->nr_running, "give_back: it needs that");
	taken = least(spare, room(b));
	SAME("give_back: amount", "what it could spare", d->asked, spare);
	SAME("give_back: amount", "what the pool took", d->got, taken);
	q->local = KEPT;
	b->pool += taken;
	start_slack(b, d);
	SAME("give_back: slack", "when the slack's timer is due (0: it does not run)", d->slack_at,
	     b->slack_timed ? b->slack_at : 0);
}

static void pay_owed(struct book *b)
{
	u64 paid = least(b->owed, b->pool);

	b->owed -= paid;
	b->pool -= paid;
}

static void settle(struct book *b, struct share *q, const told *d)
{
	s64 has = q->local - (s64)q->debt;
	u64 taken = has > 0 ? least((u64)has, room(b)) : 0;

	JUDGE(q->limited, "settle: it has no limit");
	SAME("settle: amount", "what it had", d->asked, has > 0 ? (u64)has : 0);
	SAME("settle: amount", "what the pool took", d->got, taken);
	b->pool += taken;
	b->owed += has < 0 ? (u64)-has : 0;
	pay_owed(b);
	forget_waiting(b, d->cpu);
	q->local = 1;
	q->limited = q->hungry = q->refused = false;
}

static void restart(struct book *b, struct share *q, const told *d, const struct fair_queue *of)
{
	s64 has = q->local - (s64)q->debt;
	u64 had = q->limited && has > 0 ? (u64)has : 0, taken = 0;

	q->limited = is_limited(b) && of->rq->online;
	q->local = 0;
	q->hungry = q->refused = false;
	if (d->rule == GRANT_cpu_returns)
		return;
	if (q->limited)
		taken = least(had, room(b));
	b->pool += taken;
	SAME("restart: what it had is lost", "what it had", d->asked, had);
	SAME("restart: what it had is lost", "what the pool took", d->got, taken);
	forget_waiting(b, d->cpu);
	if (b->timed && of->group->bandwidth.period.rq == of->rq) /* it serves the timer */
		b->at = (d->clock / b->period + 1) * b->period;
}

/* The pool pays all that wait, or until it is empty, before anything else happens to it. */
static void finish_paying(struct book *b)
{
	JUDGE(!b->paying || !b->nr_waiting || !b->pool, "a throttled queue could be paid");
	b->paying = false;
}

static void move(struct sched *s, const told *d)
{
	struct book *b = open_book(s, d->group);
	struct share *q = &b->share[d->cpu];
	const struct fair_queue *of = queue_of(s, d->group, d->cpu);

	JUDGE(of && d->cpu < BOOK_CPUS, "no such queue");
	now_judge(act_name[d->act], d->group, true, d->cpu);
	b->slice = d->slice;
	if (d->act != QUOTA_pay)
		finish_paying(b);
	switch (d->act) {
	case QUOTA_fetch:
		fetch(b, q, d, of);
		break;
	case QUOTA_throttle:
		throttle(b, q, d);
		break;
	case QUOTA_pay:
		pay(b, q, d);
		break;
	case QUOTA_unthrottle:
		unthrottle(b, q, d);
		break;
	case QUOTA_give_back:
		give_back(b, q, d, of);
		break;
	case QUOTA_settle:
		settle(b, q, d);
		break;
	case QUOTA_restart:
		restart(b, q, d, of);
		break;
	}
	SAME("the pool holds another amount", "pool->runtime_ns", d->pool, b->pool);
	SAME("the pool holds another amount", "pool->owed_ns", d->owed, b->owed);
	SAME("a debt is another", "debt", d->debt, q->debt);
	if (!told_before_it_left(b, q, d))
		SAME("the list of throttled queues has another length", "its length", d->nr_waiting,
		     b->nr_waiting);
	SAME("a queue has another amount", "remaining", d->remaining, q->local);
}

/* --- periods ---------------------------------------------------------------------------------- */

/* Pays debts of CPUs that left with whole quotas. Returns how many of @periods end so. */
static u64 pay_whole_quotas(struct book *b, u64 periods)
{
	u64 n = b->pool || b->after_refill ? 0 : least(periods, b->owed / b->quota);

	b->owed -= n * b->quota;
	return n;
}

/* Grants a quota, period by period, until one more would change nothing. */
static void grant(struct book *b, u64 periods)
{
	u64 full = b->quota + b->burst;

	for (u64 n = 0; n < periods; n++) {
		if (b->pool == full && !b->owed && b->after_refill == full)
			break;
		n += pay_whole_quotas(b, periods - n - 1);
		b->pool += b->quota;
		if (b->pool < b->after_refill) {
			b->nr_bursts++;
			b->burst_time += b->after_refill - b->pool;
		}
		b->pool = least(b->pool, full);
		pay_owed(b);
		b->after_refill = b->pool;
	}
}

static void refill(struct sched *s, struct book *b, const struct event_sched_decision_pool *d)
{
	u64 periods;

	JUDGE(b->timed, "refill: no timer runs");
	JUDGE((s64)(d->clock - b->at) >= 0, "refill: too early");
	if (!is_limited(b)) {
		JUDGE(d->rule == GRANT_unlimited, "refill: without a quota");
		b->timed = false;
		return;
	}
	periods = (d->clock - b->at) / b->period + 1;
	/* More have no room in the record: 50 days of the shortest. */
	SAME("refill: number of periods", "periods", d->periods, least(periods, UINT32_MAX));
	b->granted += periods * b->quota;
	judge_windows(b, s->nr_cpus);
	b->nr_periods += periods;
	b->nr_throttled += b->nr_waiting ? periods : 0;
	grant(b, periods);
	put_mark(b, s->nr_cpus);
	if (!b->touched && !b->nr_waiting && !b->owed) {
		JUDGE(d->rule == GRANT_nothing_used, "refill: nothing was used");
		b->timed = false;
		return;
	}
	JUDGE(d->rule == GRANT_period_over, "refill: the timer should go on");
	b->touched = b->nr_waiting != 0;
	b->at += periods * b->period;
	b->paying = true;
}

static void share_out(const struct sched *s, struct book *b,
		      const struct event_sched_decision_pool *d)
{
	u64 slice = (u64)s->tunable.cfs_bandwidth_slice_us * NS_PER_US; /* it may be new */
	bool near = (s64)(b->at - d->clock) <= (s64)TOO_NEAR, little = b->pool <= slice;

	JUDGE(b->slack_timed && (s64)(d->clock - b->slack_at) >= 0, "slack: not now");
	JUDGE(d->rule == (near	   ? GRANT_refill_near
			  : little ? GRANT_too_little
				   : GRANT_shared_out),
	      "slack: rule");
	b->slack_timed = false;
	b->paying = !near && !little;
}

static void limit(struct book *b, const struct event_sched_decision_pool *d)
{
	b->quota = d->quota;
	b->burst = d->burst;
	b->period = d->period;
	b->owed = b->after_refill = 0;
	b->nr_marks = 0;
	if (is_limited(b))
		grant(b, 1);
	else
		b->pool = 0;
}

static void change_pool(struct sched *s, const struct event_sched_decision_pool *d)
{
	struct book *b = open_book(s, d->group);

	finish_paying(b);
	now_judge(act_name[d->act], d->group, false, 0);
	SAME("the pool held another amount", "pool->runtime_ns", d->before, b->pool);
	if (d->act == QUOTA_limit)
		limit(b, d);
	else if (d->act == QUOTA_slack)
		share_out(s, b, d);
	else
		refill(s, b, d);
	JUDGE(d->quota == b->quota && d->burst == b->burst && d->period == b->period, "limits");
	SAME("the pool holds another amount", "pool->runtime_ns", d->kept, b->pool);
	SAME("the pool holds another amount", "pool->owed_ns", d->owed, b->owed);
	SAME("periods are counted wrong", "nr_periods", d->nr_periods, (u32)b->nr_periods);
	SAME("periods are counted wrong", "nr_throttled", d->nr_throttled, (u32)b->nr_throttled);
	SAME("bursts are counted wrong", "nr_bursts", d->nr_bursts, (u32)b->nr_bursts);
	SAME("bursts are counted wrong", "burst_used_ns", d->burst_time, b->burst_time);
}

void quota_event(struct sched *s, const struct sched_event *event)
{
	if (event->type == EVENT_ID_sched_decision_quota)
		move(s, (const void *)event);
	else if (event->type == EVENT_ID_sched_decision_pool)
		change_pool(s, (const void *)event);
}

void quota_limits(struct sched *s, const struct task_group *tg, u64 quota_ns, u64 period_ns,
		  u64 burst_ns)
{
	const struct book *b = find(s, tg->id);

	JUDGE(b && b->quota == quota_ns && b->period == period_ns, "the limits are others");
	JUDGE(b->burst == burst_ns, "the burst is another");
}

/* --- comparing -------------------------------------------------------------------------------- */

static void compare_queue(struct book *b, const struct fair_queue *q)
{
	const struct rq *rq = q->rq;
	const struct share *share = &b->share[rq->cpu];
	bool runs = q->curr && q->curr->queued; /* else it is about to switch */

	now_judge("afterwards", b->group, true, rq->cpu);
	JUDGE(q->limited == share->limited && q->throttled == share->throttled, "who is limited");
	SAME("a debt is another", "debt", q->debt, share->debt);
	if (!share->limited)
		return;
	SAME("a queue has another amount", "remaining", q->remaining, share->local);
	JUDGE(!share->hungry, "a queue without runtime did not ask for more");
	JUDGE(!runs || !share->throttled || rq->need_resched, "a throttled queue runs");
	JUDGE(!runs || !share->refused || rq->need_resched, "a queue without runtime runs on");
	JUDGE(q->nr_running || share->local <= (s64)KEPT, "an empty queue keeps runtime");
}

/* The CPU that keeps the timer is to look at it no later than @at. */
static bool is_served(const struct bandwidth_timer *timer, u64 at)
{
	return timer->rq->bandwidth.at && (s64)(at - timer->rq->bandwidth.at) >= 0;
}

static void compare_pool(struct book *b, const struct bandwidth *pool)
{
	finish_paying(b);
	now_judge("afterwards", b->group, false, 0);
	SAME("the pool", "pool->runtime_ns", pool->runtime_ns, b->pool);
	SAME("the pool", "pool->owed_ns", pool->owed_ns, b->owed);
	SAME("timers", "whether the period's timer runs", !!pool->period.rq, b->timed);
	SAME("timers", "whether the slack's timer runs", !!pool->slack.rq, b->slack_timed);
	if (b->timed)
		SAME("the period ends at another time", "pool->period.at", pool->period.at, b->at);
	if (b->slack_timed)
		SAME("slack at another time", "pool->slack.at", pool->slack.at, b->slack_at);
	JUDGE(b->timed || !b->nr_waiting, "throttled for ever");
	SAME("periods are counted wrong", "nr_periods", pool->nr_periods, b->nr_periods);
	SAME("periods are counted wrong", "nr_throttled", pool->nr_throttled, b->nr_throttled);
	SAME("bursts are counted wrong", "nr_bursts", pool->nr_bursts, b->nr_bursts);
	SAME("bursts are counted wrong", "burst_used_ns", pool->burst_used_ns, b->burst_time);
	SAME("throttled time", "pool->throttled_ns", pool->throttled_ns, b->throttled_time);
	JUDGE(!b->timed || is_served(&pool->period, b->at), "nobody ends the period");
	JUDGE(!b->slack_timed || is_served(&pool->slack, b->slack_at), "nobody shares out");
}

void quota_compare(struct sched *s)
{
	struct fair_queue *q;

	for (unsigned i = 0; i < ARRAY_SIZE(ledgers); i++)
		for (unsigned n = 0; n < BOOKS && ledgers[i].s == s; n++) {
			struct book *b = &ledgers[i].book[n];

			if (b->group && !queue_of(s, b->group, 0))
				__builtin_memset(b, 0, sizeof(*b));
		}
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		list_for_each(q, &s->rq_of[cpu]->queues, link) {
			struct book *b = q->group ? find(s, q->group->id) : NULL;

			JUDGE(b || (!q->limited && !q->throttled), "a limit that nobody told of");
			if (b && !cpu)
				compare_pool(b, &q->group->bandwidth);
			if (b)
				compare_queue(b, q);
		}
}

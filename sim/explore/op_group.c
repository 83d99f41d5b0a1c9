/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on task groups; see op.def. */
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sim/explore/judge.h"
#include "sim/explore/op.h"

/* --- operations on groups ------------------------------------------------- */

static s32 find_group(const struct world *w, unsigned from, bool used)
{
	for (unsigned i = 0; i < WORLD_GROUPS; i++) {
		unsigned place = (from + i) % WORLD_GROUPS;

		if (!w->group[place].tg == !used)
			return (s32)place;
	}
	return ROOT;
}

static void group_new(struct world *w, const struct op *op)
{
	s32 place = find_group(w, op->task, false);
	s32 parent = op->arg % 3 ? ROOT : find_group(w, op->arg / 3 % WORLD_GROUPS, true);
	size_t bytes = ALIGN_UP(task_group_size(w->sim->s), 64ul);
	struct task_group *tg;

	if (place == ROOT)
		return;
	tg = aligned_alloc(64, bytes);
	EXPECT(tg);
	memset(tg, 0, bytes);
	task_group_init(w->sim->s, tg, parent == ROOT ? NULL : w->group[parent].tg);
	w->group[place] = (struct group_subject){ .tg = tg, .parent = parent };
	task_group_params(tg, &w->group[place].params);
	EXPECT(w->group[place].params.shares == SCHED_SHARES_DEFAULT);
}

static void group_exit(struct world *w, const struct op *op)
{
	s32 place = find_group(w, op->task, true);

	if (place == ROOT)
		return;
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t && w->subject[i].group == place)
			return;
	for (unsigned i = 0; i < WORLD_GROUPS; i++)
		if (w->group[i].tg && w->group[i].parent == place)
			return;
	task_group_exit(w->sim->s, w->group[place].tg);
	memset(w->group[place].tg, 0x5a, task_group_size(w->sim->s));
	free(w->group[place].tg);
	w->group[place].tg = NULL;
}

static void group_move(struct world *w, struct subject *x, u32 arg)
{
	s32 to = arg % 4 ? find_group(w, arg / 4 % WORLD_GROUPS, true) : ROOT;

	if (!x)
		return;
	x->group = to;
	task_group_move(w->sim->s, &x->t->task, to == ROOT ? NULL : w->group[to].tg);
}

static void set_shares(struct world *w, struct group_subject *g, u32 arg)
{
	static const u64 shares[] = { 1024, 2, 3, 100, 512, 2048, 10000, 262144, 0, 1ull << 40 };
	u64 wanted = shares[arg % ARRAY_SIZE(shares)];

	EXPECT(task_group_set_shares(w->sim->s, g->tg, wanted) == (g->params.idle ? -EINVAL : 0));
	if (!g->params.idle)
		g->params.shares =
			min(max(wanted, SCHED_SHARES_MIN + 0ull), SCHED_SHARES_MAX + 0ull);
}

static void set_idle(struct world *w, struct group_subject *g, bool idle)
{
	bool valid = !idle || !g->params.guaranteed_shares;

	EXPECT(task_group_set_idle(w->sim->s, g->tg, idle) == (valid ? 0 : -EINVAL));
	if (!valid)
		return;
	if (g->params.idle != idle)
		g->params.shares = idle ? 3 : SCHED_SHARES_DEFAULT;
	g->params.idle = idle;
}

/* A refused quota changes nothing. */
static void set_quota(struct world *w, struct group_subject *g, u32 arg)
{
	static const u64 quotas[] = { 10 * NS_PER_MS, SCHED_QUOTA_NONE, NS_PER_MS,
				      50 * NS_PER_MS, 300 * NS_PER_MS,	1000 };
	static const u64 periods[] = { 100 * NS_PER_MS, NS_PER_MS, 10 * NS_PER_MS, NS_PER_SEC, 0 };
	u64 quota_ns = quotas[arg % ARRAY_SIZE(quotas)];
	u64 period_ns = periods[arg / 8 % ARRAY_SIZE(periods)];
	u64 burst_ns = arg / 64 % 2 && quota_ns != SCHED_QUOTA_NONE ? quota_ns / 2 : 0;
	int status = task_group_set_bandwidth(w->sim->s, g->tg, quota_ns, period_ns, burst_ns,
					      arg / 128 % 2);

	EXPECT(status == 0 || status == -EINVAL);
	if (status)
		return;
	g->params.quota_ns = quota_ns;
	g->params.period_ns = period_ns;
	g->params.burst_ns = burst_ns;
	judge_limits(w->sim->s, g->tg, quota_ns, period_ns, burst_ns);
}

static void set_deadline(struct world *w, struct group_subject *g, u32 arg)
{
	static const u64 periods[] = {
		0,	    200 * NS_PER_US, 50 * NS_PER_US, 5 * NS_PER_MS,
		NS_PER_SEC, 20 * NS_PER_MS,  49999,	     NS_PER_SEC + 1
	};
	u64 rr_ns = periods[arg % ARRAY_SIZE(periods)];
	u64 wakeup_ns = arg / 8 % 3 ? rr_ns / 2 : arg / 32 % 8 ? 0 : rr_ns + 1;
	bool valid = arg % ARRAY_SIZE(periods) < 6 && wakeup_ns <= rr_ns;

	EXPECT(task_group_set_deadline(w->sim->s, g->tg, rr_ns, wakeup_ns) ==
	       (valid ? 0 : -EINVAL));
	if (!valid)
		return;
	g->params.deadline_rr_ns = rr_ns;
	g->params.deadline_wakeup_ns = wakeup_ns;
}

static void set_guaranteed(struct world *w, struct group_subject *g, u32 arg)
{
	static const u64 shares[] = { 0, 512, 100, 1, 1024, 10000, 262144, 1ull << 40 };
	u64 wanted = shares[arg % ARRAY_SIZE(shares)];
	bool valid = !g->params.idle && wanted <= 262144;

	EXPECT(task_group_set_guaranteed(w->sim->s, g->tg, wanted) == (valid ? 0 : -EINVAL));
	if (valid)
		g->params.guaranteed_shares = wanted;
}

static void group_set(struct world *w, const struct op *op)
{
	s32 place = find_group(w, op->task, true);
	struct task_group_params now;
	struct group_subject *g;

	if (place == ROOT)
		return;
	g = &w->group[place];
	if (op->kind == OP_group_shares)
		set_shares(w, g, op->arg);
	else if (op->kind == OP_group_idle)
		set_idle(w, g, op->arg % 2);
	else if (op->kind == OP_group_deadline)
		set_deadline(w, g, op->arg);
	else if (op->kind == OP_group_guaranteed)
		set_guaranteed(w, g, op->arg);
	else
		set_quota(w, g, op->arg);
	task_group_params(g->tg, &now);
	EXPECT(now.shares == g->params.shares && now.idle == g->params.idle);
	EXPECT(now.quota_ns == g->params.quota_ns && now.period_ns == g->params.period_ns);
	EXPECT(now.burst_ns == g->params.burst_ns);
	EXPECT(now.deadline_rr_ns == g->params.deadline_rr_ns);
	EXPECT(now.deadline_wakeup_ns == g->params.deadline_wakeup_ns);
	EXPECT(now.guaranteed_shares == g->params.guaranteed_shares);
}

void do_group(struct world *w, const struct op *op)
{
	switch ((enum op_kind)op->kind) {
	case OP_group_new:
		group_new(w, op);
		break;
	case OP_group_exit:
		group_exit(w, op);
		break;
	case OP_group_move:
		group_move(w, find_subject(w, op->task, is_alive), op->arg);
		break;
	case OP_group_shares:
	case OP_group_idle:
	case OP_group_quota:
	case OP_group_deadline:
	case OP_group_guaranteed:
		group_set(w, op);
		break;
	default:
		break;
	}
}

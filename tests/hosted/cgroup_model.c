/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of the tree of control groups: which groups there are, what each is, and who is where.
 * Its rules are those of cgroup-v2.rst, "Threads" and "No Internal Process Constraint". What a
 * group is follows from its children, and where the controller is from the parents' settings.
 */
#include "cgroup.h"
#include "queue.h"

#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

static const u8 parents[GROUPS] = GROUP_PARENTS;
static const char *const names[GROUPS] = GROUP_NAMES;

static struct group new_group(unsigned g)
{
	return (struct group){ .exists = true,
			       .domain = (u8)g,
			       .max_depth = g ? NO_MAXIMUM : 32,
			       .max_descendants = NO_MAXIMUM };
}

void cgroup_model_create(void *model, unsigned nr_threads)
{
	struct cgroup_model *m = model;

	memset(m, 0, sizeof(*m));
	m->alone = nr_threads == 1;
	m->group[0] = new_group(0);
	if (m->alone)
		return;
	m->group[1] = new_group(1);
	m->group[3] = new_group(3);
}

/* --- questions ------------------------------------------------------------------------------ */

static bool is_in(unsigned g, unsigned top)
{
	while (g && g != top)
		g = parents[g];
	return g == top;
}

static bool is_child(const struct cgroup_model *m, unsigned g, unsigned parent)
{
	return g && m->group[g].exists && parents[g] == parent;
}

static unsigned members(const struct cgroup_model *m, unsigned g)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < NR_TIDS; i++)
		nr += !m->ended[i] && m->place[i] == g;
	return nr;
}

static bool populated(const struct cgroup_model *m, unsigned top)
{
	unsigned nr = 0;

	for (unsigned g = 0; g < GROUPS; g++)
		nr += is_in(g, top) ? members(m, g) : 0;
	return nr;
}

static unsigned descendants(const struct cgroup_model *m, unsigned top)
{
	unsigned nr = 0;

	for (unsigned g = 1; g < GROUPS; g++)
		nr += m->group[g].exists && g != top && is_in(g, top);
	return nr;
}

/* Has @g a child that is threaded, or one that is not and is populated? */
static bool has_child(const struct cgroup_model *m, unsigned g, bool threaded)
{
	for (unsigned c = 1; c < GROUPS; c++)
		if (is_child(m, c, g) && m->group[c].threaded == threaded &&
		    (threaded || populated(m, c)))
			return true;
	return false;
}

static bool heads_threads(const struct cgroup_model *m, unsigned g)
{
	const struct group *of = &m->group[g];

	return !of->threaded && (has_child(m, g, true) || (members(m, g) && of->gives));
}

static bool could_head_threads(const struct cgroup_model *m, unsigned g)
{
	return !g || (!m->group[g].threaded && !has_child(m, g, false));
}

static bool is_valid(const struct cgroup_model *m, unsigned g)
{
	if (m->group[g].threaded)
		return false;
	for (g = parents[g]; g; g = parents[g])
		if (m->group[g].threaded || heads_threads(m, g))
			return false;
	return true;
}

static bool has_cpu(const struct cgroup_model *m, unsigned g)
{
	return g ? m->group[parents[g]].gives : !m->claims;
}

/* --- changes -------------------------------------------------------------------------------- */

static long model_mkdir(struct cgroup_model *m, unsigned g)
{
	unsigned depth = 1;

	if (!m->group[parents[g]].exists)
		return -ENOENT;
	if (!g || m->group[g].exists)
		return -EEXIST;
	for (unsigned up = parents[g];; up = parents[up], depth++) {
		const struct group *of = &m->group[up];

		if (of->max_depth != NO_MAXIMUM && depth > of->max_depth)
			return -EAGAIN;
		if (of->max_descendants != NO_MAXIMUM && descendants(m, up) >= of->max_descendants)
			return -EAGAIN;
		if (!up)
			break;
	}
	m->group[g] = new_group(g);
	return 0;
}

static long model_rmdir(struct cgroup_model *m, unsigned g)
{
	if (!m->group[g].exists)
		return -ENOENT;
	if (!g || descendants(m, g) || members(m, g))
		return -EBUSY;
	m->group[g].exists = false;
	for (unsigned nr = 0; nr < NR_FIBERS; nr++)
		m->hand[nr].dead |= m->hand[nr].group == g;
	return 0;
}

static long model_move(struct cgroup_model *m, unsigned g, unsigned i, bool process)
{
	const struct group *to = &m->group[g];
	unsigned first = process ? i & ~1u : i;

	/* The first thread of a process that has ended keeps its number. */
	if (m->ended[first] && first % 2)
		return -ESRCH;
	if (!is_valid(m, to->domain))
		return -EOPNOTSUPP;
	if (to->gives && !to->threaded && !could_head_threads(m, g))
		return -EBUSY;
	if (!process && !m->ended[i] && m->group[m->place[i]].domain != to->domain)
		return -EOPNOTSUPP;
	for (i = first; i <= first + process; i++)
		if (!m->ended[i])
			m->place[i] = (u8)g;
	return 0;
}

static void take_cpu(struct cgroup_model *m, unsigned g)
{
	for (unsigned c = 1; c < GROUPS; c++)
		if (parents[c] == g)
			m->group[c].weight = m->group[c].quota = 0;
	m->group[g].gives = false;
}

static long model_enable(struct cgroup_model *m, unsigned g)
{
	if (m->group[g].gives)
		return 0;
	if (!has_cpu(m, g))
		return -ENOENT;
	if (!is_valid(m, m->group[g].domain))
		return -EOPNOTSUPP;
	if (!could_head_threads(m, g) && !m->group[g].threaded && members(m, g))
		return -EBUSY;
	m->group[g].gives = true;
	return 0;
}

static long model_disable(struct cgroup_model *m, unsigned g)
{
	for (unsigned c = 1; c < GROUPS; c++)
		if (is_child(m, c, g) && m->group[c].gives)
			return m->group[g].gives ? -EBUSY : 0;
	take_cpu(m, g);
	return 0;
}

static long model_threaded(struct cgroup_model *m, unsigned g)
{
	u8 domain = m->group[parents[g]].domain;

	if (!g)
		return -ENOENT;
	if (m->group[g].threaded)
		return 0;
	if (populated(m, g) || !is_valid(m, domain) || !could_head_threads(m, domain))
		return -EOPNOTSUPP;
	m->group[g].threaded = true;
	for (unsigned below = 1; below < GROUPS; below++)
		if (m->group[below].exists && m->group[below].threaded && is_in(below, g))
			m->group[below].domain = domain;
	return 0;
}

static long model_claim(struct cgroup_model *m)
{
	if (m->group[0].gives && descendants(m, 0))
		return -EBUSY;
	take_cpu(m, 0);
	m->claims++;
	return 0;
}

static long model_run(struct cgroup_model *m, unsigned i)
{
	if (m->ended[i])
		return -ESRCH;
	for (unsigned g = m->place[i]; g; g = parents[g])
		m->group[g].used_ms++;
	return 0;
}

/* A thread is born in the groups of the other of its process. */
static long model_born(struct cgroup_model *m, unsigned i)
{
	if (!m->ended[i] || m->ended[i ^ 1])
		return -EINVAL;
	m->ended[i] = false;
	m->place[i] = m->place[i ^ 1];
	return 0;
}

static long model_exit(struct cgroup_model *m, unsigned i)
{
	if (m->ended[i])
		return -ESRCH;
	m->ended[i] = true;
	return 0;
}

/* The group of the scheduler that thread @i is in: its letter, or 0. */
static long model_placed(const struct cgroup_model *m, unsigned i)
{
	unsigned g = m->ended[i] ? 0 : m->place[i];

	while (g && !has_cpu(m, g))
		g = parents[g];
	return *names[g];
}

/* --- texts ---------------------------------------------------------------------------------- */

static void add_numbers(const struct cgroup_model *m, unsigned g, bool processes, struct text *t)
{
	for (unsigned i = 0; i < NR_TIDS; i++) {
		bool here = !m->ended[i] && m->place[i] == g;

		if (processes) {
			here = false;
			for (unsigned each = i; i % 2 == 0 && each < i + 2; each++)
				here |= !m->ended[each] && m->group[m->place[each]].domain == g;
		}
		if (here)
			text_add(t, "%u\n", FIRST_TID + i);
	}
}

static const char *type_of(const struct cgroup_model *m, unsigned g)
{
	if (m->group[g].threaded)
		return "threaded\n";
	if (!is_valid(m, g))
		return "domain invalid\n";
	return heads_threads(m, g) ? "domain threaded\n" : "domain\n";
}

static void add_limit(unsigned limit, struct text *t)
{
	if (limit == NO_MAXIMUM)
		text_add(t, "max\n");
	else
		text_add(t, "%u\n", limit);
}

static void add_cpu_stat(const struct cgroup_model *m, unsigned g, struct text *t)
{
	u64 us = m->group[g].used_ms * 1000;

	text_add(t, "usage_usec %lu\nuser_usec %lu\nsystem_usec 0\n", us, us);
	if (has_cpu(m, g))
		text_add(t, "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
			    "nr_bursts 0\nburst_usec 0\n");
}

static long add_text(const struct cgroup_model *m, unsigned g, enum cgroup_text text,
		     struct text *t)
{
	const struct group *of = &m->group[g];

	switch (text) {
	case TEXT_PROCS:
		if (of->threaded)
			return -EOPNOTSUPP;
		add_numbers(m, g, true, t);
		break;
	case TEXT_THREADS:
		add_numbers(m, g, false, t);
		break;
	case TEXT_CONTROLLERS:
		text_add(t, has_cpu(m, g) ? "cpu\n" : "");
		break;
	case TEXT_SUBTREE:
		text_add(t, of->gives ? "cpu\n" : "");
		break;
	case TEXT_TYPE:
		text_add(t, "%s", type_of(m, g));
		break;
	case TEXT_EVENTS:
		text_add(t, "populated %d\nfrozen 0\n", populated(m, g));
		break;
	case TEXT_STAT:
		text_add(t, "nr_descendants %u\nnr_dying_descendants 0\n", descendants(m, g));
		break;
	case TEXT_DEPTH:
		add_limit(of->max_depth, t);
		break;
	case TEXT_DESCENDANTS:
		add_limit(of->max_descendants, t);
		break;
	case TEXT_WEIGHT:
		text_add(t, "%u\n", cgroup_weights[of->weight]);
		break;
	case TEXT_QUOTA:
		text_add(t, of->quota ? "%u 100000\n" : "max 100000\n",
			 cgroup_quotas_us[of->quota]);
		break;
	default:
		add_cpu_stat(m, g, t);
	}
	return (long)t->len;
}

static bool has_file(const struct cgroup_model *m, unsigned g, enum cgroup_text text)
{
	if (text == TEXT_TYPE || text == TEXT_EVENTS)
		return g;
	return (text != TEXT_WEIGHT && text != TEXT_QUOTA) || (g && has_cpu(m, g));
}

static void model_text(const struct cgroup_model *m, unsigned g, enum cgroup_text text,
		       struct answer *a)
{
	char buf[CGROUP_TEXT];
	struct text t = text_of(buf, sizeof(buf));

	a->value = add_text(m, g, text, &t);
	a->digest = queue_digest((const u8 *)buf, a->value);
}

static void model_use(const struct cgroup_model *m, unsigned nr, struct answer *a)
{
	a->digest = 0;
	if (!m->hand[nr].open)
		a->value = -EBADF;
	else if (m->hand[nr].dead)
		a->value = -ENODEV;
	else
		model_text(m, m->hand[nr].group, TEXT_TYPE, a);
}

/* --- calls ---------------------------------------------------------------------------------- */

/* A file of a group that exists. */
static long model_set(struct cgroup_model *m, unsigned nr, enum cgroup_op op, unsigned g,
		      unsigned arg)
{
	struct group *of = &m->group[g];

	switch (op) {
	case CG_PROCS:
	case CG_THREADS:
		return model_move(m, g, arg % NR_TIDS, op == CG_PROCS);
	case CG_ENABLE:
		return model_enable(m, g);
	case CG_DISABLE:
		return model_disable(m, g);
	case CG_THREADED:
		return model_threaded(m, g);
	case CG_DEPTH:
		of->max_depth = arg % 4;
		return 0;
	case CG_DESCENDANTS:
		of->max_descendants = arg % 4;
		return 0;
	case CG_WEIGHT:
	case CG_QUOTA:
		if (!has_file(m, g, TEXT_WEIGHT))
			return -ENOENT;
		*(op == CG_WEIGHT ? &of->weight : &of->quota) = arg % 4;
		return 0;
	default:
		if (!g)
			return -ENOENT;
		m->hand[nr].open = true;
		m->hand[nr].dead = false;
		m->hand[nr].group = (u8)g;
		return 0;
	}
}

static long model_other(struct cgroup_model *m, enum cgroup_op op, unsigned g, unsigned arg)
{
	switch (op) {
	case CG_MKDIR:
		return model_mkdir(m, g);
	case CG_RMDIR:
		return model_rmdir(m, g);
	case CG_EXIT:
		return model_exit(m, arg % NR_TIDS);
	case CG_BORN:
		return model_born(m, arg % NR_TIDS);
	case CG_RUN:
		return model_run(m, arg % NR_TIDS);
	case CG_PLACED:
		return model_placed(m, arg % NR_TIDS);
	case CG_CLAIM:
		return model_claim(m);
	default:
		m->claims -= !!m->claims;
		return 0;
	}
}

static bool has_path(const struct cgroup_model *m, unsigned g)
{
	return m->group[g].exists;
}

enum model_says cgroup_model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct cgroup_model *m = model;
	unsigned g = cgroup_group(call), arg = cgroup_arg(call);
	bool of_file = call->op >= CG_PROCS && call->op <= CG_HOLD;

	(void)id;
	/* It had found the file when another removed it: an error, or nothing to read. */
	if (!m->alone && of_file && (a->value == -ENODEV || (call->op == CG_READ && !a->value)))
		return ENDS;
	if (!m->alone && call->op == CG_THREADS && m->ended[arg % NR_TIDS] && !a->value)
		return ENDS;
	if (call->op == CG_USE) {
		model_use(m, nr, a);
	} else if (!of_file) {
		a->value = model_other(m, call->op, g, arg);
	} else if (!has_path(m, g) || (call->op == CG_READ && !has_file(m, g, arg % NR_TEXTS))) {
		*a = (struct answer){ .value = -ENOENT };
	} else if (call->op == CG_READ) {
		model_text(m, g, arg % NR_TEXTS, a);
	} else {
		a->value = model_set(m, nr, call->op, g, arg);
	}
	return ENDS;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts of users and their limits (kernel/task/account.c). Each thread has references to the
 * accounts of some users, and what it has charged there. The model knows the sums.
 *
 * A charge that is refused is there for a moment: beside others one may be refused that would fit.
 */
#include "kernel/task/account.h"
#include "kernel/kernel.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { USERS = 3, LIMIT = 10 };

/* The first two are in one bucket. The number of a call is a user, plus USERS times how much. */
static const u32 uids[USERS] = { 1, 65, 2 };
static const u8 amounts[] = { 1, 4, 7, LIMIT + 1 };

enum op { OP_FIND, OP_PUT, OP_CHARGE, OP_GIVE, OP_USED };
static const char *const op_names[] = { "find", "put", "charge", "give", "used", NULL };

/* The part of an account that a thread has, as the object and the model know it. */
struct share {
	unsigned refs;
	u64 charged;
};

struct accounts {
	struct account *of[USERS]; /* as far as somebody has a reference */
	struct share share[NR_FIBERS][USERS];
};

static unsigned user_of(const struct call *call)
{
	return call->n % USERS;
}

static u64 amount_of(const struct call *call)
{
	return amounts[call->n / USERS % ARRAY_SIZE(amounts)];
}

static void *create(unsigned nr_threads)
{
	(void)nr_threads;
	return calloc(1, sizeof(struct accounts));
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_FIND... OP_USED] = { 0, USERS *ARRAY_SIZE(amounts) - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = {
		OP_FIND, OP_FIND, OP_PUT, OP_CHARGE, OP_CHARGE, OP_GIVE, OP_USED
	};
	unsigned users = alone ? USERS : 1;

	return (struct call){ .op = often[prng_below(random, alone ? 7 : 6)],
			      .n = prng_below(random, users) +
				   USERS * prng_below(random, ARRAY_SIZE(amounts)) };
}

static long find(struct accounts *o, unsigned nr, unsigned user)
{
	struct account *a = account_find(uids[user]);

	if (!a)
		return -ENOMEM;
	if (a->uid != uids[user])
		panic("the account of %u is %u's", uids[user], a->uid);
	o->of[user] = a;
	o->share[nr][user].refs++;
	return 0;
}

static void give(struct accounts *o, unsigned nr, unsigned user)
{
	account_give(o->of[user], RES_WATCHES, o->share[nr][user].charged);
	o->share[nr][user].charged = 0;
}

/* The last reference takes the charges with it. */
static void put(struct accounts *o, unsigned nr, unsigned user)
{
	struct share *s = &o->share[nr][user];

	if (s->refs == 1)
		give(o, nr, user);
	s->refs--;
	account_put(o->of[user]);
}

static void destroy(void *object)
{
	struct accounts *o = object;

	for (unsigned nr = 0; nr < NR_FIBERS; nr++)
		for (unsigned user = 0; user < USERS; user++)
			while (o->share[nr][user].refs)
				put(o, nr, user);
	free(o);
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct accounts *o = object;
	unsigned user = user_of(call);
	struct share *s = &o->share[nr][user];
	struct answer answer = { 0 };

	(void)id;
	if (call->op == OP_FIND) {
		answer.value = find(o, nr, user);
	} else if (!s->refs) {
		answer.value = -ENOENT;
	} else if (call->op == OP_PUT) {
		put(o, nr, user);
	} else if (call->op == OP_GIVE) {
		give(o, nr, user);
	} else if (call->op == OP_USED) {
		answer.value = (long)account_used(o->of[user], RES_WATCHES);
	} else {
		answer.value = account_charge(o->of[user], RES_WATCHES, amount_of(call), LIMIT);
		s->charged += answer.value ? amount_of(call) : 0;
	}
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	bool alone;
	struct share share[NR_FIBERS][USERS];
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	memset(m, 0, sizeof(*m));
	m->alone = nr_threads == 1;
}

static u64 sum(const struct model *m, unsigned user)
{
	u64 used = 0;

	for (unsigned nr = 0; nr < NR_FIBERS; nr++)
		used += m->share[nr][user].charged;
	return used;
}

static long model_charge(const struct model *m, struct share *s, const struct call *call, long seen)
{
	if (sum(m, user_of(call)) + amount_of(call) > LIMIT || (!m->alone && !seen))
		return 0;
	s->charged += amount_of(call);
	return 1;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	struct share *s = &m->share[nr][user_of(call)];
	long seen = a->value;

	(void)id;
	a->value = 0;
	if (call->op == OP_FIND) {
		s->refs++;
	} else if (!s->refs) {
		a->value = -ENOENT;
	} else if (call->op == OP_CHARGE) {
		a->value = model_charge(m, s, call, seen);
	} else if (call->op == OP_USED) {
		a->value = (long)sum(m, user_of(call));
	} else {
		s->refs -= call->op == OP_PUT;
		if (call->op == OP_GIVE || !s->refs)
			s->charged = 0;
	}
	return ENDS;
}

/* Two make an account at once; one ends it while another looks for it. */
static const char *const known[] = { "find:0 charge:6 / find:0 charge:6",
				     "find:0 charge:6 put:0 / find:0 charge:6", NULL };

DEFINE_OBJECT(account, "*(struct accounts *)object", .known = known);

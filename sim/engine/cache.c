/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of a task's data are where; see cache.h. */
#include <string.h>

#include "sim/engine/engine.h"
#include "sim/engine/util.h"

#define LINES_OF_KIB 16
#define NR_HELD	     2 /* caches of a level in which a task's data are remembered */

enum { L2, LLC, NR_LEVELS };

/* --- the option ------------------------------------------------------------------------------- */

/* Sizes of Intel's Xeon 5500, and latencies of D. Levinthal's guide to it (2009), at 2.66 GHz. */
static const struct sim_caches xeon5500 = {
	.l2_kib = 256,
	.llc_kib = 8192,
	.llc_ns = 15,
	.memory_ns = 60,
	.remote_ns = 100,
	.footprint_kib = 128,
	.smt = 65,
};

static const struct {
	const char *name;
	size_t offset;
	u64 least, most;
} keys[] = {
#define KEY(name, field, least, most)                                                              \
	{                                                                                          \
		name, offsetof(struct sim_caches, field), least, most                              \
	}
	KEY("l2", l2_kib, 1, 1 << 20),
	KEY("llc", llc_kib, 1, 1 << 24),
	KEY("llc-ns", llc_ns, 0, 1000),
	KEY("memory-ns", memory_ns, 0, 1000),
	KEY("remote-ns", remote_ns, 0, 1000),
	KEY("footprint", footprint_kib, 0, 1 << 24),
	KEY("smt", smt, 1, 100),
#undef KEY
};

static void take_key(struct sim_caches *caches, const char *word)
{
	const char *equals = strchr(word, '=');

	for (u32 i = 0; equals && i < ARRAY_SIZE(keys); i++) {
		u64 *field = (u64 *)((char *)caches + keys[i].offset);

		if (strlen(keys[i].name) != (size_t)(equals - word) ||
		    strncmp(word, keys[i].name, (size_t)(equals - word)))
			continue;
		if (!parse_number(equals + 1, keys[i].most, field) || *field < keys[i].least)
			usage_error("--caches %s: must be a number from %llu to %llu", word,
				    (unsigned long long)keys[i].least,
				    (unsigned long long)keys[i].most);
		return;
	}
	usage_error("--caches %s: must be xeon5500, then l2=KIB, llc=KIB, llc-ns=N, memory-ns=N, "
		    "remote-ns=N, footprint=KIB or smt=PERCENT, with commas between",
		    word);
}

struct sim_caches caches_read(const char *text)
{
	struct sim_caches caches = xeon5500;
	char *words = strdup(text), *at = words, *word = strsep(&at, ",");

	if (strcmp(word, "xeon5500"))
		take_key(&(struct sim_caches){ 0 }, "");
	while ((word = strsep(&at, ",")))
		take_key(&caches, word);
	if (caches.llc_kib < caches.l2_kib)
		usage_error("--caches %s: the last level holds no less than the L2", text);
	free(words);
	return caches;
}

/* --- what a cache holds ----------------------------------------------------------------------- */

/*
 * A task that fills a full cache displaces others at random, so that each of them keeps the same
 * part of its data. A cache adds up how often it was halved in that way, in 1/65536ths.
 */
#define HALVING	   65536u
#define ALL_IS_NEW (64ull * HALVING)

struct cache {
	u64 used_kib;
	u64 halvings;
};

/* A task left @kib in a cache when the others in it had been halved @halvings times. */
struct held {
	u32 cache;
	u64 kib, halvings;
};

/* How often @more is to be halved until it is @less, neither of which is 0. */
static u64 halvings_between(u64 more, u64 less)
{
	unsigned shift_more = (unsigned)__builtin_clzll(more),
		 shift_less = (unsigned)__builtin_clzll(less);
	u64 x = (more << shift_more) >> 32, y = (less << shift_less) >> 32;
	u64 log = (u64)(shift_less - shift_more) * HALVING, log_x = 0, log_y = 0;

	for (u64 bit = HALVING / 2; bit; bit /= 2) {
		x = x * x >> 31;
		y = y * y >> 31;
		log_x += x >> 32 ? bit : 0;
		log_y += y >> 32 ? bit : 0;
		x >>= x >> 32;
		y >>= y >> 32;
	}
	return log + log_x - log_y;
}

/* @kib after so many @halvings. */
static u64 halved(u64 kib, u64 halvings)
{
	/* 2^32 divided by the square root of 2, then by the root of that, and so on. */
	static const u32 root[] = { 3037000500u, 3611622603u, 3938502376u, 4112874773u,
				    4202935003u, 4248701965u, 4271771996u, 4283353945u,
				    4289156690u, 4292061010u, 4293513907u, 4294240540u,
				    4294603903u, 4294785595u, 4294876445u, 4294921870u };
	u64 left = kib << 20;

	if (halvings >= ALL_IS_NEW)
		return 0;
	left >>= halvings / HALVING;
	for (u32 i = 0; i < ARRAY_SIZE(root); i++)
		if (halvings & (HALVING / 2 >> i))
			left = (u64)((unsigned __int128)left * root[i] >> 32);
	return (left + (1 << 19)) >> 20;
}

struct cached {
	struct cached *next_free, *next; /* next: of all, to free them in the end */
	u32 home;			 /* the node of its memory, where it ran first */
	struct {
		struct held held[NR_HELD]; /* the latest first */
		u64 lacks;		   /* KiB at the beginning of its turn */
	} in[NR_LEVELS];
	u64 cold_ns; /* until they are there */
};

/* Each array has an element for each CPU. A cache has the number of its first CPU. */
struct level {
	u64 kib; /* of each cache */
	struct cache *cache;
	u32 *of; /* which cache is the CPU's */
};

struct caches {
	struct level level[NR_LEVELS];
	u32 *sibling; /* the next CPU of the core; after the last comes the first */
	struct cached *free, *all;
};

/* KiB that cache number @cache holds of what was left there. */
static u64 holds(const struct cache *all, u32 cache, const struct held *held)
{
	for (u32 i = 0; i < NR_HELD; i++)
		if (held[i].kib && held[i].cache == cache)
			return halved(held[i].kib, all[cache].halvings - held[i].halvings);
	return 0;
}

/* A task that held @had KiB of @cache, of @size, gets @more. Others make room. */
static void fill(struct cache *cache, u64 size, u64 had, u64 more)
{
	u64 free_kib = size - cache->used_kib, of_others = size - had;

	cache->used_kib += min(more, free_kib);
	if (more <= free_kib)
		return;
	more -= free_kib;
	of_others -= min(free_kib, of_others);
	cache->halvings +=
		more < of_others ? halvings_between(of_others, of_others - more) : ALL_IS_NEW;
}

/* A task has @kib of cache number @cache, @more than before its turn. */
static void leave_in(struct cache *all, u32 cache, struct held *held, u64 size, u64 kib, u64 more)
{
	u32 i = 0;

	while (i < NR_HELD - 1 && held[i].kib && held[i].cache != cache)
		i++;
	memmove(&held[1], &held[0], i * sizeof(*held));
	fill(&all[cache], size, kib - more, more);
	held[0] = (struct held){ cache, kib, all[cache].halvings };
}

/* --- machines --------------------------------------------------------------------------------- */

static bool shares_core(const struct sim_cpu *a, const struct sim_cpu *b)
{
	return a->core == b->core && a->llc == b->llc && a->node == b->node;
}

/* Numbers the caches of @c, which follows @first, and links it to its siblings. */
static void place_cpu(struct sim *sim, struct sim_cpu *c)
{
	struct caches *caches = sim->caches;
	const struct sim_cpu *other = sim->cpus;

	while (other->llc != c->llc || other->node != c->node)
		other++;
	caches->level[LLC].of[c->id] = other->id;
	while (!shares_core(other, c))
		other++;
	caches->level[L2].of[c->id] = caches->sibling[c->id] = other->id;
	while (caches->sibling[other->id] != caches->level[L2].of[c->id])
		other = &sim->cpus[caches->sibling[other->id]];
	caches->sibling[other->id] = c->id;
}

bool caches_init(struct sim *sim)
{
	u32 nr = sim->config.nr_cpus;
	struct caches *caches;

	if (!sim->config.caches.l2_kib)
		return true;
	caches = calloc(1, sizeof(*caches));
	sim->caches = caches;
	if (!caches)
		return false;
	caches->level[L2].kib = sim->config.caches.l2_kib;
	caches->level[LLC].kib = sim->config.caches.llc_kib;
	caches->sibling = calloc(nr, sizeof(u32));
	for (u32 l = 0; l < NR_LEVELS; l++) {
		caches->level[l].cache = calloc(nr, sizeof(struct cache));
		caches->level[l].of = calloc(nr, sizeof(u32));
		if (!caches->level[l].cache || !caches->level[l].of || !caches->sibling)
			return false;
	}
	for (u32 cpu = 0; cpu < nr; cpu++)
		place_cpu(sim, &sim->cpus[cpu]);
	return true;
}

void caches_free(struct sim *sim)
{
	struct caches *caches = sim->caches;
	struct cached *next;

	if (!caches)
		return;
	for (struct cached *x = caches->all; x; x = next) {
		next = x->next;
		free(x);
	}
	for (u32 l = 0; l < NR_LEVELS; l++) {
		free(caches->level[l].cache);
		free(caches->level[l].of);
	}
	free(caches->sibling);
	free(caches);
}

/* --- turns ------------------------------------------------------------------------------------ */

static struct cached *new_cached(struct caches *caches)
{
	struct cached *x = allocate(1, sizeof(*x));

	x->next = caches->all;
	caches->all = x;
	return x;
}

static struct cached *cached_of(struct sim *sim, const struct sim_cpu *c, struct sim_task *t)
{
	struct cached *x = sim->caches->free;

	if (t->cached)
		return t->cached;
	if (x)
		sim->caches->free = x->next_free;
	else
		x = new_cached(sim->caches);
	*x = (struct cached){ .next = x->next, .home = c->node };
	t->cached = x;
	return x;
}

/* KiB of @t that a cache of this size can hold. */
static u64 share(const struct sim *sim, const struct sim_task *t, u64 size)
{
	return min(t->footprint_kib ?: sim->config.caches.footprint_kib, size);
}

static void enter(struct sim *sim, struct sim_cpu *c, struct sim_task *t)
{
	const struct sim_caches *costs = &sim->config.caches;
	struct cached *x = cached_of(sim, c, t);
	u64 line_ns = x->home == c->node ? costs->memory_ns : costs->remote_ns, far, near;

	for (u32 l = 0; l < NR_LEVELS; l++) {
		const struct level *level = &sim->caches->level[l];

		x->in[l].lacks = share(sim, t, level->kib) -
				 holds(level->cache, level->of[c->id], x->in[l].held);
	}
	far = x->in[LLC].lacks;
	near = x->in[L2].lacks > far ? x->in[L2].lacks - far : 0;
	x->cold_ns = (far * line_ns + near * costs->llc_ns) * LINES_OF_KIB;
	c->cold_ns = x->cold_ns;
}

static void leave(struct sim *sim, struct sim_cpu *c, struct sim_task *t)
{
	struct cached *x = t->cached;
	u64 done = x->cold_ns - c->cold_ns;

	for (u32 l = 0; l < NR_LEVELS; l++) {
		const struct level *level = &sim->caches->level[l];
		u64 lacks = x->in[l].lacks, got = x->cold_ns ? lacks * done / x->cold_ns : lacks;

		leave_in(level->cache, level->of[c->id], x->in[l].held, level->kib,
			 share(sim, t, level->kib) - lacks + got, got);
	}
	c->cold_ns = 0;
}

void caches_work(struct sim *sim, struct sim_cpu *c, u64 ns)
{
	u64 waited = min(ns / 2, c->cold_ns);

	c->cold_ns -= waited;
	sim->count.cold_ns += waited;
	if (c->curr->left_ns != SIM_FOREVER)
		c->curr->left_ns -= min(ns - waited, c->curr->left_ns);
}

u64 caches_left(const struct sim_cpu *c)
{
	u64 left = c->curr->left_ns;

	return left > c->cold_ns ? left + c->cold_ns : left + (left ? left - 1 : 0);
}

/* Threads of a core share it: each of them that works slows the others down. */
u32 caches_speed(const struct sim *sim, const struct sim_cpu *c)
{
	const u32 *sibling = sim->caches->sibling;

	for (u32 cpu = sibling[c->id]; cpu != c->id; cpu = sibling[cpu])
		if (sim->cpus[cpu].curr != &sim->cpus[cpu].idle)
			return max(c->own_speed * (u32)sim->config.caches.smt / 100, 1u);
	return c->own_speed;
}

void caches_switch(struct sim *sim, struct sim_cpu *c, struct sim_task *prev, struct sim_task *next)
{
	const u32 *sibling = sim->caches->sibling;

	if (prev != &c->idle)
		leave(sim, c, prev);
	if (next != &c->idle)
		enter(sim, c, next);
	if (prev != &c->idle && next != &c->idle)
		return;
	for (u32 cpu = sibling[c->id]; cpu != c->id; cpu = sibling[cpu])
		sim_set_speed(sim, &sim->cpus[cpu], sim->cpus[cpu].own_speed);
}

void caches_forget(struct sim *sim, struct sim_task *t)
{
	if (!t->cached)
		return;
	t->cached->next_free = sim->caches->free;
	sim->caches->free = t->cached;
	t->cached = NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kind of object of the kernel that is tried: how to make one and what calls there are, and
 * beside it a model, which says what each call answers if the calls come one after the other. The
 * model shares nothing with the object.
 */
#pragma once

#include "lib/types.h"
#include "lib/prng.h"
#include "world.h"

struct call {
	u8 op, how; /* the object's; enum user_memory */
	u32 n;
};

/* The numbers that an operation takes. */
struct range {
	u32 least, most;
};

struct answer {
	long value;
	u64 digest;  /* of the data that came with it */
	bool failed; /* an allocation failed in that run */
	u8 way;	     /* to last_way: how the call came to it */
};

/* A digest with one @word more (FNV-1a). */
static inline u64 mix(u64 digest, u64 word)
{
	return (digest ^ word) * 0x100000001b3;
}

#define ERESTARTSYS 512
/* The value of a call in which the thread ended, with its wait status. */
#define ENDED 0x10000

/* Whether a call ends, by the model. NO_WAY: it has no such way to its answer. */
enum model_says { ENDS, MAY_SLEEP, MUST_SLEEP, NO_WAY };

struct object {
	const char *name;
	const char *const *op_names; /* NULL behind the last */
	const struct range *ranges;  /* by operation: those that are drawn, and perhaps more */
	void *(*create)(unsigned nr_threads);
	void (*destroy)(void *object);
	/* One of @op_names, and a number. @alone: no other thread runs. */
	struct call (*draw)(struct prng *random, bool alone);
	/* NULL, or: programs that are tried before those that are drawn; NULL behind the last. */
	const char *const *known;
	/* NULL, or: the last call of each of several threads, which no text names. */
	const struct call *last;
	/* By thread @nr, the call number @id of all. */
	struct answer (*perform)(void *object, unsigned nr, unsigned id, const struct call *call);
	size_t model_size;
	void (*model_create)(void *model, unsigned nr_threads);
	/*
	 * Puts the right answer in the place of the one that was seen. Where several are right it
	 * keeps that. MAY_SLEEP: the call answers so, or sleeps and has no effect. MUST_SLEEP: no
	 * effect. Every answer but that of a lack of memory has its effect on the model.
	 */
	enum model_says (*model_perform)(void *model, unsigned nr, unsigned id,
					 const struct call *call, struct answer *answer);
	/* Where memory lacks, the ways to an answer are those from 0 to this. */
	u8 last_way;
	/* The state, as expressions of gdb in the file of destroy(@object): states.py. */
	const char *state;
	/* NULL, or: may the calls end in this state? */
	bool (*model_may_end)(const void *model);
};

/* Members whose values are called like themselves, but for those of the model; more may follow. */
#define OBJECT(ident, model, text, ...)                                                            \
	const struct object ident##_object = { .name = #ident,                                     \
					       .op_names = op_names,                               \
					       .ranges = ranges,                                   \
					       .create = create,                                   \
					       .destroy = destroy,                                 \
					       .draw = draw,                                       \
					       .perform = perform,                                 \
					       .model_size = sizeof(struct model),                 \
					       .model_create = model##_create,                     \
					       .model_perform = model##_perform,                   \
					       .state = text,                                      \
					       __VA_ARGS__ }
/* An object, the model of which is in the same file. */
#define DEFINE_OBJECT(ident, state, ...) OBJECT(ident, model, state, __VA_ARGS__)
/* An object, the model of which is in another file, and its struct in a header. */
#define DEFINE_OBJECT_BESIDE(ident, state, ...) OBJECT(ident, ident##_model, state, __VA_ARGS__)
#define DECLARE_MODEL(ident)                                                                       \
	void ident##_model_create(void *model, unsigned nr_threads);                               \
	enum model_says ident##_model_perform(void *model, unsigned nr, unsigned id,               \
					      const struct call *call, struct answer *answer)

/* As ppoll(): sleeps until @look sees some of @events, which it returns, or a signal comes. */
struct poll_table;
typedef unsigned (*poll_look)(void *what, struct poll_table *pt);
long wait_for_events(poll_look look, void *what, unsigned events);

extern const struct object eventfd_object, futex_object, mutex_object, pipe_object, record_object;
extern const struct object epoll_object, flock_object, perf_object, signal_object, timerfd_object;
extern const struct object fdtable_object, ldisc_object, posix_timer_object, tmpfs_object;
extern const struct object account_object, cgroup_object, filter_object, instance_object,
	oom_object, ring_object, socketpair_object, vma_object;

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs in WebAssembly, where a program is a module that the host puts beside this one; see
 * guard.h. The host catches what crashes there, too (sim/engine/process_wasi.c). An endless loop
 * only the host's user can end.
 */
#include <stdio.h>
#include <string.h>

#include "sim/engine/process.h"
#include "sim/scx/binding.h"
#include "sim/scx/guard.h"
#include "sim/scx/scx.h"

/* The `scx_program` of the module @file, or NULL, and a reason in @error. */
__attribute__((import_module("program"), import_name("load"))) const struct scx_program *
host_load(const char *file, char *error, size_t size);

/* The call that begins. */
static struct call {
	void *fn;
	u64 x, y, z, v, result;
} * now;

/* --- calls by type ------------------------------------------------------------ */

/* A function can be called by its own type only, and the table of operations has their types. */
#define P(x) ((void *)(uintptr_t)(x))
#define DOES(op, ...)                                                                              \
	if (fn == (void *)ops->op)                                                                 \
	return ops->op(__VA_ARGS__), true
#define GIVES(op, ...)                                                                             \
	if (fn == (void *)ops->op)                                                                 \
	return c->result = (u64)ops->op(__VA_ARGS__), true

/* False: @c is no such operation. */
static bool call_operation(struct call *c)
{
	const struct sched_ext_ops *ops = scx.program->ops;
	const void *fn = c->fn;
	u64 x = c->x, y = c->y, z = c->z;

	DOES(enqueue, P(x), y);
	DOES(dispatch, (s32)x, P(y));
	DOES(running, P(x));
	DOES(stopping, P(x), y);
	GIVES(select_cpu, P(x), (s32)y, z);
	DOES(runnable, P(x), y);
	DOES(quiescent, P(x), y);
	DOES(tick, P(x));
	DOES(update_idle, (s32)x, y);
	DOES(dequeue, P(x), y);
	GIVES(yield, P(x), P(y));
	DOES(set_weight, P(x), (u32)y);
	DOES(set_cpumask, P(x), P(y));
	DOES(cpu_acquire, (s32)x, P(y));
	DOES(cpu_release, (s32)x, P(y));
	DOES(cpu_online, (s32)x);
	DOES(cpu_offline, (s32)x);
	GIVES(init_task, P(x), P(y));
	DOES(exit_task, P(x), P(y));
	DOES(enable, P(x));
	DOES(disable, P(x));
	DOES(dump, P(x));
	DOES(dump_cpu, P(x), (s32)y, z);
	DOES(dump_task, P(x), P(y));
	GIVES(init);
	DOES(exit, P(x));
	return false;
}

static bool call_group_operation(struct call *c)
{
	const struct sched_ext_ops *ops = scx.program->ops;
	const void *fn = c->fn;

	GIVES(cgroup_init, P(c->x), P(c->y));
	DOES(cgroup_exit, P(c->x));
	GIVES(cgroup_prep_move, P(c->x), P(c->y), P(c->z));
	DOES(cgroup_move, P(c->x), P(c->y), P(c->z));
	DOES(cgroup_cancel_move, P(c->x), P(c->y), P(c->z));
	DOES(cgroup_set_weight, P(c->x), (u32)c->y);
	DOES(cgroup_set_bandwidth, P(c->x), c->y, c->z, c->v);
	DOES(cgroup_set_idle, P(c->x), c->y);
	return false;
}

typedef s32 timer_fn(void *map, int *key, struct bpf_timer *timer);

static void call_now(void)
{
	struct call *c = now;

	if (call_operation(c) || call_group_operation(c))
		return;
	if (c->fn == (void *)scx.program->half)
		scx.program->half((u32)c->x);
	else
		((timer_fn *)c->fn)(P(c->x), P(c->y), P(c->z));
}

/* --- the host ----------------------------------------------------------------- */

const struct scx_program *guard_load(const char *file, const char **error)
{
	static char reason[256];
	const struct scx_program *program = host_load(file, reason, sizeof(reason));

	*error = reason;
	return program;
}

u64 guard_call(struct ext_call *c, const char *op, void *fn, const u64 args[4])
{
	struct call call = { fn, args[0], args[1], args[2], args[3], 0 };
	char text[EXT_MESSAGE_LEN];

	now = &call;
	if (process_attempt(call_now, 0) == PROCESS_DONE)
		return call.result;
	snprintf(text, sizeof(text), "%s on CPU %u crashed", op, scx_sim()->this_cpu);
	ext_report(c, EXT_EXIT_ERROR, 0, text);
	return 0;
}

void guard_open(void)
{
}

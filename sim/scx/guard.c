/* SPDX-License-Identifier: GPL-2.0-only */
/* See guard.h. */
#include <string.h>

#include "sim/engine/process.h"
#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/scx.h"
#include "sim/scx/guard.h"

#define INIT_MS 10000u

static struct guard *innermost;
/* Set before a jump, for guard_crashed(). */
static const char *volatile cause;
static const void *volatile place;

void guard_enter(struct guard *g, struct ext_call *c, const void *fn)
{
	g->function = fn;
	g->call = c;
	g->before = innermost;
	innermost = g;
}

void guard_leave(struct guard *g)
{
	innermost = g->before;
}

/* The operation that @fn is. */
static const char *name_of(const void *fn)
{
	const struct sched_ext_ops *ops = scx.program->ops;
	const struct {
		const char *name;
		const void *function;
	} names[] = {
#define NAMED(op) { #op, (const void *)ops->op }
		NAMED(select_cpu),  NAMED(enqueue),	NAMED(dequeue),		 NAMED(dispatch),
		NAMED(tick),	    NAMED(runnable),	NAMED(running),		 NAMED(stopping),
		NAMED(quiescent),   NAMED(yield),	NAMED(set_weight),	 NAMED(set_cpumask),
		NAMED(update_idle), NAMED(cpu_acquire), NAMED(cpu_release),	 NAMED(cpu_online),
		NAMED(cpu_offline), NAMED(init_task),	NAMED(exit_task),	 NAMED(enable),
		NAMED(disable),	    NAMED(cgroup_init), NAMED(cgroup_prep_move), NAMED(cgroup_move),
		NAMED(init),	    NAMED(exit),
#undef NAMED
	};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].function == fn)
			return names[i].name;
	return fn == (const void *)scx.program->half ? "the user half" : "a callback";
}

/* The class checks what it gets before it locks anything, so no lock is left behind. */
static void leave_operation(const char *phrase, const void *address)
{
	if (!innermost)
		return;
	cause = phrase;
	place = address;
	siglongjmp(innermost->start, 1);
}

static void on_hang(void)
{
	leave_operation("does not return", NULL);
}

/* Stacks are 8 MiB as a rule, and grow downwards from where @g lies. */
static bool is_near_stack(const struct guard *g, const void *address)
{
	return (uintptr_t)g - (uintptr_t)address < 16u << 20;
}

void guard_crashed(struct guard *g)
{
	char text[EXT_MESSAGE_LEN], where[32] = "";

	if (is_near_stack(g, place))
		cause = "has no stack left";
	else if (place && strstr(cause, "pointer"))
		snprintf(where, sizeof(where), ", %p", place);
	snprintf(text, sizeof(text), "%s on CPU %u %s%s", name_of(g->function), scx_sim()->this_cpu,
		 cause, where);
	if (!g->call)
		usage_error("%s: %s", scx.program->ops->name, text);
	ext_report(g->call, EXT_EXIT_ERROR, 0, text);
}

void guard_open(void)
{
	process_catch(leave_operation);
	/* The engine's own watch begins with the run. */
	process_watch(scx_sim()->config.hang_ms ?: INIT_MS, on_hang);
	scx_sim()->recover = on_hang;
}

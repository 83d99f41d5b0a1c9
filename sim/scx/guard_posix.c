/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs as native code, whose crashes are signals; see guard.h. */
#include <setjmp.h>
#include <string.h>

#include "sim/engine/process.h"
#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/scx.h"
#include "sim/scx/guard.h"

#define INIT_MS 10000u

struct guard {
	sigjmp_buf start;
	const char *operation;
	struct ext_call *call;
	struct guard *before;
};
static struct guard *innermost;
/* Set before a jump, for crashed(). */
static const char *volatile cause;
static const void *volatile place;

/* The class checks what it gets before it locks anything, so no lock is left behind. */
static void leave_operation(const char *phrase, const void *address)
{
	if (!innermost)
		return;
	cause = phrase;
	place = address;
	siglongjmp(innermost->start, 1);
}

/* Only the program's own divisions are BPF's. */
static unsigned skip_division(const u8 *ip, u64 *ax, u64 *dx)
{
	if (!innermost || !process_same_object(ip, scx.program))
		return 0;
	return scx_skip_division(ip, ax, dx);
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

static void crashed(struct guard *g)
{
	char text[EXT_MESSAGE_LEN], where[32] = "";

	if (is_near_stack(g, place))
		cause = "has no stack left";
	else if (place && strstr(cause, "pointer"))
		snprintf(where, sizeof(where), ", %p", place);
	snprintf(text, sizeof(text), "%s on CPU %u %s%s", g->operation, scx_sim()->this_cpu, cause,
		 where);
	ext_report(g->call, EXT_EXIT_ERROR, 0, text);
}

const struct scx_program *guard_load(const char *file, const char **error)
{
	return process_load(file, "scx_program", error);
}

u64 guard_call(struct ext_call *c, const char *op, void *fn, const u64 args[4])
{
	struct guard guard = { .operation = op, .call = c, .before = innermost };
	volatile u64 result = 0;

	innermost = &guard;
	if (!sigsetjmp(guard.start, 0))
		result = ((u64(*)(u64, u64, u64, u64))fn)(args[0], args[1], args[2], args[3]);
	else
		crashed(&guard);
	innermost = guard.before;
	return result;
}

void guard_open(void)
{
	process_catch(leave_operation, skip_division);
	/* The engine's own watch begins with the run. */
	process_watch(scx_sim()->config.hang_ms ?: INIT_MS, on_hang);
	scx_sim()->recover = on_hang;
}

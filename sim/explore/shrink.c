/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shrinking a script that fails: delta debugging. Ranges of operations are left out, halving their
 * size, as long as the same thing still fails; then single operations and the machine are made
 * simpler. Repeated until nothing helps, so nothing that is left can be left out.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/explore/explore.h"

static bool still_fails(const struct script *script, const char *what)
{
	struct verdict verdict = script_run(script);

	return !strcmp(verdict.what, what);
}

/* Without operations [start, start + nr). */
static bool try_without(struct script *script, const char *what, unsigned start, unsigned nr)
{
	struct op *ops = script->ops, *kept = malloc((script->nr_ops + 1) * sizeof(*kept));
	unsigned after = script->nr_ops - start - nr;
	struct script shorter = *script;

	if (!kept)
		return false;
	memcpy(kept, ops, start * sizeof(*kept));
	memcpy(kept + start, ops + start + nr, after * sizeof(*kept));
	shorter.ops = kept;
	shorter.nr_ops = start + after;
	if (!still_fails(&shorter, what)) {
		free(kept);
		return false;
	}
	memcpy(ops, kept, shorter.nr_ops * sizeof(*ops));
	script->nr_ops = shorter.nr_ops;
	free(kept);
	return true;
}

/* From the end: what comes later depends on what was before, seldom the other way round. */
static bool leave_out(struct script *script, const char *what)
{
	bool any = false;

	for (unsigned nr = max(script->nr_ops / 2, 1u); nr; nr /= 2)
		for (unsigned end = script->nr_ops; end >= nr && end <= script->nr_ops;) {
			if (try_without(script, what, end - nr, nr))
				any = true;
			end -= nr;
		}
	return any;
}

static bool try_op(struct script *script, const char *what, unsigned at, struct op simpler)
{
	struct op saved = script->ops[at];

	if (!memcmp(&saved, &simpler, sizeof(saved)))
		return false;
	script->ops[at] = simpler;
	if (still_fails(script, what))
		return true;
	script->ops[at] = saved;
	return false;
}

static bool simplify_op(struct script *script, const char *what, unsigned at)
{
	struct op op = script->ops[at];
	bool any = false;

	op.late = false;
	any |= try_op(script, what, at, op);
	op = script->ops[at];
	op.inside = 0;
	any |= try_op(script, what, at, op);
	op = script->ops[at];
	op.cpu = 0;
	any |= try_op(script, what, at, op);
	op = script->ops[at];
	op.task = 0;
	any |= try_op(script, what, at, op);
	for (u32 arg = 0; arg < 2; arg++) {
		op = script->ops[at];
		if (op.arg <= arg)
			break;
		op.arg = arg;
		any |= try_op(script, what, at, op);
	}
	return any;
}

static bool simplify_ops(struct script *script, const char *what)
{
	bool any = false;

	for (unsigned i = 0; i < script->nr_ops; i++)
		any |= simplify_op(script, what, i);
	return any;
}

/* Fewer CPUs, of one level. */
static bool simplify_machine(struct script *script, const char *what)
{
	struct shape saved = script->shape;

	script->shape.opp = WORLD_ONE_SPEED;
	if (saved.opp && still_fails(script, what))
		return true;
	script->shape = saved;
	script->shape.isolated = 0;
	if (saved.isolated && still_fails(script, what))
		return true;
	script->shape = saved;
	for (u8 nr = 1; nr < saved.nr_cpus; nr *= 2) {
		script->shape = (struct shape){ saved.hz, nr, 1, nr, nr, saved.opp, 0 };
		if (still_fails(script, what))
			return true;
	}
	script->shape = saved;
	return false;
}

void script_shrink(struct script *script, const char *what)
{
	bool any;

	script->verbose = false;
	/* Runs take some 20 ms, and there will be hundreds: do not give each 20 s to end. */
	script->limit_s = strcmp(what, NO_END) ? 0 : 2;
	do {
		any = leave_out(script, what);
		any |= simplify_machine(script, what);
		any |= simplify_ops(script, what);
	} while (any);
	script->limit_s = 0;
}

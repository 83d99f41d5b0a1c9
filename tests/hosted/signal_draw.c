/* SPDX-License-Identifier: GPL-2.0-only */
/* Draws calls of the object "signal"; see signal.c. */
#include "signal_draw.h"

/* The next calls are a mixture, or wait for two signals, or stop and go on. */
enum mood { MIXED, WAITING, STOPPING, NR_MOODS };

static struct call draw_mixed(struct prng *random)
{
	static const u8 few[] = { 0, 0, 2, 2, 1, 3 };
	struct call call = { .op = (u8)prng_below(random, OP_ADVANCE + 1) };
	u32 sig = few[prng_below(random, ARRAY_SIZE(few))];

	if (!prng_below(random, 6))
		sig = 4 + prng_below(random, prng_below(random, 8) ? 1 : 6);
	if (call.op <= OP_KERNEL)
		call.n = sig + 10 * prng_below(random, 3);
	else if (call.op == OP_ACTION)
		call.n = sig % 8 + 10 * prng_below(random, NR_ACTIONS);
	else if (call.op == OP_ADVANCE)
		call.n = 1 + prng_below(random, 2);
	else if (call.op >= OP_MASK && call.op <= OP_POLL && call.op != OP_DELIVER)
		call.n = prng_below(random, EVERYTHING);
	if (call.op == OP_WAIT_UNTIL)
		call.n += 10 * prng_below(random, 4);
	return call;
}

static struct call draw_waiting(struct prng *random)
{
	static const u8 ops[] = { OP_WAIT, OP_WAIT, OP_WAIT_UNTIL, OP_READ,  OP_MASK,
				  OP_MASK, OP_KILL, OP_QUEUE,	   OP_TGKILL };
	struct call call = { .op = ops[prng_below(random, ARRAY_SIZE(ops))] };

	if (call.op <= OP_TGKILL)
		call.n = 2 * prng_below(random, 2) + 10 * prng_below(random, 2);
	else
		call.n = 1 + prng_below(random, 3);
	if (call.op == OP_WAIT_UNTIL)
		call.n += 20;
	return call;
}

static struct call draw_stopping(struct prng *random)
{
	static const u8 ops[] = { OP_DELIVER, OP_DELIVER, OP_KILL, OP_KILL, OP_TGKILL };
	static const u8 often[] = { 6, 6, 6, 7, 7, 8, 0, 9 };
	struct call call = { .op = ops[prng_below(random, ARRAY_SIZE(ops))] };

	if (call.op != OP_DELIVER)
		call.n = often[prng_below(random, ARRAY_SIZE(often))] + 10 * prng_below(random, 2);
	return call;
}

struct call signal_draw(struct prng *random, bool alone)
{
	static enum mood mood;
	struct call call;

	if (!prng_below(random, 6))
		mood = prng_below(random, NR_MOODS);
	call = mood == MIXED	 ? draw_mixed(random)
	       : mood == WAITING ? draw_waiting(random)
				 : draw_stopping(random);
	/* Alone nobody ends a sleep, or few do. */
	if (alone && (call.op == OP_WAIT || call.op == OP_READ) && prng_below(random, 16))
		call.op = OP_TRY_WAIT;
	if (alone && call.op <= OP_KERNEL && call.n % 10 > 6 && prng_below(random, 4))
		call.n = 6;
	/* Beside others a handler without a stack is two steps: SIGSEGV comes after them. */
	if ((call.op == OP_READ || call.op == OP_TRY_READ || (call.op == OP_DELIVER && alone)) &&
	    !prng_below(random, 8))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

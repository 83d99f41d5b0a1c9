/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The little language of FUTEX_WAKE_OP, packed into one word: what to do to the second futex, and
 * what its old value is compared with (futex(2)).
 */
#include "kernel/arch.h"
#include "kernel/task/futex.h"
#include "lib/errno.h"

/* The parts of the code word. */
struct wake_op {
	unsigned op, cmp;
	s32 oparg, cmparg;
};

static s32 sign_extend12(u32 v)
{
	return (s32)(v << 20) >> 20;
}

static struct wake_op decode_wake_op(u32 code)
{
	struct wake_op wo = {
		.op = code >> 28 & 7,
		.cmp = code >> 24 & 15,
		.oparg = sign_extend12(code >> 12),
		.cmparg = sign_extend12(code),
	};
	if (code >> 31)
		wo.oparg = (s32)(1u << (wo.oparg & 31));
	return wo;
}

static u32 apply_op(const struct wake_op *wo, u32 v)
{
	u32 arg = (u32)wo->oparg;

	switch (wo->op) {
	case 0:
		return arg;
	case 1:
		return v + arg;
	case 2:
		return v | arg;
	case 3:
		return v & ~arg;
	default:
		return v ^ arg;
	}
}

static bool compare_op(const struct wake_op *wo, u32 value)
{
	s32 v = (s32)value;

	switch (wo->cmp) {
	case 0:
		return v == wo->cmparg;
	case 1:
		return v != wo->cmparg;
	case 2:
		return v < wo->cmparg;
	case 3:
		return v <= wo->cmparg;
	case 4:
		return v > wo->cmparg;
	default:
		return v >= wo->cmparg;
	}
}

/* Atomically replace the word at @addr by the operation's result; *before gets the old value. */
static int user_apply(u32 *addr, const struct wake_op *wo, u32 *before)
{
	int ret = arch_user_load_u32(addr, before);

	while (!ret) {
		u32 seen = *before;
		ret = arch_user_cmpxchg_u32(addr, before, apply_op(wo, seen));
		if (!ret && *before == seen)
			return 0;
		arch_cpu_relax();
	}
	return ret;
}

int futex_op(u32 *addr, u32 code, bool *wake)
{
	struct wake_op wo = decode_wake_op(code);
	u32 before;
	int ret;

	if (wo.op > 4 || wo.cmp > 5)
		return -ENOSYS;
	ret = user_apply(addr, &wo, &before);
	if (!ret)
		*wake = compare_op(&wo, before);
	return ret;
}

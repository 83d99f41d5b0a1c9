/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A division by zero in a program. In BPF x / 0 is 0 and x % 0 is x, and programs rely on it. On
 * x86 the division faults, so the host skips it with these results.
 *
 * Reference: Linux's BPF instruction set (RFC 9669, 4.1); Intel SDM, volume 2, DIV and IDIV.
 */
#include "sim/scx/binding.h"

enum { PREFIX_16BIT = 0x66, OPCODE_WORD = 0xf7, DIV = 6, IDIV = 7 };

/* Bytes of the operand whose ModRM byte is at @p. */
static unsigned operand_length(const u8 *p)
{
	static const u8 displacement[4] = { 0, 1, 4, 0 };
	unsigned mod = *p >> 6, base = *p & 7, length = 1;

	if (mod == 3)
		return length;
	if (base == 4) { /* a SIB byte follows */
		length++;
		base = p[1] & 7;
	}
	return length + (!mod && base == 5 ? 4 : displacement[mod]);
}

unsigned scx_skip_division(const u8 *ip, u64 *ax, u64 *dx)
{
	const u8 *p = ip;
	bool is_short = *p == PREFIX_16BIT;
	u8 rex, kind;
	u64 mask;

	p += is_short;
	rex = (*p & 0xf0) == 0x40 ? *p++ : 0;
	kind = p[1] >> 3 & 7;
	if (*p != OPCODE_WORD || (kind != DIV && kind != IDIV))
		return 0;
	mask = rex & 8 ? ~0ull : is_short ? 0xffff : 0xffffffff;
	/* The least number may have been divided by -1, which faults as well. */
	if (kind == IDIV && (*ax & mask) == (mask >> 1) + 1)
		return 0;
	*dx = is_short ? (*dx & ~mask) | (*ax & mask) : *ax & mask;
	*ax = is_short ? *ax & ~mask : 0;
	return (unsigned)(p + 1 - ip) + operand_length(p + 1);
}

# SPDX-License-Identifier: GPL-2.0-only
"""Weights of nice values, and `delta * weight / total` at the widths that Linux uses.

Weights are stored with ten more bits than in the table, so that nice 0 stores 2^20. A division by a weight is a
multiplication by its inverse, 2^32 / weight. Products are cut to 32 bits before the last multiplication, which loses
low bits: this is where a result comes out 1 ns less than the true quotient.
"""

from dataclasses import dataclass

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
SCALE_BITS = 10
NICE_0 = 1024
IDLE = 3  # the weight of SCHED_IDLE
MS = 1_000_000

# One nice step is about 10 % of the CPU between two tasks: a factor of about 1.25.
WEIGHTS = (88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
           9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
           1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
           110, 87, 70, 56, 45, 36, 29, 23, 18, 15)


# 2^32 / weight, as Linux's table has it: rounded, but four of the least weights have it rounded down.
INVERSES = (48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437,
            449829, 563644, 704093, 875809, 1099582, 1376151, 1717300, 2157191, 2708050, 3363326,
            4194304, 5237765, 6557202, 8165337, 10153587, 12820798, 15790321, 19976592, 24970740, 31350126,
            39045157, 49367440, 61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153)
IDLE_INVERSE = 1431655765


def runtime_inverse(weight: int) -> int:
    """(2^32 - 1) / weight, rounded down: the inverses of sums, computed when they are needed."""
    if weight >= M32:
        return 1
    return M32 // weight if weight else M32



@dataclass(frozen=True)
class Load:
    """A weight in stored units, and the inverse of the same without the additional bits."""

    stored: int
    inverse: int


def down(stored: int) -> int:
    return max(2, stored >> SCALE_BITS) if stored else 0


def of_nice(nice: int) -> Load:
    return Load(WEIGHTS[nice + 20] << SCALE_BITS, INVERSES[nice + 20])


def of_idle() -> Load:
    return Load(IDLE << SCALE_BITS, IDLE_INVERSE)


def of_sum(stored: int) -> Load:
    """A weight that does not come from the table."""
    return Load(stored, runtime_inverse(down(stored)))


def calc_delta(delta: int, stored: int, total: Load) -> int:
    """@delta * @stored / @total, rounded down twice."""
    factor, shift = down(stored), 32
    if factor >> 32:
        excess = (factor >> 32).bit_length()
        factor, shift = factor >> excess, shift - excess
    factor = (factor & M32) * total.inverse
    if factor >> 32:
        excess = (factor >> 32).bit_length()
        factor, shift = factor >> excess, shift - excess
    return (delta * (factor & M32)) >> shift & M64


def virtual(delta: int, load: Load) -> int:
    """The virtual time of @delta ns on a CPU, for an entity of this weight."""
    return delta if load.stored == NICE_0 << SCALE_BITS else calc_delta(delta, NICE_0 << SCALE_BITS, load)


def group_weight(shares: int, resident: int, average: int, contribution: int, of_group: int) -> int:
    """The weight, stored, of a group's entity on one CPU: its part of @shares, which are in units of nice 0.

    @resident: the weight queued here; @average: the queue's load average, of which @contribution is known to the
    group, whose averages add up to @of_group.
    """
    load, stored = max(resident, average), shares << SCALE_BITS
    everywhere = of_group - contribution + load
    return max(2, min(stored, stored * load // everywhere if everywhere else stored))


def quotient(a: int, b: int) -> int:
    """@a / @b, rounded towards zero as C does."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

# SPDX-License-Identifier: GPL-2.0-only
"""BORE: what a burst of CPU time is worth, in 2.2.8 (on CFS) and in 5.9.6 (on EEVDF).

Both take the logarithm of a burst in fixed point, subtract an offset and multiply by a slope; 2.2.8 has ten bits after
the point and 5.9.6 eight. Four of 5.9.6's penalty are one score.
"""

from collections.abc import Callable

from arithmetic import INVERSES, M64, WEIGHTS

MOST = 39
PARITY = 2  # with more tasks a request that lasts keeps nobody out: 5.9.6's parity threshold
UNIT_SHIFT = 22  # an inverse is 2^22 / weight in units of nice 0


def log2_plus_1(burst: int, bits: int) -> int:
    """(floor(log2) + 1) with @bits of a linear mantissa after the point; 0 for no burst."""
    length = burst.bit_length()
    fraction = (burst << (64 - length) << 1 & M64) >> (64 - bits) if length else 0
    return length << bits | fraction


def penalty_2(burst: int) -> int:
    """A burst's penalty in 2.2.8: offset 12, slope 1292 / 1024, with ten bits after the point."""
    return max(0, log2_plus_1(burst, 10) - (12 << 10)) * 1292 >> 10


def score_2(burst: int) -> int:
    return min(MOST, penalty_2(burst) >> 10)


def stretched_2(delta: int, score: int) -> int:
    """The virtual time of @delta ns: the inverses of the nice values, where score 20 changes nothing."""
    return delta * INVERSES[score] >> UNIT_SHIFT


def granularity_2(base: int, running: int, woken: int) -> int:
    """The wakeup granularity between two scores."""
    return base * INVERSES[min(MOST, 20 + (max(0, woken - running) >> 1))] >> UNIT_SHIFT


def smoothed_2(past: int, burst: int, smoothness: int) -> int:
    return (burst + past * ((1 << smoothness) - 1)) >> smoothness


def penalty_5(burst: int) -> int:
    """A burst's penalty in 5.9.6: offset 24, slope 1280 / 1024, in quarters of a score."""
    return min(MOST << 2, max(0, log2_plus_1(burst, 8) - (24 << 8)) * 1280 >> 16)


def score_5(burst: int) -> int:
    return penalty_5(burst) >> 2


def smoothed_5(past: int, penalty: int) -> int:
    """Penalties rise by half of the difference, and fall at once."""
    return past + (penalty - past >> 1) if penalty > past else penalty


def weight_5(nice: int, score: int) -> int:
    """The score counts like nice values, up to 19."""
    return WEIGHTS[min(MOST, nice + 20 + score)]


def rescaled_5(rest: int, old_row: int, new_row: int) -> int:
    """The rest of a request after a yield that changes the row of the table."""
    wall = abs(rest) * WEIGHTS[old_row] >> 10
    return (wall * INVERSES[new_row] >> UNIT_SHIFT) * (1 if rest >= 0 else -1)


def first_burst(score_of: Callable[[int], int], score: int) -> int:
    """The shortest burst, in ns, that reaches @score."""
    low, high = 0, 1 << 62
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if score_of(middle) >= score else (middle, high)
    return high

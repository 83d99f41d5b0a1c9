# SPDX-License-Identifier: GPL-2.0-only
"""Load averages that halve in 32 periods of 1024 units of 1024 ns."""

from dataclasses import dataclass

from arithmetic import M32, NICE_0, quotient

UNIT_NS, PERIOD = 1024, 1024
HALF_LIFE = 32
LOAD_MAX = 47742  # what a runner's sum converges to, in these integers


def root32(value: int) -> int:
    """The 32nd root of @value, rounded down, exactly."""
    low, high = 0, 1 << 33
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**HALF_LIFE <= value else (low, middle)
    return low


# Y[i] = (2^32 - 1) * 2^(-i/32), rounded down: its 32nd power is (2^32 - 1)^32 / 2^i.
Y = tuple(root32(M32**HALF_LIFE >> i) for i in range(HALF_LIFE))


def decay(value: int, periods: int) -> int:
    if periods > HALF_LIFE * 63:
        return 0
    return (value >> periods // HALF_LIFE) * Y[periods % HALF_LIFE] >> 32


@dataclass
class Average:
    """The averages of one task. It starts with nothing in them."""

    weight: int = NICE_0
    last: int = 0
    rest: int = 0  # units of the period that has begun
    load_sum: int = 0
    util_sum: int = 0
    load: int = 0
    util: int = 0

    def update(self, now: int, queued: bool, running: bool) -> None:
        """@now in ns. A task that is not @queued does not run either."""
        units = (now - self.last) // UNIT_NS
        if not units:
            return
        self.last += units * UNIT_NS
        periods, rest = divmod(units + self.rest, PERIOD)
        part = units
        if periods:
            self.load_sum, self.util_sum = decay(self.load_sum, periods), decay(self.util_sum, periods)
            # The end of the old period, decayed; whole periods between; the beginning of the new one.
            part = decay(PERIOD - self.rest, periods) + LOAD_MAX - decay(LOAD_MAX, periods) - PERIOD + rest
        self.rest = rest
        self.load_sum += part if queued else 0
        self.util_sum += part << 10 if queued and running else 0
        if periods:
            divider = LOAD_MAX - PERIOD + self.rest
            self.load, self.util = self.weight * self.load_sum // divider, self.util_sum // divider


def runner(step_ns: int, steps: int) -> Average:
    """A task that has run for @steps updates, @step_ns apart."""
    average = Average()
    for n in range(1, steps + 1):
        average.update(n * step_ns, True, True)
    return average


def first_guess(queue_util: int, queue_load: int, weight: int) -> int:
    """The utilisation that a new task starts with: half of what is left, or less if others use little each.

    @weight is that of the task as it is stored, which Linux 6.1 takes, or in units of the load, as in 6.12.
    """
    cap = quotient(1024 - queue_util, 2)
    if cap <= 0:
        return 0
    return min(cap, queue_util * weight // (queue_load + 1)) if queue_util else cap

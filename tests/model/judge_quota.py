#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge what became of the runtime of groups with quotas, from a file of decisions.

A ledger for each group: what its queues used comes from the records `charge`, what it was granted from its limits and
the clock. So each movement of runtime is known before its record is read (docs/oracles.md), in whole numbers. A group
is judged from its first limit on that the file tells.

Usage: judge_quota.py FILE... [--hz N]    status 1: a decision is wrong; 2: not all could be judged
"""

import collections
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from judging import NOT_JUDGED, RIGHT, Finding, Judge, Run, Verdict, main, words_of

from fairground.decisions.fair_decisions import Decision  # how a file is read is all that is shared
from fairground.decisions.quota_decisions import PoolDecision, QueueDecision

MS = 1_000_000
NO_QUOTA = (1 << 64) - 1
KEPT, LATER, NEAR = MS, 5 * MS, 2 * MS
WINDOW = 16  # refills


@dataclass
class Share:
    """The part of a CPU's queue: what it may use once its debt is paid, and the debt."""

    local: int = 0
    debt: int = 0
    since: int = 0
    limited: bool = False
    throttled: bool = False
    hungry: bool = False
    while_throttled: int = 0


@dataclass
class Ledger:
    """The books of one group."""

    tick: int
    known: bool = False
    quota: int = NO_QUOTA
    burst: int = 0
    period: int = 0
    slice: int = 0
    pool: int = 0
    owed: int = 0
    after_refill: int = 0
    touched: bool = False
    at: int | None = None
    slack_at: int | None = None
    periods: int = 0
    throttled: int = 0
    bursts: int = 0
    burst_time: int = 0
    used: int = 0
    granted: int = 0
    waiting: list[int] = field(default_factory=list)
    marks: list[tuple[int, int, int]] = field(default_factory=list)
    shares: dict[int, Share] = field(default_factory=lambda: collections.defaultdict(Share))

    def room(self) -> int:
        return self.quota + self.burst - self.pool

    def amounts(self, share: Share) -> tuple[int, int, int, int]:
        return self.pool, self.owed, share.local, share.debt

    # --- what was used --------------------------------------------------------------------------------------------

    def charge(self, cpu: int, ns: int) -> Verdict:
        share = self.shares[cpu]
        if not share.limited:
            return NOT_JUDGED
        hungry, share.hungry = share.hungry, False
        self.used += ns
        share.local -= ns
        if share.throttled:
            share.while_throttled += ns
            return RIGHT if share.while_throttled <= self.tick else "a throttled queue runs"
        share.hungry = share.local <= 0
        return "it used up its runtime and did not ask for more" if hungry else RIGHT

    def windows(self) -> Verdict:
        overdrawn = self.owed + sum(max(0, s.debt - s.local) for s in self.shares.values())
        for used, granted, held in self.marks:
            most = self.granted - granted + self.burst + held + overdrawn
            if self.used - used > most:
                return f"{self.used - used} ns were used where {most} ns may be"
        return RIGHT

    # --- a queue and the pool -------------------------------------------------------------------------------------

    def fetch(self, d: QueueDecision, share: Share) -> Verdict:
        if not share.limited or share.throttled or share.local > 0:
            return "it needs nothing"
        # A queue asks for a slice, or only for its debt if it is empty or a task is about to enter. Records do not say
        # which of the two it is.
        if d.asked + share.local not in (d.slice, 1):
            return f"it asks for {d.asked} ns"
        got = min(self.pool, d.asked)
        if self.at is None:
            self.at = (d.clock // self.period + 1) * self.period
        self.touched |= got > 0
        self.pool -= got
        share.local += got
        share.hungry = False
        return RIGHT if d.got == got else f"{got} ns are right"

    def throttle(self, d: QueueDecision, share: Share) -> Verdict:
        wrong = not share.limited or share.throttled or share.hungry or share.local > 0 or self.pool > 0
        share.throttled, share.debt, share.since, share.while_throttled = True, 1 - share.local, d.clock, 0
        share.local = 1
        self.waiting.append(d.cpu)
        return "it, or the pool, has runtime" if wrong else RIGHT

    def pay(self, d: QueueDecision, share: Share) -> Verdict:
        if not self.waiting or self.waiting[0] != d.cpu:
            return "others were throttled before it"
        paid = min(self.pool, share.debt)
        right = (share.debt, paid)
        self.pool -= paid
        share.debt -= paid
        if not share.debt:
            self.waiting.pop(0)
        return RIGHT if paid and (d.asked, d.got) == right else f"{right} ns are right"

    def unthrottle(self, d: QueueDecision, share: Share) -> Verdict:
        wrong = not share.throttled or share.debt
        share.throttled = False
        if wrong:
            return "it is not throttled, or owes something"
        return RIGHT if d.got == max(0, d.clock - share.since) else "it was throttled for another time"

    def give_back(self, d: QueueDecision, share: Share) -> Verdict:
        spare = share.local - KEPT
        if not share.limited or spare <= 0:
            return "it has nothing to spare"
        taken = min(spare, self.room())
        self.pool += taken
        share.local = KEPT
        if self.waiting and self.pool > d.slice and self.slack_at is None and self.at is not None \
                and d.clock + LATER + NEAR < self.at:
            self.slack_at = d.clock + LATER
        return RIGHT if (d.asked, d.got, d.slack_at) == (spare, taken, self.slack_at or 0) else f"{taken} ns go back"

    def leave(self, d: QueueDecision, share: Share) -> tuple[int, int]:
        """(what the queue had, what the pool took of it). Its debts are gone."""
        has = share.local - share.debt
        self.waiting = [cpu for cpu in self.waiting if cpu != d.cpu]
        share.debt, share.hungry = 0, False
        return has, min(max(has, 0), self.room()) if self.quota != NO_QUOTA else 0

    def settle(self, d: QueueDecision, share: Share) -> Verdict:
        has, taken = self.leave(d, share)
        self.pool += taken
        self.owed += max(0, -has)
        self.pay_owed()
        share.local, share.limited = 1, False
        return RIGHT if (d.asked, d.got) == (max(has, 0), taken) else f"{taken} ns go back"

    def restart(self, d: QueueDecision, share: Share) -> Verdict:
        was, share.limited = share.limited, self.quota != NO_QUOTA
        if d.rule == "cpu_returns":
            share.local = 0
            return RIGHT
        has, taken = self.leave(d, share)
        has = max(has, 0) if was else 0
        taken = min(taken, has)
        share.local = 0
        self.pool += taken
        return RIGHT if (d.asked, d.got) == (has, taken) else f"{taken} of {has} ns go back"

    def pay_owed(self) -> None:
        paid = min(self.owed, self.pool)
        self.owed -= paid
        self.pool -= paid

    def queue(self, d: QueueDecision) -> Verdict:
        share = self.shares[d.cpu]
        if not self.known:
            return NOT_JUDGED
        self.slice = d.slice
        verdict = getattr(self, d.kind)(d, share)
        told = d.pool, d.owed, d.remaining, d.debt
        if not verdict and told != self.amounts(share):
            verdict = f"pool, owed, runtime and debt should be {self.amounts(share)}"
        before = d.kind == "pay" and not share.debt  # it may be told before or after the queue leaves the list
        if not verdict and d.nr_waiting - len(self.waiting) not in (0, before):
            verdict = f"{d.nr_waiting} throttled queues are on the list, where {len(self.waiting)} should be"
        self.pool, self.owed, share.local, share.debt = told
        return verdict

    # --- the pool -------------------------------------------------------------------------------------------------

    def grant(self, periods: int) -> None:
        full = self.quota + self.burst
        while periods and not (self.pool == self.after_refill == full and not self.owed):
            if self.pool == self.after_refill == 0:  # whole quotas pay debts: there may be billions of them
                paying = min(self.owed // self.quota, periods - 1)
                self.owed -= paying * self.quota
                periods -= paying
            periods -= 1
            self.pool += self.quota
            if self.pool < self.after_refill:
                self.bursts += 1
                self.burst_time += self.after_refill - self.pool
            self.pool = min(self.pool, full)
            self.pay_owed()
            self.after_refill = self.pool

    def limit(self, d: PoolDecision) -> Verdict:
        if not self.known:
            self.pool, self.periods, self.throttled = d.before, d.nr_periods, d.nr_throttled
            self.bursts, self.burst_time = d.nr_bursts, d.burst_time
        self.known = True
        self.quota, self.burst, self.period = d.quota, d.burst, d.period
        self.owed = self.after_refill = 0
        self.marks = []
        if self.quota == NO_QUOTA:
            self.pool = 0
        else:
            self.grant(1)
        return RIGHT

    def refill(self, d: PoolDecision) -> Verdict:
        if self.at is None and self.quota != NO_QUOTA:
            self.at = d.clock // self.period * self.period - (d.periods - 1) * self.period
        if self.quota == NO_QUOTA:
            self.at = None
            return RIGHT if d.rule == "unlimited" else "it has no quota"
        assert self.at is not None
        if self.at % self.period:  # the period was changed meanwhile: periods begin at multiples of it
            self.at = d.clock // self.period * self.period - (d.periods - 1) * self.period
        periods = (d.clock - self.at) // self.period + 1
        if periods < 1 or min(periods, 2**32 - 1) != d.periods:  # more have no room in the record
            return f"{periods} periods ended"
        self.granted += periods * self.quota
        verdict = self.windows()
        self.periods += periods
        self.throttled += periods if self.waiting else 0
        self.grant(periods)
        held = sum(max(0, share.local) for share in self.shares.values())
        self.marks = [*self.marks, (self.used, self.granted, held)][-WINDOW:]
        stops = not (self.touched or self.waiting or self.owed)
        self.touched = bool(self.waiting)
        self.at = None if stops else self.at + periods * self.period
        return verdict or (RIGHT if (d.rule == "nothing_used") == stops else "the timer should go on, or stop")

    def slack(self, d: PoolDecision) -> Verdict:
        if self.slack_at is None or self.at is None or d.clock < self.slack_at:
            return "nothing is to be shared out now"
        self.slack_at = None
        share = "too_little" if self.pool <= self.slice else "shared_out"
        right = "refill_near" if d.clock + NEAR >= self.at else share
        return RIGHT if d.rule == right else f"the rule is {right}"

    def change(self, d: PoolDecision) -> Verdict:
        if not self.known and d.kind != "limit":
            return NOT_JUDGED
        verdict = getattr(self, d.kind)(d)
        told = d.kept, d.owed, d.nr_periods, d.nr_throttled, d.nr_bursts, d.burst_time
        mine = self.pool, self.owed, self.periods, self.throttled, self.bursts, self.burst_time
        if not verdict and mine != told:
            verdict = f"pool, owed, periods, throttled, bursts and their time should be {mine}"
        self.pool, self.owed, self.periods, self.throttled, self.bursts, self.burst_time = told
        return verdict


class Court:
    """The ledgers of a whole run."""

    def __init__(self, hz: int) -> None:
        self.ledgers: dict[int, Ledger] = collections.defaultdict(lambda: Ledger(1_000_000_000 // hz))

    def judge(self, d: object) -> Verdict:
        """Why the decision is wrong; "" if it is right; None if no rule covers it."""
        if isinstance(d, Decision):
            known = d.kind == "charge" and d.group in self.ledgers
            return self.ledgers[d.group].charge(d.cpu, d.delta) if known else NOT_JUDGED
        if isinstance(d, QueueDecision):
            return self.ledgers[d.group].queue(d)
        return self.ledgers[d.group].change(d) if isinstance(d, PoolDecision) else NOT_JUDGED


class QuotaJudge(Judge):
    """Judges each movement of runtime."""

    kinds = (QueueDecision, PoolDecision, Decision)

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.court = Court(run.hz)

    def judge(self, d: QueueDecision | PoolDecision | Decision) -> Iterator[Finding]:
        if not isinstance(d, Decision) or (d.kind == "charge" and d.group in self.court.ledgers):
            yield ("quota", d.kind), words_of(d), self.court.judge(d)


if __name__ == "__main__":
    sys.exit(main(__doc__, QuotaJudge))

# SPDX-License-Identifier: GPL-2.0-only
"""Judges of quotas, balancing and placements, for labs: what each found, and of the first wrong decision a sentence.

The judges are those of tests/model, as in explain.py. Here a verdict gets the decision's number and time, what was
decided, and the numbers in ms.
"""

import functools
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..base.errors import DAMAGE, FileError
from ..base.tree import ROOT
from ..decisions import balancing, decision_kinds, placements, quota_decisions
from ..decisions.fair_decisions import Decision
from .explain import Findings

sys.path.insert(0, str(ROOT / "tests" / "model"))
import judge_averages
import judge_balance
import judge_cpu
import judge_quota
import judging

Verdict = str | None
LEDGER = ("pool", "owed", "runtime", "debt")
COUNTS = ("pool", "owed", "periods", "throttled", "bursts", "burst time")
COUNTED = {"periods", "throttled", "bursts"}  # no times


def _ms(ns: int) -> str:
    """Of a u64 that went below 0, what it should have been."""
    ns -= (ns >> 63 == 1) << 64
    return f"{ns / 1e6:.6f}".rstrip("0").rstrip(".")


def _amounts(match: re.Match[str]) -> str:
    """`pool, owed, runtime and debt should be (1, 2, 3, 4)` with each number at its name."""
    values = [int(text) for text in match[1].split(",")]
    names = LEDGER if len(values) == len(LEDGER) else COUNTS
    return "by the ledger " + ", ".join(f"{name} {value if name in COUNTED else _ms(value) + ' ms'}"
                                        for name, value in zip(names, values, strict=True))


def in_words(verdict: str) -> str:
    """A verdict of the ledger with times in ms."""
    text = re.sub(r"[\w, ]+ should be \(([-\d, ]+)\)", _amounts, verdict)
    text = re.sub(r"\((\d+), (\d+)\) ns are right",
                  lambda m: f"it owes {_ms(int(m[1]))} ms and gets {_ms(int(m[2]))} ms", text)
    return re.sub(r"\b(-?\d+) ns\b", lambda m: f"{_ms(int(m[1]))} ms", text)


# --- quotas -------------------------------------------------------------------------------------------------------


def _of_queue(d: quota_decisions.QueueDecision, verdict: str) -> str:
    what = {"fetch": "fetched", "give_back": "gave back", "pay": "was paid", "settle": "settled",
            "restart": "gave back"}.get(d.kind)
    did = f"{what} {_ms(d.got)} of {_ms(d.asked)} ms" if what else f"was {d.kind}d"
    return (f"the queue of {d.subject} on CPU {d.cpu} {did}, and then had {_ms(d.remaining)} ms, a debt of "
            f"{_ms(d.debt)} and {_ms(d.pool)} in the pool: {in_words(verdict)}")


def _of_pool(d: quota_decisions.PoolDecision, verdict: str) -> str:
    return (f"{d.kind} of the pool of {d.subject} ({d.rule.replace('_', ' ')}, {d.periods} periods), from "
            f"{_ms(d.before)} to {_ms(d.kept)} ms, {d.nr_bursts} bursts of {_ms(d.burst_time)} ms: {in_words(verdict)}")


def _quota(d: Any, verdict: str) -> tuple[str, list[str]]:
    if isinstance(d, quota_decisions.QueueDecision):
        return _of_queue(d, verdict), quota_decisions.table(d)
    if isinstance(d, quota_decisions.PoolDecision):
        return _of_pool(d, verdict), quota_decisions.table(d)
    return (f"the queue of group {d.group} on CPU {d.cpu} was charged {_ms(d.delta)} ms: {in_words(verdict)}"), []


def judge_quotas(path: pathlib.Path, hz: int = 250) -> Findings:
    """Judge each movement of the runtime of groups with quotas in the file @path."""
    court = judge_quota.Court(hz)

    def rows() -> Iterator[Any]:
        for d in decision_kinds.read(path):
            if isinstance(d, quota_decisions.QuotaDecision) or isinstance(d, Decision) and d.kind == "charge" and \
                    d.group in court.ledgers:
                yield d

    return _judge(rows, court.judge, _quota)


# --- balancing ----------------------------------------------------------------------------------------------------


def _balance(d: Any, verdict: str) -> tuple[str, list[str]]:
    busiest = f", busiest part {d.busiest}" if d.busiest >= 0 else ""
    source = f", from CPU {d.source}" if d.source >= 0 else ""
    return (f"the pass for CPU {d.cpu} at {d.level} ({d.idleness.replace('_', ' ')}{busiest}{source}, to move "
            f"{d.imbalance} in {d.amount}): {verdict}"), list(balancing.table(d))


def judge_passes(path: pathlib.Path, _: int = 250) -> Findings:
    """Judge every balancing pass in the file @path."""
    try:
        passes = list(balancing.read(str(path)))
    except (FileError, *DAMAGE, TypeError) as error:
        return Findings(broken=str(error))
    flags = balancing.BalanceFlag.HINDERED | balancing.BalanceFlag.FREE
    judge = judge_balance.Judge({(p.local, p.domain) for p in passes if p.flags & flags})

    def verdict_of(p: Any) -> Verdict:
        """The first step that is wrong. A pass of which no step could be judged is not judged."""
        steps = list(judge.judge(p))
        wrong = [f"{step}: {verdict}" for step, verdict in steps if verdict]
        if wrong:
            return wrong[0]
        return judging.RIGHT if any(verdict == "" for _, verdict in steps) else judging.NOT_JUDGED

    return _judge(lambda: iter(passes), verdict_of, _balance)


# --- placements ---------------------------------------------------------------------------------------------------


def _placement(d: Any, verdict: str) -> tuple[str, list[str]]:
    why = placements.REASONS.get(d.why, hex(d.why))
    return (f"you placed {d.comm}-{d.pid} ({why}; it ran on CPU {d.last}, the waker is on {d.waker}) on CPU "
            f"{d.chosen}, aimed at CPU {d.aimed}: {verdict}"), list(placements.table(d))


def judge_placements(path: pathlib.Path, _: int = 250) -> Findings:
    """Judge every choice of a CPU in the file @path."""
    def verdict_of(p: Any) -> Verdict:
        return judge_cpu.judge(p, len(p.sharing()) == len(p.cpus))

    return _judge(lambda: placements.read(str(path)), verdict_of, _placement)


# --- load averages ------------------------------------------------------------------------------------------------


def _load(d: Any, verdict: str) -> tuple[str, list[str]]:
    return f"when {d.comm}-{d.pid} woke up on CPU {d.chosen}: {verdict}", list(placements.table(d))


def judge_loads(path: pathlib.Path, hz: int = 250, all_told: bool = True) -> Findings:
    """Judge the loads that the wakeups in the file @path tell."""
    court = judge_averages.Court(hz, all_told)

    def rows() -> Iterator[Any]:
        for d in decision_kinds.read(path):
            court.hear(d)
        yield from court.placements

    return _judge(rows, court.verdict, _load)


def judge_wakees(path: pathlib.Path, hz: int = 250) -> Findings:
    """The same of the loads of those who wake up alone: in a machine tasks were there before."""
    return judge_loads(path, hz, all_told=False)


# --- all ------------------------------------------------------------------------------------------------------------


def _judge(rows: Callable[[], Iterator[Any]], verdict_of: Callable[[Any], Verdict],
           tell: Callable[[Any, str], tuple[str, list[str]]]) -> Findings:
    """What the judge @verdict_of says of each of @rows; @tell puts the first wrong one in words."""
    findings = Findings()
    try:
        for number, d in enumerate(rows(), 1):
            findings.count(number, d.time, verdict_of(d), functools.partial(tell, d))
    except (FileError, *DAMAGE, TypeError) as error:
        findings.broken = str(error)
    return findings


JUDGES: dict[str, Callable[[pathlib.Path, int], Findings]] = {
    "averages": judge_loads, "wakees": judge_wakees, "quota": judge_quotas, "balance": judge_passes,
    "placement": judge_placements}

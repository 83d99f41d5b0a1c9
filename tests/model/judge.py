#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge the decisions of a run: was each the right one, by the definition of its policy?

The decisions come from the simulator (`schedsim --decisions FILE`) or from the kernel (`make trace
EVENTS='decision:*'`). Each has the numbers of all that was compared, so nothing of the run is needed but the file and
the tunables that differ from the defaults. The rules are those of docs/oracles.md, in whole numbers of any size;
nothing of sched/ is used.

history.py knows what follows from other records of the file. A decision is right, wrong, or not judged: the record
lacks candidates (a queue of more than 64), or no rule covers the case. Where the policy rounds, what rounding can
do is allowed, with the derivation beside it.

Usage: judge.py FILE... [--set NAME=VALUE]...    status 1: a decision is wrong; 2: not all could be judged
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import cfs
import eevdf
import fdl
import history
from fair_rows import (ABSENT, DELAYED, INITIAL, LEAVES_CLASS, NEW, QUEUED, REQUESTS, ROWS_MAX, SLEEP, WAKEUP, Choice,
                       Queue, Row, Tunables, name, reason, subject_of)
from judging import NOT_JUDGED, RIGHT, Finding, Judge, Run, Verdict, main, words_of

from fairground.decisions.decision_file import DecisionError
from fairground.decisions.fair_decisions import FIELDS, Decision  # how a file is read is all that is shared

Rule = Callable[[Row, Queue, Tunables], Verdict]
Chooser = Callable[[Row, Queue, Tunables], list[Choice]]

# For each policy the rule of a pick, and those of all other kinds of decision.
CFS: tuple[Chooser, dict[str, Rule]] = cfs.choices, {
    "preempt": cfs.judge_preempt, "tick": cfs.judge_tick, "charge": cfs.judge_charge, "place": cfs.judge_place,
    "leave": cfs.judge_leave}
FDL: tuple[Chooser, dict[str, Rule]] = fdl.choices, {
    **CFS[1], "preempt": fdl.judge_preempt, "tick": fdl.judge_tick, "leave": fdl.judge_leave}
EEVDF: tuple[Chooser, dict[str, Rule]] = eevdf.choices, {
    "preempt": eevdf.judge_preempt, "tick": eevdf.judge_tick, "charge": eevdf.judge_charge, "place": eevdf.judge_place,
    "leave": eevdf.judge_leave}
POLICIES = {"cfs": CFS, "bore_cfs": CFS, "eevdf": EEVDF, "bore": EEVDF, "fdl": FDL}
WHY = {**eevdf.WHY, "least_vruntime": "it has the least virtual runtime", "passed_over": "the first one yielded",
       "next_buddy": "it is nominated, and close to the first",
       "last_buddy": "it was preempted, and is close to the first",
       "group_deadline": "its deadline is the earliest",
       "container_turn": "those without a deadline have an earlier one together"}


def judge_pick(d: Row, q: Queue, choices: list[Choice]) -> Verdict:
    picked = q.find(d["pid"], d["subject_group"])
    if not picked:
        return "the entity that was picked is not queued"
    rules = [rule for row, rule in choices if row is picked]
    if rules:
        return reason(d, *(["only_one"] if len(q.rows) == 1 else rules))
    first, rule = choices[0]
    return f"right is {name(first)}: {WHY[rule]}"


def judge_rule(d: Row, q: Queue, t: Tunables) -> Verdict:
    """By the rule for its kind; of the queue, the numbers that the policy computes whatever it decides."""
    choices, rules = POLICIES[d["policy"]]
    if d["kind"] != "pick":
        verdict = rules[d["kind"]](d, q, t)
    elif d["answer"]:
        verdict = judge_pick(d, q, choices(d, q, t))
    else:
        verdict = "nobody was picked, though some are queued" if q.rows else reason(d, "nobody")
    if d["policy"] in REQUESTS and d["kind"] != "charge":
        return verdict or eevdf.judge_numbers(d, q) or verdict
    if d["kind"] in ("pick", "preempt", "leave") and q.subject and q.subject["flags"] & QUEUED:
        return verdict or cfs.judge_slice(d, q, t, q.subject) or verdict
    return verdict


def judge(d: Row, t: Tunables) -> Verdict:
    """Why the decision @d is wrong; "" if it is right; None if no rule covers it."""
    q = Queue(d)
    # The first candidates of a decision may have been overwritten in the kernel's ring, with all that is older.
    if d["policy"] not in POLICIES or len(d["candidates"]) != d["nr_rows"]:
        return NOT_JUDGED
    if d["kind"] != "charge" and not q.complete():
        if 0 < d["nr_rows"] < ROWS_MAX:
            return f"{len(q.rows)} of its candidates are queued, and it says {d['nr_queued']}"
        return NOT_JUDGED
    if not q.subject and (d["answer"] or d["kind"] != "pick"):
        return "its subject is not among the candidates"
    verdict = judge_rule(d, q, t)
    return verdict or judge_call(d) or judge_rest(d) or verdict


# --- what holds under every policy ------------------------------------------------------------------------


def judge_call(d: Row) -> Verdict:
    """Where the call alone tells the reason, it must be that one."""
    flags = d["flags"]
    if d["kind"] == "leave":
        return reason(d, "sleeps" if flags & SLEEP else "departs")
    if d["kind"] == "charge":
        return reason(d, "request_used_up", "eligibility") if d["answer"] else reason(d, "ran")
    if d["kind"] != "place":
        return RIGHT
    if flags & (NEW | LEAVES_CLASS | ABSENT):
        return reason(d, "arrives_absent")
    if flags & INITIAL:
        return reason(d, "arrives_new")
    if not flags & WAKEUP:
        return reason(d, "arrives_moved")
    return reason(d, "arrives_delayed" if flags & DELAYED else "arrives_woken")


def judge_rest(d: Row) -> Verdict:
    """What a decision cannot have, it has not; what it does not change is what it was."""
    timed, kind = d["policy"] in REQUESTS, d["kind"]
    if d["answer"] not in ((0, 1) if kind != "place" else (0,)):
        return f"{d['answer']} is no answer"
    absent = {"delta": kind not in ("charge", "tick"), "container": d["policy"] != "fdl",
              "flags": kind in ("pick", "tick", "charge"), "lag": not timed or kind in ("pick", "preempt", "tick"),
              "deadline": not timed and d["policy"] != "fdl"}
    for what, must in absent.items():
        if must and d[what]:
            return f"its {what} is {d[what]}, of which a {kind} under {d['policy']} has none"
    if bool(d["level"]) != bool(d["group"]):
        return f"the queue of group {d['group']} is at level {d['level']}"
    row = subject_of(d)
    if not row:
        return RIGHT
    return next((f"its {what} was {row[what]} and is {d[what]}, and it does not change here"
                 for what in kept(d, row) if d[what] != row[what]), RIGHT)


def kept(d: Row, row: Row) -> list[str]:
    """The numbers of the subject that the decision does not change."""
    timed, kind = d["policy"] in REQUESTS, d["kind"]
    rescored = d["policy"] == "bore" and d["weight"] != row["weight"]  # with a new weight it has a new place
    same = ["slice"] if timed and kind not in ("place", "charge") else []
    if kind in ("pick", "preempt", "tick"):
        return [*same, "vruntime", "deadline", "weight"]
    if timed and kind == "place" and d["flags"] & (NEW | LEAVES_CLASS | ABSENT):
        same += ["deadline", "slice", "lag"]
    if timed and kind == "leave" and not rescored:
        same += ["vruntime"]
    return same if d["policy"] == "bore" else [*same, "weight"]


# --- files -----------------------------------------------------------------------------------------------


def row_of(d: Decision) -> Row:
    """@d as a line of JSON has it."""
    row = {name: getattr(d, name) for name in ("time", "kind", *FIELDS)}
    return {**row, "candidates": [c._asdict() for c in d.candidates]}


class FairJudge(Judge):
    """Judges what fair policies decided."""

    kinds = (Decision,)
    remembers = False
    changes = True

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        try:
            self.tunables = Tunables(run.cpus, run.hz, **dict(run.options.get("set", ())))
        except ValueError as problem:
            raise DecisionError(str(problem)) from problem
        self.past = history.Past()
        self.weights = history.Weights()

    def judge(self, d: Decision) -> Iterator[Finding]:
        row = row_of(d)
        verdict = judge(row, self.tunables)
        if self.run.lost or d.policy not in POLICIES:
            yield (d.policy, d.kind), words_of(d), verdict
            return
        for (key, words, before), after in self.weights.agree(row):
            yield key, words, before or after or before
        if not verdict:
            verdict = self.past.judge(row) or verdict
        if verdict:
            self.past.forget(row)
        finding = (d.policy, d.kind), words_of(d), verdict
        if history.tells_weight(row) and not verdict:
            self.weights.wait(row, finding)
        else:
            yield finding

    def end(self) -> Iterator[Finding]:
        yield from self.weights.rest()


if __name__ == "__main__":
    sys.exit(main(__doc__, FairJudge))

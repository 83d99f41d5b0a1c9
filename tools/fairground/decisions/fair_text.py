# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of fair policies as text: the answer, the table of candidates, and the conclusion.

The table is the one that `schedsim --explain` prints (sim/report/decision_text.c); a test compares them.
"""

from ..base import policies
from .fair_decisions import Candidate, Decision, Flag, difference, sentence

MS = 1_000_000
ANSWERS = {"pick": ("nobody", "picked"), "preempt": ("waits", "takes over"), "tick": ("goes on", "turn is over"),
           "place": ("placed", "placed"), "leave": ("leaves", "stays queued")}
COLUMNS = {"eligible": "  eligible    deadline", "deadlines": "    deadline", "scores": "  score"}  # by trait
NOT_YET_HERE = "arrives_absent"  # its virtual time is no position in the queue yet


def ms(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // MS}.{abs(ns) % MS:06}"


def answer(d: Decision) -> str:
    """The answer in words."""
    return f"ran {ms(d.delta)}" if d.kind == "charge" else ANSWERS[d.kind][bool(d.answer)]


# --- the table of candidates ------------------------------------------------------------------------------------


def _placed(d: Decision) -> list[Candidate]:
    """The candidates with a position in virtual time: those that are queued, or all if none is."""
    return [c for c in d.candidates if c.has(Flag.QUEUED)] or list(d.candidates)


def leftmost(d: Decision) -> int:
    """The least virtual time of the candidates."""
    rows = _placed(d)
    first = rows[0].vruntime if rows else 0
    return min((c.vruntime for c in rows), key=lambda v: difference(v, first), default=0)


def mean(d: Decision, left: int) -> int:
    """The mean of the virtual times by weight, counted from @left."""
    weights = sum(c.weight for c in _placed(d))
    return sum(difference(c.vruntime, left) * c.weight for c in _placed(d)) // weights if weights else 0


def _row(d: Decision, c: Candidate, left: int, v: int) -> str:
    name = f"group {c.group} {c.comm[:9]}" if c.group else f"{c.comm}-{c.pid:<5}"
    text = f" {'>' if d.is_about(c) else ' '} {name:>15}  {c.weight:6}"
    placed = c in _placed(d)
    at = difference(c.vruntime, left)
    text += f" {ms(at):>11} {ms(v - at):>11}" if placed else f" {'-':>11} {ms(c.lag):>11}"
    if policies.claim(d.policy, "eligible") and placed:
        text += f"  {'yes' if c.has(Flag.ELIGIBLE) else 'no':>8} {ms(difference(c.deadline, left)):>11}"
    elif policies.claim(d.policy, "eligible"):
        text += f"  {'-':>8} {'-':>11}"
    elif policies.claim(d.policy, "deadlines"):
        text += f" {ms(difference(c.deadline, 0)) if c.has(Flag.DUE) else '-':>11}"
    if policies.claim(d.policy, "scores"):
        text += f"  {c.score:5}"
    return text + ("  asleep" if c.has(Flag.ASLEEP) else "")


def table(d: Decision) -> list[str]:
    """The candidates, as lines."""
    left = leftmost(d)
    v = mean(d, left)
    what = "members of the group" if d.group else f"fair tasks{' after the charge' * (d.kind == 'pick')}"
    columns = [text for trait, text in COLUMNS.items() if policies.claim(d.policy, trait)]
    lines = [f"{what}, in ms of virtual time from the leftmost:",
             "".join([f"   {'task':>15}  weight    vruntime         lag", *columns])]
    lines += [_row(d, c, left, v) for c in d.candidates]
    if not d.complete:
        lines.append(f"   {d.nr_rows} were recorded, of which {len(d.candidates)} are in the file")
    elif len(d.candidates) < d.nr_queued and d.kind != "charge":
        lines.append(f"   and {d.nr_queued - len(d.candidates)} more")
    return lines


def conclusion(d: Decision) -> str:
    """The answer and the rule as a sentence, and what became of the subject's numbers."""
    because = f", because {sentence(d.rule) or 'of the rule ' + d.rule}."
    if d.kind == "pick":
        return f"picked: {d.subject}{because}"
    text = f"{d.subject}: {answer(d)}{because}"
    if d.kind == "leave":
        return text + f" Afterwards: lag {ms(d.lag)}."
    if d.kind == "charge" or d.kind == "place" and d.rule != NOT_YET_HERE:
        left = leftmost(d)
        text += f" Afterwards: vruntime {ms(difference(d.vruntime, left))}"
        text += f", deadline {ms(difference(d.deadline, left))}." if policies.claim(d.policy, "eligible") else "."
    return text

# SPDX-License-Identifier: GPL-2.0-only
"""Judge the decisions of a run, and say of the first wrong one what a student can act on.

The judges are those of tests/model: whole numbers, other methods than the scheduler's, nothing shared with it. Here
their verdicts become sentences with the numbers of the decision in ms.
"""

import itertools
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from ..base.errors import DAMAGE, FileError
from ..base.tree import ROOT
from ..decisions.class_decisions import ClassDecision, read as read_class
from ..decisions.decision_text import full
from ..decisions.fair_decisions import KINDS, as_rows, read as read_fair
from ..decisions.fair_text import ms

sys.path.insert(0, str(ROOT / "tests" / "model"))
import cfs
import eevdf
import judge
import judge_class
from fair_rows import ELIGIBLE, SKIP, Queue, Row, Tunables, ahead, name

MS = 1_000_000


@dataclass
class Findings:
    """What the judge found in a run."""

    right: int = 0
    unjudged: int = 0
    wrong: int = 0
    first: str = ""                 # the first wrong decision, as a sentence
    first_ns: int = 0
    table: list[str] = field(default_factory=list)
    last_ns: int = 0
    broken: str = ""                # why the record could not be read to its end

    @property
    def total(self) -> int:
        return self.right + self.unjudged + self.wrong

    def count(self, number: int, time_ns: int, verdict: str | None,
              tell: Callable[[str], tuple[str, list[str]]]) -> None:
        """Count the @verdict about decision @number. Of the first wrong one @tell gives the sentence and the table."""
        self.last_ns = time_ns
        if verdict is None:
            self.unjudged += 1
        elif not verdict:
            self.right += 1
        else:
            self.wrong += 1
            if not self.first:
                sentence, self.table = tell(verdict)
                self.first_ns, self.first = time_ns, f"decision {number} at {time_ns / MS:.3f} ms: {sentence}"


# --- EEVDF and CFS ----------------------------------------------------------------------------------------


def _in_ms(ns: Fraction | int) -> str:
    return ms(round(ns))


def _lag(q: Queue, row: Row) -> Fraction:
    return Fraction(q.sum_ahead(row["vruntime"]), q.weight())


def _left(q: Queue) -> int:
    base = q.rows[0]["vruntime"]
    return min((row["vruntime"] for row in q.rows), key=lambda v: ahead(v, base))


def _eevdf_pick(d: Row, q: Queue, verdict: str) -> str:
    picked, left = q.find(d["pid"], d["subject_group"]), _left(q)
    if not picked:
        return f"you picked {_who(d)}, which is not queued"
    best = eevdf.best(q, eevdf.lasts(q))
    if any(picked is row for row, _ in best):
        return _eligibility(q, verdict)
    v = ahead(picked["vruntime"], left) + _lag(q, picked)
    first, why = best[0][0], eevdf.WHY[best[0][1]]
    expected = name(first)
    if not q.eligible(picked):
        return (f"you picked {name(picked)}: its lag is {_in_ms(_lag(q, picked))} ms, so it is not eligible; "
                f"V = {_in_ms(v)} from the leftmost; expected {expected}: {why}")
    if best[0][1] == "request_lasts":
        return (f"you picked {name(picked)}: {expected} ran, is eligible and has not used up its request, so it "
                "goes on")
    mine, earliest = (ahead(row["deadline"], left) for row in (picked, first))
    if mine == earliest:
        return (f"you picked {name(picked)}: {expected} is eligible and due at the same time, {_in_ms(earliest)} from "
                "the leftmost; of two equal deadlines the one that waits is next")
    return (f"you picked {name(picked)}: it is eligible, but its deadline {_in_ms(mine)} is not the earliest; "
            f"expected {expected}, which is due at {_in_ms(earliest)}: {why}")


def _eligibility(q: Queue, verdict: str) -> str:
    """The pick is right, but a number that the policy reports with it is not."""
    for row in q.rows:
        if q.eligible(row) != bool(row["flags"] & ELIGIBLE):
            not_, says = ("", "not ") if q.eligible(row) else ("not ", "")
            return (f"your code says that {name(row)} is {says}eligible: its lag is {_in_ms(_lag(q, row))} ms, "
                    f"so it is {not_}eligible")
    return verdict


def _cfs_pick(d: Row, q: Queue, t: Tunables) -> str:
    picked, left = q.find(d["pid"], d["subject_group"]), _left(q)
    if not picked:
        return f"you picked {_who(d)}, which is not queued"
    first = next(row for row in q.rows if row["vruntime"] == left)
    right = cfs.choices_from(d, t, q.rows, first)[0][0]
    lead = ahead(picked["vruntime"], left)
    why = ("it has the least" if right is first else
           f"it is nominated, and only {_in_ms(ahead(right['vruntime'], left))} ms greater than the least")
    if first["flags"] & SKIP and right is not first:
        why = f"{name(first)} yielded"
    return (f"you picked {name(picked)}: its virtual runtime is {_in_ms(lead)} ms greater than the least; "
            f"expected {name(right)}: {why}")


def _who(d: Row) -> str:
    return f"group {d['subject_group']}" if d["subject_group"] else f"{d['comm']}-{d['pid']}"


CALLS = {"pick": "pick", "preempt": "preemption", "tick": "tick", "place": "placement", "charge": "charge",
         "leave": "departure"}


def _signed(verdict: str) -> str:
    """Virtual times before 0, which are u64, as people read them."""
    return re.sub(r"\d{19,}", lambda match: str(ahead(int(match[0]), 0)), verdict)


def _sentence(d: Row, verdict: str, t: Tunables) -> str:
    """The wrong decision @d as a sentence."""
    q = Queue(d)
    if d["kind"] == "pick" and q.rows and q.complete():
        if not d["answer"]:
            return f"you picked nobody, though {len(q.rows)} are queued"
        if d["policy"] in ("eevdf", "bore"):
            return _eevdf_pick(d, q, verdict)
        if d["policy"] == "cfs":
            return _cfs_pick(d, q, t)
    what = f"{CALLS.get(d['kind'], d['kind'])} of {_who(d)}"
    if d["kind"] == "preempt":
        what = f"you let {_who(d)} {'preempt' if d['answer'] else 'wait'}"
    elif d["kind"] == "tick":
        what = f"you {'ended the turn of' if d['answer'] else 'let'} {_who(d)}{'' if d['answer'] else ' go on'}"
    return f"{what}: {_signed(verdict)}"


def _table(path: pathlib.Path, number: int) -> list[str]:
    """The candidates of the decision @number of the file, from 1, as `fairground decisions --full` prints them."""
    try:
        return full(next(itertools.islice(read_fair(path), number - 1, None)))[2:-1]
    except (FileError, StopIteration):
        return []


def _lines(path: pathlib.Path) -> Iterator[Row]:
    """What run the file of JSON is of; then its decisions, one by one: the code of a student may break off the run."""
    with path.open(encoding="utf-8") as lines:
        yield json.loads(next(lines, "{}"))
        for line in lines:
            row = json.loads(line)
            if row["kind"] in KINDS:
                yield row


def _rows(path: pathlib.Path, hz: int, findings: Findings) -> Iterator[Row]:
    """What run it is; then its decisions, as far as they are whole."""
    try:
        if path.suffix in (".dat", ".bin"):
            rows = as_rows(path)
            yield {"hz": hz, **next(rows)}
            yield from rows
        else:
            yield from _lines(path)
    except (FileError, *DAMAGE, TypeError) as error:
        findings.broken = str(error)


def judge_fair(path: pathlib.Path, hz: int = 250) -> Findings:
    """Judge every decision of fair policies in the file @path."""
    findings = Findings()
    rows = _rows(path, hz, findings)
    head: Row = next(rows, {})
    if not isinstance(head.get("cpus"), int):
        findings.broken = findings.broken or "it does not begin as a record of decisions does"
        return findings
    tunables = Tunables(head["cpus"], head.get("hz", hz))
    for number, d in enumerate(rows, 1):
        findings.count(number, d["time"], judge.judge(d, tunables), lambda verdict: (
            _sentence(d, verdict, tunables), _table(path, number)))
    return findings


# --- the real-time classes ------------------------------------------------------------------------------------


def _of_class(d: ClassDecision, verdict: str) -> str:
    """The wrong decision @d of FIFO or RR as a sentence."""
    if d.kind == "pick":
        return f"you picked {d.subject} ({d.policy}): " + re.sub(r"^(\d+) is", r"task \1 is", verdict)
    if d.kind == "tick":
        return f"at a tick of {d.subject} ({d.policy}): {verdict}"
    return f"{d.kind} of {d.subject} ({d.policy}): {verdict}"


def judge_real_time(path: pathlib.Path, hz: int = 250) -> Findings:
    """Judge every decision of the real-time classes in the file @path, by POSIX's rules."""
    findings = Findings()
    court = judge_class.Court(hz, 950_000, 1_000_000, 100, prompt=True)
    try:
        for number, d in enumerate(read_class(str(path)), 1):
            findings.count(number, d.time, court.judge(d),
                           lambda verdict: (_of_class(d, verdict), full(d)[2:-1]))
    except (FileError, *DAMAGE, TypeError) as error:
        findings.broken = str(error)
    return findings


JUDGES: dict[str, Callable[[pathlib.Path, int], Findings]] = {"fair": judge_fair, "class": judge_real_time}

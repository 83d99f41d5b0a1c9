# SPDX-License-Identifier: GPL-2.0-only
"""A grade: what each test gave, what was taken off and why; as text, for Gradescope and for GitHub Classroom.

The grade is made here, in the parent: of what a student's process prints, only that a named test passed or failed is
believed, and that only of a scheduler that calls nothing but its host.
"""

import base64
import hashlib
import json
import pathlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..base.progress import Waiting, waiting
from ..base.tree import ROOT
from . import handout, outputs, submission, tiers
from .results import Result
from .spec import TIERS, Lab, LabError
from .workshop import SCX_FUNCTIONS, BuildFailed, Workshop

WARNING_COST = CHANGE_COST = 5


@dataclass(frozen=True)
class Penalty:
    """Points taken off once, and why."""

    name: str
    points: float
    message: str


@dataclass
class Grade:
    """What a submission got in some or all tiers."""

    lab: Lab
    seed: int
    chosen: list[str]
    results: list[Result] = field(default_factory=list)
    penalties: list[Penalty] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: str = ""
    seconds: float = 0

    @property
    def most(self) -> float:
        return sum(self.lab.points(tier) for tier in self.chosen)

    @property
    def score(self) -> float:
        return max(0.0, round(sum(r.points for r in self.results) - sum(p.points for p in self.penalties), 2))

    def points(self, tier: str) -> float:
        return round(sum(r.points for r in self.results if r.tier == tier), 2)

    def sentences(self) -> list[str]:
        """All that was said to the student."""
        said = [self.refused] if self.refused else []
        return said + [p.message for p in self.penalties] + [r.message for r in self.results if not r.passed]


Progress = Callable[[Grade], None]


def _too_much(lab: Lab, workshop: Workshop, built: list[str]) -> str:
    """Why code that was built may not run: it calls what is not its to call. "" if it may."""
    tested = "unit" in built
    around = workshop.system_calls([*tiers.own_objects(lab), *(workshop.apart(lab) if tested else [])])
    if around:
        return f"your code {around}; nothing was run"
    calls = workshop.unexpected_calls(tiers.own_objects(lab), lab.scx != "", tested)
    may = (f"a program for sched_ext may only call itself and what {SCX_FUNCTIONS} declares" if lab.scx else
           "the scheduler may only call itself and what sched/host.h declares")
    if not calls and set(built) - {"simulator"}:
        calls = workshop.new_kernel_calls(lab, tested)
        may = "it may call only what its file calls without it, and " + ", ".join(name + "()" for name in lab.calls)
    if not calls:
        return ""
    return f"your code calls {', '.join(name + '()' for name in calls[:3])}, and {may}; nothing was run"


def _learn(grade: Grade, workshop: Workshop) -> None:
    """Learn what the tree is like without the code. In a hand-out the student may have broken it elsewhere."""
    try:
        workshop.learn_calls(grade.lab)
        if "unit" in grade.chosen:
            workshop.learn_checks(grade.lab)
    except BuildFailed as error:
        if handout.manifest(ROOT):
            raise
        raise LabError(f"the tree that is to grade does not compile: {error}") from error


def _build_and_run(grade: Grade, workshop: Workshop, code: dict[str, str], progress: Progress, now: Waiting) -> None:
    try:
        _learn(grade, workshop)
        workshop.put(grade.lab, code)
        grade.refused = workshop.reaches_around(grade.lab)
    except BuildFailed as error:
        grade.refused = f"it does not compile: {error}"
    if grade.refused:
        return
    workshop.draw_order(grade.seed)
    stages = [[tier for tier in grade.chosen if tier != "kernel"], [tier for tier in grade.chosen if tier == "kernel"]]
    for stage in filter(None, stages):
        if tiers.must_not_boot(grade.lab, grade.results):
            grade.results += tiers.not_booted(grade.lab)
            return
        wanted = stage if "simulator" in stage else ["simulator", *stage]  # its objects show what the code calls
        now.what = f"what {' and '.join(stage)} need is compiled"
        warnings, failed = tiers.build(grade.lab, workshop, wanted)
        if failed:
            grade.refused = f"it does not compile: {failed}"
            return
        grade.refused = _too_much(grade.lab, workshop, stage)
        if grade.refused:
            return
        if warnings and not any(p.name == "warnings" for p in grade.penalties):
            more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
            grade.penalties.append(Penalty("warnings", WARNING_COST, f"the compiler warns: {warnings[0]}{more}"))
        for tier in stage:
            now.what = f"{tier} tests run"
            for nr, result in enumerate(tiers.RUN[tier](grade.lab, workshop, grade.seed), 1):
                now.what = f"{tier} tests run, {nr} done"
                grade.results.append(result)
                progress(grade)


def of_code(lab: Lab, code: dict[str, str], workshop: Workshop, seed: int, chosen: list[str],
            progress: Progress = lambda _: None) -> Grade:
    """The grade of @code, which is all that a submission counts by."""
    grade = Grade(lab, seed, chosen)
    start = time.monotonic()
    try:
        submission.check_code(lab, code)
        with waiting("what the code may call is learnt from the tree without it") as now:
            _build_and_run(grade, workshop, code, progress, now)
    except submission.Refused as error:
        grade.refused = str(error)
    if grade.refused:
        grade.results = []
    grade.seconds = time.monotonic() - start
    return grade


def of_submission(lab: Lab, path: pathlib.Path, workshop: Workshop, seed: int, chosen: list[str],
                  progress: Progress = lambda _: None) -> Grade:
    """The grade of what is handed in at @path."""
    try:
        handed_in = submission.read(lab, path)
    except submission.Refused as error:
        return Grade(lab, seed, chosen, refused=str(error))
    penalties = []
    if handed_in.changed:
        more = f" (and {len(handed_in.changed) - 1} more)" if len(handed_in.changed) > 1 else ""
        penalties = [Penalty("other files", CHANGE_COST, f"you changed what is not yours to change, and no final grade "
                             f"uses it: {handed_in.changed[0]}{more}")]

    def with_both(grade: Grade) -> None:
        grade.notes = list(handed_in.notes)
        grade.penalties = penalties + [p for p in grade.penalties if p not in penalties]

    def told(grade: Grade) -> None:
        with_both(grade)
        progress(grade)

    grade = of_code(lab, handed_in.code, workshop, seed, chosen, told)
    with_both(grade)
    return grade


# --- forms -----------------------------------------------------------------------------------------------------


def _number(points: float) -> str:
    return f"{points:g}"


def text(grade: Grade, details: bool = True) -> str:
    """The grade for a terminal."""
    lines = [f"lab {grade.lab.number}, {grade.lab.title}; seed {grade.seed}", ""]
    if grade.refused:
        lines += [f"  not graded: {grade.refused}", ""]
    for tier in TIERS if not grade.refused else ():
        if tier not in grade.chosen or not grade.lab.points(tier):
            continue
        lines.append(f"  {tier:11} {_number(grade.points(tier)):>4} of {_number(grade.lab.points(tier))}")
        for result in grade.results:
            if result.tier == tier:
                lines += _result_lines(result, details)
    for penalty in grade.penalties:
        lines.append(f"  {penalty.name:11} {_number(-penalty.points):>4}  {penalty.message}")
    lines += [f"  note: {note}" for note in grade.notes]
    return "\n".join([*lines, "", f"score {_number(grade.score)} of {_number(grade.most)}"])


def _result_lines(result: Result, details: bool) -> list[str]:
    mark = "ok  " if result.passed else "FAIL"
    lines = [f"    {mark} {_number(result.points):>3}/{_number(result.most):<3} {result.name}"]
    if not result.passed:
        lines.append(f"         {result.message}")
        if details:
            lines += [f"           {line}" for line in result.detail.splitlines()]
    return lines


def gradescope(grade: Grade) -> dict[str, Any]:
    """The content of Gradescope's results.json."""
    tests: list[dict[str, Any]] = [
        {"number": str(number), "name": f"{r.tier}: {r.name}", "score": r.points, "max_score": r.most,
         "status": "passed" if r.passed else "failed", "output": r.message + (f"\n\n{r.detail}" if r.detail else ""),
         "output_format": "text", "visibility": "visible"}
        for number, r in enumerate(grade.results, 1)]
    tests += [{"name": p.name, "score": -p.points, "status": "failed", "output": p.message, "visibility": "visible"}
              for p in grade.penalties]
    return {"score": grade.score, "execution_time": round(grade.seconds, 1), "output": text(grade, details=False),
            "output_format": "text", "stdout_visibility": "hidden", "tests": tests, **leaderboard(grade),
            "extra_data": {"lab": grade.lab.number, "seed": grade.seed, "refused": grade.refused}}


def digest(grade: Grade) -> str:
    """A short digest of all that a grade says, but for the time that it took."""
    data = {name: value for name, value in gradescope(grade).items() if name != "execution_time"}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def leaderboard(grade: Grade) -> dict[str, Any]:
    """Gradescope's rows of a leaderboard: the score and each measure; nothing if nothing was measured."""
    rows = [{"name": f"{r.measure.name} {r.measure.unit}".strip(), "value": r.measure.value, "order": "asc"}
            for r in grade.results if r.measure]
    return {"leaderboard": [{"name": "score", "value": grade.score}, *rows]} if rows else {}


def classroom(grade: Grade) -> str:
    """The result of a step of GitHub Classroom's autograding: JSON, in base 64."""
    tests = [{"name": f"{r.tier}: {r.name}", "status": "pass" if r.passed else "fail", "score": r.points,
              "message": r.message, "line_no": 0, "filename": "", "test_code": "", "duration": 0}
             for r in grade.results]
    taken = sum(p.points for p in grade.penalties)
    if taken or grade.refused:
        tests.append({"name": "all", "status": "fail", "score": -taken, "line_no": 0, "filename": "", "test_code": "",
                      "message": grade.refused or grade.penalties[0].message, "duration": 0})
    whole = {"version": 1, "status": "pass" if grade.score == grade.most else "fail", "max_score": grade.most,
             "tests": tests}
    return base64.b64encode(json.dumps(whole).encode()).decode()


def write_json(grade: Grade, path: pathlib.Path) -> None:
    """Write results.json."""
    outputs.write(path, json.dumps(gradescope(grade), indent=1) + "\n")

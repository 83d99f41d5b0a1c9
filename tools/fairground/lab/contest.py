# SPDX-License-Identifier: GPL-2.0-only
"""Runs of a policy of the student's own, loaded as a plug-in: is it sound, and how good is it?

Sound is a policy under which a random exploration breaks no invariant and starves nobody. How good it is, is a number
of the simulator's report, beside the number that a policy of the trunk gets in the same run.
"""

import json
import pathlib
import re
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base.errors import DAMAGE
from . import box
from .results import Measure, Result, drawn
from .spec import Lab, LabError, Run
from .workshop import Workshop

EXPLORE_LIMITS = box.Limits(cpu_s=60, wall_s=300, memory_mb=1024)
RUN_LIMITS = box.Limits(cpu_s=6, wall_s=60, memory_mb=1024)
FAILURE = re.compile(r"^[\w-]+, seed \d+, operation \d+: (.+)$", re.MULTILINE)
REPLAY = re.compile(r"^ *build/schedsim .*(?:\n +\S.*)*", re.MULTILINE)
PLACE = re.compile(r"^(?:bug at [\w ]+: )?(\S+:\d+): (.+)$")
BUG = re.compile(r"^schedsim: (.+)$", re.MULTILINE)

Report = dict[str, Any]


def _name(lab: Lab) -> str:
    return pathlib.PurePath(lab.policy).stem


def plugin(lab: Lab) -> str:
    """The shared object of the student's policy, in a workshop's tree."""
    return f"build/plugins/{_name(lab)}.so"


def _words(lab: Lab) -> list[str]:
    return ["--plugin", plugin(lab), "--sched", _name(lab).replace("_", "-")]


def _again(lab: Lab, command: str) -> str:
    """How a student repeats @command of a grading in the hand-out."""
    return f"Again: make plugin SRC={lab.policy} && {command}"


def _said(found: str) -> str:
    """What the simulator found, before the place where it was found."""
    return PLACE.sub(r"\2 (\1)", found.replace("it crashes", "your policy crashes"))[:300]


# --- is it sound? ---------------------------------------------------------------------------------------------


def explore(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """Random operations with every invariant checked after each, or a workload with --check."""
    words = ["build/schedsim", *_words(lab), "--seed", str(seed), *shlex.split(drawn(run.words, seed))]
    ended = box.program(words, workshop.tree, EXPLORE_LIMITS, _view(lab, workshop))
    if not ended.status and not ended.timed_out:
        return Result("simulator", run.title, run.points, run.points, "no invariant was broken")
    replay = REPLAY.search(ended.text)
    again = replay[0] if replay else shlex.join(words)
    found = FAILURE.search(ended.text) or BUG.search(ended.text)
    why = "your policy did not end: a loop that never leaves?" if ended.timed_out else (
        _said(found[1]) if found else f"the simulator was stopped: {ended.how}")
    if "--plugin" not in again:
        again = again.replace("build/schedsim", f"build/schedsim --plugin {plugin(lab)}")
    return Result("simulator", run.title, 0, run.points, why, _again(lab, " ".join(again.split())))


# --- how good is it? ------------------------------------------------------------------------------------------


def _latency(report: Report) -> float:
    """The mean wait after a wakeup, of the kind of sleepers that waits longest, in ms."""
    return max(row["wakeup_ns"]["mean"] for row in report["tasks"] if row["wakeups"] > 10) / 1e6


def _lost(report: Report) -> float:
    """CPU time that was not work, in ms: switches, cold caches, and idling while somebody could have run."""
    return (report["overhead_ns"] + report["waste_ns"]) / 1e6


def _unfairness(report: Report) -> float:
    """By how much the CPU time of the most wronged or favoured tasks differs from the ideal, in %."""
    return max(100 * abs(row["cpu_ns"] - row["ideal_ns"]) / row["ideal_ns"] for row in report["tasks"])


def _energy(report: Report) -> float:
    """Energy for each second of work at full speed."""
    return float(report["energy"]) / max(1, sum(row["cpu_ns"] for row in report["tasks"]))


@dataclass(frozen=True)
class Discipline:
    """What a leaderboard orders by. Less is better."""

    of: Callable[[Report], float]
    unit: str
    what: str


DISCIPLINES = {
    "latency": Discipline(_latency, "ms", "mean wait after a wakeup"),
    "throughput": Discipline(_lost, "ms", "CPU time lost to switches and idling"),
    "fairness": Discipline(_unfairness, "%", "largest distance from an ideal share"),
    "energy": Discipline(_energy, "", "energy for a second of work"),
}


class _Failed(Exception):
    """A run gave no report. One sentence."""


def _view(lab: Lab, workshop: Workshop) -> box.View:
    """The student's policy is a library that the simulator opens."""
    policy = plugin(lab)
    return box.View((policy,), box.libraries(workshop.tree / policy), opens=True, loads=True)


def _report(lab: Lab, workshop: Workshop, words: list[str]) -> Report:
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "report.json"
        ended = box.program(["build/schedsim", *words, "--json", "RECORD"], workshop.tree, RUN_LIMITS,
                            _view(lab, workshop), record=record)
        if ended.timed_out:
            raise _Failed("your policy did not end: a loop that never leaves?")
        if ended.status:
            found = BUG.search(ended.text)
            raise _Failed(f"the simulator was stopped: {found[1][:300] if found else ended.how}")
        try:
            return dict(json.loads(record.read_text(encoding="utf-8"))["results"][0])
        except (*DAMAGE, TypeError) as error:
            raise _Failed(f"the simulator's report cannot be read: {error}") from error


def compete(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """The student's policy beside one of the trunk: all points up to `good` times its number, none from `bad` times."""
    discipline = DISCIPLINES[run.options["discipline"]]
    rival, good, bad = (run.options[name] for name in ("rival", "good", "bad"))
    words = ["--seed", str(seed), *shlex.split(drawn(run.words, seed))]
    again = _again(lab, shlex.join(["build/schedsim", *_words(lab), *words]))
    try:
        par = max(discipline.of(_report(lab, workshop, ["--sched", rival, *words])), run.options.get("least", 0))
    except _Failed as error:
        raise LabError(f"lab {lab.number}, {run.title}: {rival}: {error}") from error
    try:
        value = discipline.of(_report(lab, workshop, [*_words(lab), *words]))
    except _Failed as error:
        return Result("simulator", run.title, 0, run.points, str(error), again)
    part = min(1.0, max(0.0, (bad * par - value) / ((bad - good) * par)))
    measure = Measure(run.options["discipline"], round(value, 4), discipline.unit)
    said = (f"{discipline.what}: {f'{value:.3f} {discipline.unit}'.rstrip()}; {rival} has {par:.3f}, full points up "
            f"to {good * par:.3f}, none from {bad * par:.3f}")
    return Result("simulator", run.title, round(run.points * part, 1), run.points, said, again, measure)

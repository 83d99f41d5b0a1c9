# SPDX-License-Identifier: GPL-2.0-only
"""The three parts of a grade. Each test is a process of its own; what it printed and recorded is judged here."""

import os
import pathlib
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import box, explain, verdicts
from .explain import Findings
from .spec import Lab, LabError, Run, UnitTests
from .workshop import BuildFailed, Workshop

JUDGES = {**explain.JUDGES, **verdicts.JUDGES}
UNIT_LIMITS = box.Limits(cpu_s=4, wall_s=60)
SIMULATOR_LIMITS = box.Limits(cpu_s=5, wall_s=60, memory_mb=4096)
KERNEL_LIMITS = box.Limits(cpu_s=60, wall_s=300, writes_files=True)
KERNEL_SECONDS = "60"
PATIENCE = 3  # tests of one kind that do not end; the others are then not tried

MESSAGE_OF_TEST = re.compile(r"^(?:#|ERROR:) (.+)$", re.MULTILINE)
PLACE = re.compile(r"(tests/unit/[\w.]+:\d+): error: Failure!|^(tests/unit/[\w.]+:\d+)", re.MULTILINE)
ORACLE = re.compile(r"(tests/oracle/\w+\.c:\d+): (.+)", re.DOTALL)
SANITIZER = re.compile(r"(?:ERROR: AddressSanitizer: |runtime error: )([^\n(]+)")
FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in (\w+) ((?:sched|lib|tests)/\S+?:\d+)")
UNEQUAL = re.compile(r"\b(0x[0-9a-f]+|0) != (0x[0-9a-f]+|0)\b")
BUG = re.compile(r"^schedsim: (bug at .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """A test or a run: its points, and what a student is told."""

    tier: str
    name: str
    points: float
    most: float
    message: str = ""
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.points == self.most


# --- unit -----------------------------------------------------------------------------------------------------


def unit_targets(lab: Lab) -> list[str]:
    return [f"build/unit/test_{tests.program}" for tests in lab.unit]


def _in_decimal(match: re.Match[str]) -> str:
    """Two numbers that should be equal, as people read them. Numbers so big are addresses of tasks."""
    pair = [int(text, 16) for text in match.groups()]
    pair = [number - (1 << 64) if number >> 63 else number for number in pair]
    if any(abs(number) >> 44 for number in pair):
        return "another task than the right one"
    return f"{pair[0]}, where {pair[1]} is right"


def _why_failed(text: str, ended: box.Ended) -> str:
    """The reason in the output of a failed test."""
    sanitizer, frame = SANITIZER.search(text), FRAME.search(text)
    if sanitizer:
        return sanitizer[1].strip() + (f" in {frame[1]}(), {frame[2]}" if frame else "")
    lines = [line.strip() for line in MESSAGE_OF_TEST.findall(text)]
    lines = [line for line in lines if not line.startswith(("ok - ", "not ok - ")) and "error: Failure!" not in line]
    told = UNEQUAL.sub(_in_decimal, "; ".join(lines))
    place = PLACE.search(text)
    judged = ORACLE.match(told)
    if judged:  # what stopped the machine says more than where the test's host ended it
        return f"{judged[2][:400]} ({judged[1]})"
    where = f" ({place[1] or place[2]})" if place else ""
    return (told or ended.how)[:400] + where


def _run_test(workshop: Workshop, program: str, test: str) -> tuple[bool, str, bool]:
    """(passed, why not, whether it did not end)"""
    environment = {**os.environ, "UNIT_TEST": test, "CMOCKA_MESSAGE_OUTPUT": "TAP",
                   "ASAN_OPTIONS": "detect_leaks=0:hard_rss_limit_mb=1024"}
    ended = box.run([f"build/unit/test_{program}"], workshop.tree, UNIT_LIMITS, environment)
    if ended.timed_out:
        return False, f"your code did not end within {UNIT_LIMITS.cpu_s} s: a loop that never leaves?", True
    reports = re.findall(r"^(not )?ok \d+ - (\w+)", ended.text, re.MULTILINE)
    if not ended.status and reports == [("", test)]:
        return True, "", False
    if not reports:
        return False, f"the test reported nothing: {_why_failed(ended.text, ended)}", False
    return False, _why_failed(ended.text, ended), False


def _unit_program(workshop: Workshop, tests: UnitTests) -> Iterator[Result]:
    endless = 0
    for test, points in tests.tests.items():
        title = test.replace("_", " ")
        if endless >= PATIENCE:
            yield Result("unit", title, 0, points, "not tried, for too many tests before it did not end")
            continue
        passed, why, hung = _run_test(workshop, tests.program, test)
        endless += hung
        detail = "" if passed else f"Again: UNIT_TEST={test} build/unit/test_{tests.program}"
        yield Result("unit", title, points if passed else 0, points, why, detail)


def unit(lab: Lab, workshop: Workshop, _: int) -> Iterator[Result]:
    for tests in lab.unit:
        yield from _unit_program(workshop, tests)


# --- decisions --------------------------------------------------------------------------------------------------


def _bug(text: str) -> str:
    """What the scheduler said before it stopped the machine."""
    found = BUG.search(text)
    return found[1][:300] if found else ""


def _verdict(tier: str, run: Run, findings: Findings, failed: str, again: str) -> Result:
    """The points of @run: all of them, or none and the first reason."""
    detail = "\n".join([*findings.table, "", f"Again: {again}"]).strip()
    if findings.first:
        after = f" ({findings.wrong} of {findings.total} are wrong)" if findings.wrong > 1 else ""
        return Result(tier, run.title, 0, run.points, findings.first + after, detail)
    if failed:
        return Result(tier, run.title, 0, run.points, failed, detail)
    if findings.broken:
        return Result(tier, run.title, 0, run.points, f"the record of decisions breaks off: {findings.broken}", detail)
    if findings.right < run.enough:
        return Result(tier, run.title, 0, run.points, f"only {findings.right} decisions could be judged, where "
                      f"at least {run.enough} are made", detail)
    return Result(tier, run.title, run.points, run.points, f"{findings.right} decisions, all right")


def _simulate(workshop: Workshop, run: Run, seed: int) -> Result:
    words = shlex.split(run.words.format(seed=seed))
    hz = int(words[words.index("--hz") + 1]) if "--hz" in words else 250
    command = ["build/schedsim", "--seed", str(seed), "--decisions", "RECORD", *words]
    again = shlex.join(["build/schedsim", "--seed", str(seed), "--decisions", "run.json", *words])
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.json"
        ended = box.run(command, workshop.tree, SIMULATOR_LIMITS, dict(os.environ), record)
        findings = JUDGES[run.judge](record, hz)
    failed = ""
    if ended.timed_out:
        failed = (f"your code did not end: nothing was decided after {findings.last_ns / 1e6:.3f} ms, or little later; "
                  "a loop that never leaves?")
    elif ended.status:
        failed = f"the simulator was stopped: {_bug(ended.text) or ended.how}"
    return _verdict("simulator", run, findings, failed, again)


def simulator(lab: Lab, workshop: Workshop, seed: int) -> Iterator[Result]:
    endless = 0
    for run in lab.simulator:
        if endless >= PATIENCE:
            yield Result("simulator", run.title, 0, run.points, "not tried, for too many runs before it did not end")
            continue
        result = _simulate(workshop, run, seed)
        endless += "did not end" in result.message
        yield result


def _boot(workshop: Workshop, run: Run, seed: int) -> Result:
    settings = {"icount": "1", "seed": str(seed), "timeout": KERNEL_SECONDS, "kvm": "0", **run.settings}
    hz = int(settings.get("hz", "250"))
    again = "make trace " + " ".join(f"{name.upper()}={shlex.quote(value)}" for name, value in settings.items()
                                     if name != "kvm") + " EVENTS='decision:*' OUT=run.dat"
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.dat"
        words = workshop.fairground("trace", "--events", "decision:*", "--out", str(record))
        for name, value in settings.items():
            words += [f"--{name}", value]
        ended = box.run(words, workshop.tree, KERNEL_LIMITS, workshop.environment())
        if not record.exists():
            return Result("kernel", run.title, 0, run.points, f"the machine did not run: {_said(ended)}",
                          f"Again: {again}")
        findings = JUDGES[run.judge](record, hz)
    failed = f"the machine was stopped: {_said(ended)}" if ended.status or ended.timed_out else ""
    return _verdict("kernel", run, findings, failed, again)


def _said(ended: box.Ended) -> str:
    """What the runner says of a machine that failed."""
    lines = [line for line in ended.text.splitlines() if line.startswith("fairground: ")]
    return (lines[-1].removeprefix("fairground: ") if lines else ended.how)[:300]


def kernel(lab: Lab, workshop: Workshop, seed: int) -> Iterator[Result]:
    for run in lab.kernel:
        yield _boot(workshop, run, seed)


# --- all ---------------------------------------------------------------------------------------------------------

Tier = Callable[[Lab, Workshop, int], Iterator[Result]]
RUN: dict[str, Tier] = {"unit": unit, "simulator": simulator, "kernel": kernel}


def targets(lab: Lab, tier: str) -> list[str]:
    """What make builds for @tier."""
    try:
        return {"unit": unit_targets(lab), "simulator": ["build/schedsim"], "kernel": ["image"]}[tier]
    except KeyError as error:
        raise LabError(f"no part of a grade is called {tier}") from error


def build(lab: Lab, workshop: Workshop, chosen: list[str]) -> tuple[list[str], str]:
    """Build what the tiers @chosen need. Returns (warnings, why it failed)."""
    wanted = [target for tier in chosen for target in targets(lab, tier)]
    try:
        warnings = workshop.build(wanted)
    except BuildFailed as error:
        return [], str(error)
    return warnings, ""

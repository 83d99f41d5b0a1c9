# SPDX-License-Identifier: GPL-2.0-only
"""A whole class: grade every submission of a directory, several at a time; a table, a leaderboard, and what tools that
compare submissions with each other read.

Each worker is a process with a workshop of its own, so the judges, which are Python, run side by side too.
"""

import collections
import concurrent.futures
import csv
import ctypes
import io
import os
import pathlib
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from ..base.printable import printable
from ..base.webpage import document, table
from . import grade, outputs, regions, submission
from .spec import TIERS, Lab, LabError
from .workshop import Workshop

FINE = "everything is right"
ENDED = ("not graded: the process that graded it was ended from outside, again and again; look at it, then grade it "
         "by itself")
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Row:
    """A student's line: a score and a sentence, whatever was handed in."""

    student: str
    grade: grade.Grade

    @property
    def sentence(self) -> str:
        return next(iter(self.grade.sentences()), FINE)


def submissions(directory: pathlib.Path) -> tuple[dict[str, pathlib.Path], list[str]]:
    """({student: what they handed in}: each directory and archive of @directory, names of what is neither), without
    what begins with a dot. Two that would be of one student have their whole names.
    """
    if not directory.is_dir():
        raise LabError(f"{directory}: it is no directory of submissions")
    short: dict[pathlib.Path, str] = {}
    passed_over = []
    for path in sorted(path for path in directory.iterdir() if not path.name.startswith(".")):
        ending = next((end for end in submission.ARCHIVES if path.name.endswith(end)), "")
        if path.is_dir():
            short[path] = path.name
        elif ending and path.is_file():
            short[path] = path.name.removesuffix(ending)
        else:
            passed_over.append(path.name)
    if not short:
        raise LabError(f"{directory}: there is no submission in it")
    given = collections.Counter(short.values()) + collections.Counter(p.name for p in short if short[p] != p.name)
    return {name if given[name] == 1 else path.name: path for path, name in short.items()}, passed_over


# --- grading --------------------------------------------------------------------------------------------------

_workshop: Workshop | None = None  # of this worker


def _begin(temporary: str, parent: int) -> None:
    """In a worker, which a signal ends at once, as the end of its @parent does: what it and its programs leave behind
    is in @temporary.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    tempfile.tempdir = os.environ["TMPDIR"] = temporary


def _grade(lab: Lab, student: str, path: pathlib.Path, build: pathlib.Path, seed: int, chosen: list[str]) -> Row:
    global _workshop
    _workshop = _workshop or Workshop(build, 1)
    return Row(student, grade.of_submission(lab, path, _workshop, seed, chosen))


def _round(lab: Lab, left: dict[str, pathlib.Path], build: pathlib.Path, seed: int, chosen: list[str],
           jobs: int) -> Iterator[Row]:
    """A row for each submission that is @left, as they are done. BrokenProcessPool if a worker is ended."""
    with tempfile.TemporaryDirectory(prefix="fairground-") as temporary:
        pool = concurrent.futures.ProcessPoolExecutor(jobs, initializer=_begin, initargs=(temporary, os.getpid()))
        try:
            tasks = [pool.submit(_grade, lab, student, path, build, seed, chosen) for student, path in left.items()]
            for task in concurrent.futures.as_completed(tasks):
                if not isinstance(task.exception(), BrokenProcessPool):
                    yield task.result()
            for task in tasks:
                task.result()
        finally:
            pool.shutdown(cancel_futures=True)


def rows(lab: Lab, found: dict[str, pathlib.Path], build: pathlib.Path, seed: int, chosen: list[str],
         jobs: int) -> Iterator[Row]:
    """A row for each submission, as they are done. If a worker is ended from outside, others take up what is left: at
    the second time one alone, and whoever is graded when that is ended, too, gets a row that says so.
    """
    left, ended = dict(found), 0
    while left:
        try:
            for row in _round(lab, left, build, seed, chosen, 1 if ended == 2 else jobs):
                del left[row.student]
                ended = min(ended, 1)
                yield row
        except BrokenProcessPool as error:
            ended += 1
            if ended == 4:
                raise LabError("processes that grade are ended from outside again and again; is there enough memory "
                               f"for --jobs {jobs}?") from error
        if ended == 3:
            student = next(iter(left))
            del left[student]
            yield Row(student, grade.Grade(lab, seed, chosen, refused=ENDED))


# --- forms ----------------------------------------------------------------------------------------------------


def _cell(text: str) -> str:
    """@text so that no spreadsheet takes it for a formula."""
    return "'" * text.startswith(("=", "+", "-", "@", "\t", "\r")) + printable(text)


def write_csv(done: Iterable[Row], path: pathlib.Path) -> None:
    """The table of a class, by student."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "score", "of", *TIERS, "taken off", "first message"])
    for row in sorted(done, key=lambda row: row.student):
        got = row.grade
        taken = sum(penalty.points for penalty in got.penalties)
        writer.writerow([_cell(row.student), f"{got.score:g}", f"{got.most:g}",
                         *(f"{got.points(tier):g}" for tier in TIERS), f"{taken:g}", _cell(row.sentence)])
    outputs.write(path, text.getvalue())


def _measures(done: list[Row]) -> dict[str, dict[str, float]]:
    """{measure: {student: value}}"""
    found: dict[str, dict[str, float]] = {}
    for row in done:
        for result in row.grade.results:
            if result.measure:
                name = f"{result.measure.name} {result.measure.unit}".strip()
                found.setdefault(name, {})[row.student] = result.measure.value
    return found


def _places(values: dict[str, float]) -> dict[str, int]:
    """The place of each student by @values; equal values share one."""
    ordered = sorted(values.values())
    return {student: ordered.index(value) + 1 for student, value in values.items()}


def board(done: Iterable[Row]) -> tuple[list[str], list[list[Any]]]:
    """(heads, rows) of the leaderboard: by score, then by the sum of the places in each measure."""
    ranked = list(done)
    measures = _measures(ranked)
    places = {name: _places(values) for name, values in measures.items()}

    def order(row: Row) -> tuple[float, int, str]:
        return (-row.grade.score, sum(of.get(row.student, len(ranked)) for of in places.values()), row.student)

    lines = []
    for place, row in enumerate(sorted(ranked, key=order), 1):
        cells = [f"{measures[name][row.student]:g} ({places[name][row.student]})" if row.student in measures[name]
                 else "-" for name in measures]
        lines.append([place, row.student, row.grade.score, *cells, row.sentence])
    return ["", "policy", "score", *measures, "first message"], lines


def write_page(lab: Lab, seed: int, done: Iterable[Row], path: pathlib.Path) -> None:
    """The leaderboard as a page of one file."""
    heads, lines = board(done)
    note = ("<p>By score; equal scores by the sum of the places, which stand in parentheses. Of each number less is "
            "better. All ran the same workloads, drawn by the seed.</p>")
    outputs.write(path, document(f"Lab {lab.number}, {lab.title}; seed {seed}", [note, table(heads, lines)]))


# --- comparing students ----------------------------------------------------------------------------------------


def export(lab: Lab, found: dict[str, pathlib.Path], to: pathlib.Path) -> tuple[int, list[str]]:
    """Write what students wrote, and nothing else, as JPlag, MOSS and Dolos read it: submissions/STUDENT/REGION, and
    base/ with what all were given. Returns how many were written, and of the others a sentence each.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise LabError(f"{to}: it exists and is not an empty directory")

    def write(below: pathlib.Path, code: dict[str, str]) -> None:
        below.mkdir(parents=True)
        for hole in lab.holes:
            (below / f"{hole.name}{pathlib.PurePath(hole.file).suffix}").write_text(code[hole.name], encoding="utf-8")

    write(to / "base", regions.stubs(lab))
    left_out = []
    for student, path in found.items():
        try:
            write(to / "submissions" / student, submission.read(lab, path).code)
        except submission.Refused as error:
            shutil.rmtree(to / "submissions" / student, ignore_errors=True)
            left_out.append(f"{student}: {error}")
    return len(found) - len(left_out), left_out

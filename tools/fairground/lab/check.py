# SPDX-License-Identifier: GPL-2.0-only
"""Are the labs themselves right? For each: the hand-out builds without warnings and gets its floor, the reference gets
everything, and each wrong solution gets points in its band and is told what its header says. Printed as TAP.

Every lab's hand-out and reference are tried in unit tests and simulator. Of its wrong solutions, of kernel runs and of
hand-outs that are built a sample is tried, which another seed draws differently. --full tries all.
"""

import concurrent.futures
import filecmp
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass

from ..base.progress import waiting
from ..machine.machine import at_once
from . import citations, grade, handout, regions, submission
from .spec import TIERS, Bands, Lab, LabError, all_labs, attacks, right_solutions, wrong_solutions
from .workshop import Pool

HANDOUT, REFERENCE, ATTACK, RIGHT = "hand-out", "reference", "attack ", "right: "
BUILD_S = 900
ATTACKS = 3     # of each lab that has some, unless all are tried
RIGHT_ONES = 1  # of each lab
WRONG_ONES = 3  # of each lab, unless all are tried; of one that has nothing but kernel runs, 1


@dataclass(frozen=True)
class Case:
    """A submission that must get points in @bands and be told @says."""

    lab: Lab
    name: str
    code: dict[str, str]
    bands: Bands
    says: str
    tiers: tuple[str, ...]


class Tap:
    """Numbered results on standard output."""

    def __init__(self, planned: int) -> None:
        self.count = self.failures = 0
        print(f"1..{planned}", flush=True)

    def result(self, name: str, problems: list[str]) -> None:
        self.count += 1
        self.failures += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}", flush=True)
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "), flush=True)


def _fast(lab: Lab) -> tuple[str, ...]:
    """The parts that are always tried: all but the kernel, if there is another."""
    return tuple(tier for tier in lab.tiers if tier != "kernel") or ("kernel",)


def _cases(lab: Lab, chosen: tuple[str, ...]) -> list[Case]:
    everything = {tier: (int(lab.points(tier)), int(lab.points(tier))) for tier in TIERS}
    cases = [Case(lab, HANDOUT, regions.stubs(lab), lab.floor, lab.floor_says, chosen),
             Case(lab, REFERENCE, regions.read(handout.texts(lab), lab), everything, "", chosen)]
    cases += [Case(lab, RIGHT + name, cases[1].code | code, everything, "", chosen)
              for name, code in right_solutions(lab).items()]
    cases += [Case(lab, ATTACK + attack.name, regions.stubs(lab) | attack.code, attack.bands, attack.says, chosen)
              for attack in attacks() if attack.lab == lab.number]
    return cases + [Case(lab, wrong.name, submission.wrong_code(lab, wrong), wrong.bands, wrong.says, chosen)
                    for wrong in wrong_solutions(lab)]


def _problems(case: Case, got: grade.Grade) -> list[str]:
    """How @got differs from what the lab says of this submission."""
    problems = []
    if got.most and sum(case.lab.points(tier) for tier in TIERS) != 100:
        problems.append("the points of the lab do not add up to 100")
    for tier in case.tiers:
        low, high = case.bands[tier]
        if not low <= got.points(tier) <= high:
            problems.append(f"{tier}: {got.points(tier):g} points, where {low} to {high} are stated")
    said = case.says.split(" | ")
    if case.says and not any(part in sentence for part in said for sentence in got.sentences()):
        problems.append(f"nothing says \"{case.says}\"")
    if (case.name in (HANDOUT, REFERENCE) or case.name.startswith(RIGHT)) and (got.penalties or got.refused):
        problems.append("; ".join(got.sentences()[:2]))
    if problems:
        problems.append(grade.text(got, details=False))
    return problems


def _try(case: Case, pool: Pool, seed: int) -> list[tuple[str, list[str]]]:
    """[(a line about @case, what is wrong)]"""
    with pool.borrow() as workshop:
        got = grade.of_code(case.lab, case.code, workshop, seed, list(case.tiers))
    said = got.sentences()
    line = (f"lab {case.lab.number} {case.name}: {got.score:g} of {got.most:g} in {'+'.join(case.tiers)}, "
            f"{got.seconds:.0f} s" + (f": {said[0]}" if said else ""))
    return [(line.replace("#", ""), _problems(case, got))]


def _lay_out(lab: Lab, tree: pathlib.Path) -> int:
    """Make @tree the hand-out of @lab, whatever hand-out it was; returns how many files that has. What was built there
    stays, and files that do not differ keep their times.
    """
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        fresh = pathlib.Path(directory) / "tree"
        nr = handout.write(lab, fresh)
        for old in [path for path in tree.rglob("*") if path.is_file() and path.relative_to(tree).parts[0] != "build"]:
            new = fresh / old.relative_to(tree)
            if not new.exists():
                old.unlink()
            elif filecmp.cmp(old, new, shallow=False):
                new.unlink()
        for new in [path for path in fresh.rglob("*") if path.is_file()]:
            (tree / new.relative_to(fresh)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new, tree / new.relative_to(fresh))
    return nr


def _whole_handout(lab: Lab, tree: pathlib.Path, full: bool) -> tuple[str, list[str]]:
    """Make @tree the hand-out of @lab and build it as a student does, with warnings as errors. Boot it if @full."""
    start = time.monotonic()
    problems = []
    how = "with what was built of others" if (tree / "build").exists() else "from nothing"
    nr = _lay_out(lab, tree)
    kept = {name: value for name, value in os.environ.items()
            if name not in ("B", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONPATH")}
    jobs = f"-j{len(os.sched_getaffinity(0))}" if full else "-j1"
    with waiting(f"the hand-out of lab {lab.number} is built"):
        done = subprocess.run([os.environ.get("MAKE", "make"), jobs, "sim", *(["image"] if full else [])], cwd=tree,
                              env=kept, capture_output=True, text=True, timeout=BUILD_S, check=False)
    if done.returncode:
        problems.append(f"it does not build: {(done.stderr or done.stdout)[-500:]}")
    elif full:
        done = subprocess.run(["make", "-s", "run", "ICOUNT=1", "SMP=1", "TIMEOUT=120", "CMD=echo it runs"], cwd=tree,
                              env=kept, capture_output=True, text=True, timeout=BUILD_S, check=False)
        if lab.boots not in done.stdout or lab.boots == "it runs" and done.returncode:
            problems.append(f"it does not boot: {(done.stderr or done.stdout)[-500:]}")
    problems += [f"{name} is missing" for name in handout.source_files() if not (tree / name).exists()]
    problems += citations.missing(tree)
    what = "is built and booted" if full else "is built"
    return f"lab {lab.number} hand-out of {nr} files {what} {how}, {time.monotonic() - start:.0f} s", problems


def _whole_handouts(labs: list[Lab], full: bool) -> list[tuple[str, list[str]]]:
    """The hand-outs of @labs, one after another in one tree: what does not differ is built once."""
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        return [_whole_handout(lab, pathlib.Path(directory), full) for lab in labs]


def _sample(labs: list[Lab], cases: list[Case], seed: int) -> list[Case]:
    """Two of @cases for kernel runs: a lab's reference and one of its other submissions."""
    labs = [lab for lab in labs if "kernel" in lab.tiers and "kernel" not in _fast(lab)]
    if not labs:
        return []
    lab = labs[seed % len(labs)]
    others = [case for case in cases if case.lab is lab and case.name != REFERENCE]
    reference = next(case for case in cases if case.lab is lab and case.name == REFERENCE)
    return [Case(case.lab, case.name, case.code, case.bands, "", ("kernel",))
            for case in (reference, random.Random(seed).choice(others))]


def _some(labs: list[Lab], cases: list[Case], seed: int) -> list[Case]:
    """Of @cases each lab's hand-out and reference, and some wrong solutions. Of the labs that have nothing but kernel
    runs one has its turn.
    """
    drawn = random.Random(seed)
    slow = [lab for lab in labs if "kernel" in _fast(lab)]
    labs = [lab for lab in labs if lab not in slow or lab is slow[seed % len(slow)]]
    kept = [case for case in cases if case.lab in labs and case.name in (HANDOUT, REFERENCE)]
    for lab in labs:
        others = [case for case in cases if case.lab is lab and case not in kept]
        hostile = [case for case in others if case.name.startswith(ATTACK)]
        right = [case for case in others if case.name.startswith(RIGHT)]
        wrong = [case for case in others if case not in hostile and case not in right]
        kept += drawn.sample(right, min(RIGHT_ONES, len(right)))
        kept += drawn.sample(hostile, min(ATTACKS, len(hostile)))
        kept += drawn.sample(wrong, min(1 if "kernel" in _fast(lab) else WRONG_ONES, len(wrong)))
    return sorted(kept, key=cases.index)


def run(labs: list[Lab], build: pathlib.Path, seed: int, full: bool, jobs: int, key: str | None) -> int:
    """Try all @labs, in the variant of @key if there is one; returns a status."""
    cases = [case for lab in labs for case in _cases(lab, TIERS if full else _fast(lab))]
    known = len(cases)
    sampled = [] if full else _sample(labs, cases, seed)
    if not full:
        cases = _some(labs, cases, seed)
    built = labs if full else [labs[(seed // len(labs)) % len(labs)]]
    only = "" if len(labs) == len(all_labs()) else "".join(f" --lab {lab.number}" for lab in labs)
    variant = f" --variant {shlex.quote(key)}" if key else ""
    print(f"# seed {seed}: {len(cases)} of {known} submissions to {len(labs)} labs; repeat with: "
          f"PYTHONPATH=tools python3 -m fairground lab check{only}{variant} --seed {seed}{' --full' * full}",
          flush=True)
    tap = Tap(len(cases) + len(sampled) + len(built))
    pool = Pool(build, jobs, 1)
    with at_once(jobs) as threads:
        tasks = [threads.submit(_whole_handouts, built, full)]
        tasks += [threads.submit(_try, case, pool, seed) for case in [*cases, *sampled]]
        for task in concurrent.futures.as_completed(tasks):
            for line, problems in task.result():
                tap.result(line, problems)
    return 1 if tap.failures else 0

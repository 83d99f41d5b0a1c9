# SPDX-License-Identifier: GPL-2.0-only
"""A lab as its lab.toml describes it, and its wrong solutions as wrong.toml does."""

import pathlib
import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from ..base.edit import Edit, read_rows
from ..base.option_values import as_number, shortened
from ..base.settings import UsageError
from ..base.tree import ROOT

TIERS = ("unit", "simulator", "kernel")
BAND = re.compile(r"(\w+) (\d+)(?:\.\.(\d+))?$")
WRONG = {"mistake": str, "score": str, "says": str}

Bands = dict[str, tuple[int, int]]  # tier -> least and most points


class LabError(Exception):
    """A lab, a hand-out or a command is not as it should be. One sentence for the user."""


@dataclass(frozen=True)
class Hole:
    """A function of the trunk that students write: the one below the comment `Lab NUMBER, NAME: ...`."""

    name: str
    file: str
    stub: str            # what the hand-out has in its place
    whole: bool = False  # all of the file is the student's; the trunk has the reference there


@dataclass(frozen=True)
class UnitTests:
    """Tests of one cmocka program, each with its points. If what a student wrote runs in a process of its own
    (tests/unit/step.h), @apart is the file of the program that includes it; otherwise "".
    """

    program: str
    tests: dict[str, float]
    apart: str


@dataclass(frozen=True)
class Run:
    """A run of the simulator or the kernel whose every decision is judged."""

    title: str
    points: float
    words: str          # of schedsim; {seed} is the seed of the grading, {2-5} a number drawn by it
    settings: dict[str, str]  # of the kernel
    judge: str          # of decisions, a key of tiers.JUDGES; or the kind of run, a key of tiers.SIMULATED or BOOTED
    enough: int         # decisions that a run of this kind has at least
    options: dict[str, Any] = field(default_factory=dict)  # what else a kind of run asks for


@dataclass(frozen=True)
class Lab:
    """A lab: what is cut out, and how it is graded."""

    directory: pathlib.Path
    number: int
    title: str
    holes: tuple[Hole, ...]
    unit: tuple[UnitTests, ...]
    simulator: tuple[Run, ...]
    kernel: tuple[Run, ...]
    floor: Bands
    floor_says: str
    boots: str = "it runs"        # what a machine of the hand-out says when it is told to `echo it runs`
    refused: tuple[str, ...] = ()  # names that a region may not use, though a header of its file has them
    calls: tuple[str, ...] = ()   # what a region of the kernel may call beside what its file calls anyway
    pointers: int = 0  # how often the regions may call through one, in all

    @property
    def kernel_files(self) -> tuple[str, ...]:
        """Those of the kernel, which the simulator does not have."""
        return tuple(name for name in self.files if name.startswith(("kernel/", "arch/")))

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the source that have holes, each once."""
        return tuple(dict.fromkeys(hole.file for hole in self.holes))

    @property
    def policy(self) -> str:
        """The file that is a policy of the student's own, or ""."""
        return next((hole.file for hole in self.holes if hole.whole and hole.file.endswith(".c")), "")

    @property
    def scx(self) -> str:
        """The file that is a scheduler for sched_ext, or ""."""
        return next((name for name in self.files if name.endswith(".bpf.c")), "")

    @property
    def tiers(self) -> tuple[str, ...]:
        """The parts of a grade that give points."""
        return tuple(tier for tier in TIERS if self.points(tier))

    @property
    def replayed(self) -> bool:
        """Are there runs of the simulator whose decisions are judged, which the grader repeats with the reference?"""
        return any(run.judge not in ("explore", "compete", "read", "dispatch") for run in self.simulator)

    def points(self, tier: str) -> float:
        if tier == "unit":
            return sum(sum(tests.tests.values()) for tests in self.unit)
        return sum(run.points for run in (self.simulator if tier == "simulator" else self.kernel))


@dataclass(frozen=True)
class Wrong:
    """A wrong solution: how it differs from the reference, the points it must get, and what must be said of it."""

    name: str
    where: str
    edits: tuple[Edit, ...]
    mistake: str
    bands: Bands
    says: str


def _bands(text: str, where: str) -> Bands:
    """The bands of `unit 10..20, simulator 0, kernel 0..20`."""
    bands = {}
    for part in text.split(","):
        match = BAND.match(part.strip())
        if not match or match[1] not in TIERS:
            raise LabError(f"{where}: \"{part.strip()}\" is no score such as \"unit 10..20\"")
        bands[match[1]] = int(match[2]), int(match[3] or match[2])
    if set(bands) != set(TIERS):
        raise LabError(f"{where}: a score has a part for each of {', '.join(TIERS)}")
    return bands


def _run(row: dict[str, Any]) -> Run:
    known = {"title", "points", "run", "settings", "judge", "enough"}
    return Run(row["title"], row["points"], row.get("run", ""),
               {name: str(value) for name, value in row.get("settings", {}).items()},
               row.get("judge", "fair"), row.get("enough", 20),
               {name: value for name, value in row.items() if name not in known})


def load(directory: pathlib.Path) -> Lab:
    """The lab in @directory."""
    path = directory / "lab.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return Lab(
            directory=directory,
            number=int(directory.name[:2]),
            title=data["title"],
            holes=tuple(Hole(row["name"], row["file"], row["stub"], row.get("whole", False)) for row in data["hole"]),
            unit=tuple(UnitTests(row["program"], row["tests"], row.get("apart", "")) for row in data.get("unit", [])),
            simulator=tuple(map(_run, data.get("simulator", []))),
            kernel=tuple(map(_run, data.get("kernel", []))),
            floor=_bands(data["handout"]["score"], str(path)),
            floor_says=data["handout"]["says"],
            boots=data["handout"].get("boots", "it runs"),
            calls=tuple(data.get("calls", ())),
            refused=tuple(data.get("refused", ())),
            pointers=int(data.get("pointers", 0)),
        )
    except KeyError as error:
        raise LabError(f"{path}: there is no {error.args[0]}") from error
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: {error}") from error


def wrong_solutions(lab: Lab) -> list[Wrong]:
    """The wrong solutions of @lab, by name. A hand-out has none."""
    path = lab.directory / "wrong.toml"
    try:
        rows = read_rows(path, WRONG) if path.exists() else []
    except UsageError as error:
        raise LabError(str(error)) from error
    return [Wrong(row.name, row.where, row.edits, row.fields["mistake"], _bands(row.fields["score"], row.where),
                  row.fields["says"]) for row in sorted(rows, key=lambda row: row.name)]


def wrong_solution(lab: Lab, name: str) -> Wrong:
    """The wrong solution of @lab that the user calls @name."""
    found = {wrong.name: wrong for wrong in wrong_solutions(lab)}
    if name not in found:
        raise LabError(f"lab {lab.number} has no wrong solution {shortened(name)}; there are {', '.join(found)}")
    return found[name]


def all_labs(root: pathlib.Path = ROOT) -> list[Lab]:
    return [load(path.parent) for path in sorted(root.glob("labs/[0-9][0-9]-*/lab.toml"))]


def find(number: str, root: pathlib.Path = ROOT) -> Lab:
    """The lab with this number, as the user wrote it."""
    labs = all_labs(root)
    for lab in labs:
        if as_number(number, 0, 99) == lab.number:
            return lab
    known = ", ".join(str(lab.number) for lab in labs) or "none"
    raise LabError(f"no lab has the number {shortened(number) or '(none given)'}; there are {known}")


def right_solutions(lab: Lab) -> dict[str, dict[str, str]]:
    """{name: regions in which it differs from the reference} of the solutions of @lab in other styles."""
    path = lab.directory / "right.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: row["code"] for name, row in rows.items()}


@dataclass(frozen=True)
class Attack:
    """What a hostile student may hand in: the hand-out's stubs, but for @code; its points and what is said, as of a
    wrong solution.
    """

    name: str
    where: str
    lab: int
    code: dict[str, str]
    bands: Bands
    says: str


def _attack(path: pathlib.Path, name: str, row: dict[str, Any]) -> Attack:
    where = f"{path}: {name}"
    try:
        return Attack(name, where, row["lab"], row["code"], _bands(row["score"], where), row["says"])
    except KeyError as error:
        raise LabError(f"{where}: there is no {error.args[0]}") from error


def attacks(root: pathlib.Path = ROOT) -> list[Attack]:
    """All attacks of labs/attacks. A hand-out has none."""
    return [_attack(path, name, row) for path in sorted(root.glob("labs/attacks/*.toml"))
            for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items()]

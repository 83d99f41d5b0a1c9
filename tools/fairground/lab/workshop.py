# SPDX-License-Identifier: GPL-2.0-only
"""A copy of the tree in which submissions are built one after another: what does not change is built once."""

import contextlib
import fcntl
import filecmp
import itertools
import json
import os
import pathlib
import queue
import random
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from typing import TextIO

from ..base.tree import ROOT
from . import box, handout, objects, outputs, ready, regions, replay
from .spec import Lab, LabError, all_labs

MESSAGE = re.compile(r"^(\S+?):(\d+):\d+: (error|warning|fatal error): (.*?)(?: \[-W\S+\])?$", re.MULTILINE)
DECLARED = re.compile(r"^[\w ]+?\**\b(\w+)\(", re.MULTILINE)
LINK = re.compile(r"undefined reference to `(\w+)'")
OUT_OF_TIME = re.compile(r"^\S+: .*CPU time limit exceeded", re.MULTILINE)
OUT_OF_MEMORY = re.compile(r"^(?:virtual memory exhausted|\S+: out of memory allocating|"
                           r"\S+: fatal error: Killed signal)", re.MULTILINE)
OUT_OF_SPACE = re.compile(r"^\S+: .*File size limit exceeded", re.MULTILINE)
BROKEN_DOWN = re.compile(r"^\S+: internal compiler error", re.MULTILINE)
NOT_MADE = re.compile(r"\*\*\* \[(?:\S+: )?build/(\S+)\.\w+\]")
BUILD_LIMITS = box.Limits(cpu_s=40, wall_s=600, memory_mb=4096, writes_files=True)  # time and memory of each process
LAYOUT, CODE = "linker.ld", "*(.text .text.*)"  # where the kernel's code is
CODE_OF_KERNEL = ("arch/", "kernel/", "lib/", "sched/")
SCX_FUNCTIONS = "sim/scx/include/scx/functions.h"
SCX_FUNCTION = re.compile(r"^[a-z].*[ *]((?:scx|bpf)_\w+)\(", re.MULTILINE)
SANITIZERS_CALL = ("__asan_", "__ubsan_", "__sanitizer_")  # in an object of the unit tests
SCX_COMPILER_CALLS = {"__sanitizer_cov_trace_pc"}  # in each block of the object for the kernel
LOOK = "WARN=-w -fno-inline -fno-jump-tables"
KEPT = ("inc", "policies", "sim", "schedsim", ".commit", ".flags", "kernel", "user", "fairground.elf",
        "initramfs.cpio", "vdso.so", "vdso.so.d", "vdso.so.debug")
KEPT_UNIT = ("sched", "lib", "kernel")


class BuildFailed(Exception):
    """The submission does not compile. One sentence for the student."""


def _lines(text: str) -> list[str]:
    return [f"{file}:{line}: {what}" for file, line, _, what in MESSAGE.findall(text)]


def _free_place(below: pathlib.Path) -> tuple[pathlib.Path, TextIO]:
    """A directory that no other process works in, and the lock that says so while it is open."""
    for number in itertools.count():
        try:
            below.mkdir(parents=True, exist_ok=True)
            lock = open(below / f"lock-{number}", "w", encoding="utf-8")
        except OSError as error:
            raise LabError(f"{error.filename}: cannot be written: {error.strerror}; "
                           "B=DIR names another build directory") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return below / f"tree-{number}", lock
        except BlockingIOError:
            lock.close()
    raise AssertionError


def unit_program(name: str) -> str:
    """The file of a program of unit tests."""
    return f"build/unit/test_{name}"


def of_reference(program: str, lab: Lab) -> str:
    """Where @program with the reference of @lab is kept."""
    return f"{program}-{lab.number}"


class Workshop:
    """A tree below the build directory. One submission is in it at a time."""

    def __init__(self, build: pathlib.Path, jobs: int) -> None:
        self._build = build.resolve()
        self.tree, self._lock = _free_place(self._build / "labs")
        self.jobs = jobs
        self.records = ""  # where simulated runs keep their records of decisions, {}: the run's title; "": nowhere
        self.references: dict[int, str] = {}  # by lab: the simulator with its reference
        self.outlines: dict[tuple[int, str], replay.Outline] = {}  # of the reference's runs: of seed and title
        self.key = str(secrets.randbits(63))  # of the records of unit tests
        self.checks: dict[str, list[str]] = {}  # of each reference's program and test: the record
        self._kept: set[pathlib.Path] = set()  # programs of references
        self._mark = self.tree.with_name(f"{self.tree.name}.unfinished")
        self._drop_halves()
        self._ready = False
        self._known_calls: dict[int, set[str]] = {}  # of each lab's files in the kernel, without a student's code
        self._may_look: dict[int, objects.Look] = {}  # of each lab's files, how they may look

    # --- the tree ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _unfinished(self) -> Iterator[None]:
        """Within, files are built or copied. Whoever is killed meanwhile leaves a mark."""
        self._mark.touch()
        yield
        self._mark.unlink()

    def _drop_halves(self) -> None:
        """Remove what is as new as the mark of a process that was killed: it may be half of a file, and make would take
        it for a whole one.
        """
        if self._mark.exists():
            since = self._mark.stat().st_mtime_ns
            for path in (self.tree / "build").rglob("*"):
                if path.is_file() and path.stat().st_mtime_ns >= since:
                    path.unlink()
            self._mark.unlink()

    def _seed_objects(self) -> None:
        """Take over what a hand-out brings, then what the build directory has, with its times."""
        ours = self.tree / "build"
        ready.unpack(ROOT, ours)
        for name in KEPT:
            source = self._build / name
            if source.is_dir():
                shutil.copytree(source, ours / name, symlinks=True, dirs_exist_ok=True)
            elif source.exists():
                ours.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, ours / name)
        for name in KEPT_UNIT:
            source = self._build / "unit" / name
            if source.is_dir():
                shutil.copytree(source, ours / "unit" / name, dirs_exist_ok=True)
        for path in (self._build / "unit" / "tests" / "unit").glob("*.[od]"):
            (ours / "unit/tests/unit").mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, ours / "unit/tests/unit" / path.name)

    def prepare(self) -> None:
        """Make the tree equal to the trunk. Files that do not differ keep their times."""
        if self._ready:
            return
        fresh = not self.tree.exists()
        wanted = handout.source_files()
        for name in wanted:
            copy = self.tree / name
            if not copy.exists() or not filecmp.cmp(ROOT / name, copy, shallow=False):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy) if fresh else shutil.copy(ROOT / name, copy)
        if fresh:
            with self._unfinished():
                self._seed_objects()
        for top in ("sched", "lib", "sim", "kernel", "tests"):
            for path in (self.tree / top).rglob("*"):
                if path.is_file() and str(path.relative_to(self.tree)) not in set(wanted):
                    path.unlink()
        self._ready = True

    def put(self, lab: Lab, code: dict[str, str]) -> None:
        """Make the tree the trunk with @code in the regions of @lab, and nothing else."""
        self.prepare()
        texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in self._touched() - set(lab.files)}
        texts.update(regions.put(handout.texts(lab), lab, code))
        for name, text in texts.items():
            self._write(self.tree / name, text)

    def draw_order(self, seed: int) -> None:
        """Have the kernel's code in an order that @seed draws, object by object: who knows where one function is knows
        no other. Data stay where they are, and with them the order of tests.
        """
        objects_of = sorted(name for name in handout.source_files()
                            if name.startswith(CODE_OF_KERNEL) and name.endswith((".c", ".S")))
        random.Random(f"order {seed}").shuffle(objects_of)
        text = (ROOT / LAYOUT).read_text(encoding="utf-8")
        if text.count(CODE) != 1:
            raise LabError(f"{LAYOUT} has no line {CODE}")
        drawn = "\n\t\t".join([*(f"*kernel/{name}.o{CODE[1:]}" for name in objects_of), CODE])
        self._write(self.tree / LAYOUT, text.replace(CODE, drawn))

    @staticmethod
    def _write(path: pathlib.Path, text: str) -> None:
        """Write the file @path, which keeps its time if it has that text."""
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def _touched(self) -> set[str]:
        """The files in which any submission may have left something."""
        return {name for lab in all_labs() for name in lab.files}

    def keep(self, record: pathlib.Path, title: str) -> None:
        """Keep the @record of a run, if that was asked for. Of one that was stopped it gets the end that is missing."""
        if self.records:
            kept = pathlib.Path(self.records.format(title.replace(",", "").replace(" ", "-")))
            lines = record.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]  # whole ones
            if lines and not lines[-1].startswith('{"kind": "end"'):
                lines.append(json.dumps({"kind": "end", "decisions": len(lines) - 1}))
            outputs.write(kept, "\n".join([*lines, ""]))

    # --- building ---------------------------------------------------------------------------------------

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items()
                if name not in ("B", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        return {**kept, "FAIRGROUND_COMMIT": "lab", "PYTHONPATH": str(self.tree / "tools")}

    def _make(self, targets: list[str], *words: str) -> box.Ended:
        make = os.environ.get("MAKE", "make")
        with self._unfinished():
            return box.tool([make, "--no-print-directory", "-k", f"-j{self.jobs}", "B=build", *words, *targets],
                            self.tree, BUILD_LIMITS, self.environment())

    def _lenient(self) -> str:
        """The makefile's warnings, none of which is an error."""
        text = (self.tree / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
        found = re.search(r"^WARN := (.*)$", text, re.MULTILINE)
        if not found:
            raise LabError("the Makefile has no line WARN := ...")
        return " ".join(word for word in found[1].split() if word != "-Werror")

    def build(self, targets: list[str]) -> list[str]:
        """Build @targets. Returns warnings as file:line: text. Raises BuildFailed."""
        done = self._make(targets, "SCX_WARN=-Werror")
        if not done.status:
            return []
        if stopped := self._stopped(done):
            raise BuildFailed(stopped)
        warnings = _lines(self._text(done))
        again = self._make(targets, f"WARN={self._lenient()}")
        if not again.status:
            return list(dict.fromkeys(warnings)) or ["a warning that has no place"]
        raise BuildFailed(self._stopped(again) or _reason(self._text(again)))

    def _text(self, ended: box.Ended) -> str:
        """The output of make, in which files have the names that the student knows."""
        return ended.text.replace(f"{self.tree}/", "")

    def _stopped(self, ended: box.Ended) -> str:
        """Why a compiler came to no end of its own, of which another try would be as long; "" if all did."""
        if ended.timed_out:
            return f"the compiler did not end: it took more than {BUILD_LIMITS.wall_s} s"
        for pattern, sentence in (
                (OUT_OF_TIME, f"the compiler did not end: {{}} took more than {BUILD_LIMITS.cpu_s} s"),
                (OUT_OF_MEMORY, "the compiler needs too much memory for {}"),
                (OUT_OF_SPACE, f"the compiler makes more than {box.FILE_LIMIT >> 20} MiB of {{}}"),
                (BROKEN_DOWN, "the compiler breaks down at {} (internal compiler error): is something in it nested "
                              "very deeply?")):
            if found := pattern.search(ended.text):
                return sentence.format(self._source(NOT_MADE.search(ended.text, found.end())))
        return ""

    def _source(self, not_made: re.Match[str] | None) -> str:
        """The file of which make did not make an object, as far as that is known."""
        if not not_made:
            return "a file"
        path = not_made[1].removeprefix("look/").partition("/")[2]  # below build/sim, build/kernel, ... as in the tree
        return next((path + end for end in ("", ".c") if (self.tree / (path + end)).is_file()), not_made[1])

    def _scheduler(self, more: list[str]) -> list[pathlib.Path]:
        """The simulator's objects of the scheduler, and the objects @more."""
        return [*(self.tree / "build/sim/sched").rglob("*.o"), *(self.tree / "build/sim/lib").rglob("*.o"),
                *(self.tree / name for name in more)]

    def apart(self, lab: Lab) -> list[str]:
        """The objects of unit tests that run in a process of their own what a student wrote."""
        return [f"build/unit/{tests.apart}.o" for tests in lab.unit if tests.apart]

    def system_calls(self, more: list[str]) -> str:
        """What in the machine code of the scheduler and of the objects @more reaches around what it calls; "" if
        nothing does.
        """
        return objects.around(self._scheduler(more))

    def _tested(self) -> set[str]:
        """What the scheduler's objects in the unit tests use, which are compiled for them, beside themselves."""
        below = self.tree / "build/unit"
        used = objects.undefined([*(below / "sched").rglob("*.o"), *(below / "lib").rglob("*.o")])
        return {name for name in used if not name.startswith(SANITIZERS_CALL)}

    def unexpected_calls(self, more: list[str], scx: bool, tested: bool) -> list[str]:
        """What the scheduler, with the objects @more, calls beside itself and its host: exit(), printf() and the like;
        also where it is compiled to be @tested. If they are a program for @scx, what they call beside themselves and
        what such a program is offered.
        """
        if scx:
            offered = set(SCX_FUNCTION.findall((ROOT / SCX_FUNCTIONS).read_text(encoding="utf-8")))
            used = objects.undefined([self.tree / name for name in more])
            return sorted(used - offered - objects.COMPILER_CALLS - SCX_COMPILER_CALLS)
        allowed = set(objects.COMPILER_CALLS)
        for header in ("sched/host.h", "lib/string.h"):  # in the simulator, libc has what is in lib/string.c
            allowed |= set(DECLARED.findall((ROOT / header).read_text(encoding="utf-8")))
        used = objects.undefined(self._scheduler(more)) | (self._tested() if tested else set())
        return sorted(used - allowed)

    def kernel_objects(self, lab: Lab) -> list[str]:
        """The kernel's objects that have regions of @lab; what make is to build for them."""
        return [f"build/kernel/{name}.o" for name in lab.kernel_files]

    def learn_calls(self, lab: Lab) -> None:
        """Note what the kernel's files with regions call when a stub is in each region, and every name they mention
        elsewhere, for a stub may make a call needless; and how files with stubs look. Keep the simulator with the
        reference. Changes the tree.
        """
        if lab.number in self._may_look:
            return
        if lab.replayed and not handout.manifest(ROOT):  # a hand-out has no reference
            self.put(lab, regions.read(handout.texts(lab), lab))
            self.build(["build/schedsim"])
            self.references[lab.number] = of_reference("build/schedsim", lab)
            shutil.copy2(self.tree / "build/schedsim", self.tree / self.references[lab.number])
        self.put(lab, regions.stubs(lab))
        self._may_look[lab.number] = self._look(lab)
        if lab.kernel_files:
            self.build(self.kernel_objects(lab))
            outside = regions.outside(handout.texts(lab), lab)
            calls = objects.undefined([self.tree / name for name in self.kernel_objects(lab)])
            self._known_calls[lab.number] = calls.union(
                *(re.findall(r"\w+", outside[name]) for name in lab.kernel_files))

    def learn_checks(self, lab: Lab) -> None:
        """Keep the unit tests of @lab with the reference, whose checks tell how many there are. Changes the tree."""
        programs = [unit_program(tests.program) for tests in lab.unit]
        if handout.manifest(ROOT) or all((self.tree / of_reference(name, lab)) in self._kept for name in programs):
            return  # a hand-out has no reference
        self.put(lab, regions.read(handout.texts(lab), lab))
        self.build(programs)
        for name in programs:
            shutil.copy2(self.tree / name, self.tree / of_reference(name, lab))
            self._kept.add(self.tree / of_reference(name, lab))

    def new_kernel_calls(self, lab: Lab, tested: bool) -> list[str]:
        """What the built files of the kernel call beside that and what the lab allows; also as they are @tested."""
        if not lab.kernel_files:
            return []
        names = [*self.kernel_objects(lab), *(self.apart(lab) if tested else [])]
        used = objects.undefined([self.tree / name for name in names])
        return sorted(used - self._known_calls[lab.number] - set(lab.calls) - objects.COMPILER_CALLS)

    def _look(self, lab: Lab) -> objects.Look:
        """How the files of @lab look. They are compiled for that: no function is within another, and a `switch` jumps
        by name. BuildFailed if they cannot be.
        """
        names = [f"build/look/kernel/{name}.o" for name in lab.files if name.endswith(".c") and name != lab.scx]
        more = [f"POLICIES={lab.policy}"] if lab.policy else []
        for name in names:
            (self.tree / name).unlink(missing_ok=True)
        targets = list(names)
        if lab.scx:
            program = pathlib.PurePath(lab.scx).name.removesuffix(".bpf.c")
            targets, names = ["scx-programs"], [f"build/look/scx/{program}.o"]
            more = [f"SRC={lab.scx}", f"SCX_WARN={LOOK.partition('=')[2]}"]
        if not names:
            return objects.Look()
        done = self._make(targets, "B=build/look", LOOK, *more)
        if done.status:  # what cannot be looked at is not run either
            raise BuildFailed(self._stopped(done) or _reason(self._text(done)))
        return objects.look([self.tree / name for name in names])

    def reaches_around(self, lab: Lab) -> str:
        """A sentence on what the code does that neither reference nor stub does; "" if there is nothing."""
        return self._look(lab).beyond(self._may_look[lab.number], lab.pointers)

    def fairground(self, *words: str) -> list[str]:
        """The words of a command of this tree's machine, run by the trunk's tools."""
        return [sys.executable, "-m", "fairground", "--build", str(self.tree / "build"), *words]


def _reason(text: str) -> str:
    """The first error of a compiler or linker."""
    for file, line, severity, what in MESSAGE.findall(text):
        if severity != "warning":
            return f"{file}:{line}: {what}"
    missing = LINK.findall(text)
    if missing:
        return f"there is no function {missing[0]}()"
    lines = [line for line in text.splitlines() if "rror" in line] or text.splitlines() or ["make failed"]
    return lines[0][:300]


class Pool:
    """Some workshops, lent to one thread each."""

    def __init__(self, build: pathlib.Path, number: int, jobs: int) -> None:
        self._free: queue.Queue[Workshop] = queue.Queue()
        for _ in range(number):
            self._free.put(Workshop(build, jobs))

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Workshop]:
        workshop = self._free.get()
        try:
            yield workshop
        finally:
            self._free.put(workshop)

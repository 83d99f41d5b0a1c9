#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plant bugs and require that the tests notice them.

Each row of tests/mutants/*.toml is one wrong change of the source (fairground/base/edit.py), and says beside it:

    breaks = what no longer holds, in one sentence
    noticed-by = Q7 a_name_of_a_test         (invariants and tests; the failure must name one of them)
    run = unit NAME | prop | replay POLICY OPERATIONS | scenario POLICY CARD [kernel]
          | judge JUDGE SIMULATION | kernel PATTERN [CPUS] | guest [CPUS] COMMAND
          | debug [CPUS] COMMAND         (in a kernel of DEBUG=1)
          | hosted OBJECT | tsan OBJECT
          | pytest FILE [OPTIONS]        (for bugs of the tools, and of what only tests of tests/e2e notice)

The source is copied to BUILD/mutants/base, the first time together with its objects, and built there. Without a bug it
must pass everything that the mutants run. Each mutant then gets a copy of that tree with its change, and make compiles
the rest. A mutant is `ok` if its run fails for the reason named. A mutant fails if it survives, if the text that it
changes is not there once, or if its tree does not compile; its copy then stays in BUILD/mutants for a look.

Rows of tests/mutants/replanted/faults.toml name bugs that were once in the tree. Such a one of `run = hosted` must be
noticed within so many runs; what is found out is printed behind it.

Usage: mutants.py [--list] [--replanted] [--explore OPS] [--sample N] [--seed S] [NAME...]
       environment: B (build directory), MAKE
"""

import argparse
import concurrent.futures
import filecmp
import fnmatch
import functools
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairground.base.edit import Edit, EditError, Row, plant, read_rows
from fairground.machine.machine import run_batch
from fairground.machine.qemu import QemuError
from fairground.base.settings import UsageError, make_settings
from fairground.base.tomlfile import TomlFile

ROWS = pathlib.Path("tests/mutants")
KEYS = {"breaks": str, "noticed-by": str, "run": str}
INVARIANTS = pathlib.Path("sched/observe/invariant.def")
SOURCES = ["Makefile", "VERSION", "linker.ld", "pyproject.toml", "mk", "arch", "examples", "kernel", "labs", "lib",
           "sched", "sim", "tests", "tools", "user"]
BUILT = pathlib.Path("build")  # in the copied trees
SCRATCH = pathlib.Path(os.environ.get("B", "build")) / "mutants"
MAKE = os.environ.get("MAKE", "make")
CPU_TIME_S = 180  # for a hosted run, because a bug may make it endless
TIMEOUT_S = 900  # for runs without such a limit, on a host that has other things to do
PROP_OPS = "250000"


class Problem(Exception):
    """Why a mutant could not be tried. One line."""


@dataclass(frozen=True)
class Mutant:
    """One row."""

    name: str
    where: str  # file and line
    breaks: str
    noticed_by: tuple[str, ...]
    run: str
    edits: tuple[Edit, ...]


def as_mutant(row: Row) -> Mutant:
    noticed_by = tuple(row.fields["noticed-by"].split())
    return Mutant(row.name, row.where, row.fields["breaks"], noticed_by, row.fields["run"], row.edits)


def read_mutants() -> dict[str, Mutant]:
    """{name: mutant}, by name. Raises Problem."""
    found: dict[str, Mutant] = {}
    try:
        for mutant in (as_mutant(row) for path in sorted(ROWS.glob("*.toml")) for row in read_rows(path, KEYS)):
            if mutant.name in found:
                raise Problem(f"{mutant.where}: {found[mutant.name].where} has the same name")
            found[mutant.name] = mutant
    except UsageError as error:
        raise Problem(str(error)) from error
    return dict(sorted(found.items()))


# --- faults that were once there -------------------------------------------------------

REPLANTED = ROWS / "replanted/faults.toml"
FAULT_KEYS = {"was": str, "kind": str, "within": int}
IN_RUN = re.compile(r"^  found in run (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A row of REPLANTED: what happened, its kind, and in how many runs the objects find it (0: others do)."""

    was: str
    kind: str
    within: int = 0


@functools.cache
def read_faults() -> dict[str, Fault]:
    """{name of a mutant: the fault that it plants again}, in the order of the file. Raises UsageError."""
    file = TomlFile(REPLANTED)
    for name, table in file.data.items():
        file.check_keys((name,), table, FAULT_KEYS, ("was", "kind"))
    return {name: Fault(**table) for name, table in file.data.items()}


def runs_until_found(text: str) -> int:
    """How many runs of the objects it took, by their output @text; 0: they did not run."""
    found = IN_RUN.findall(text)
    return int(found[0]) if found else 0


def found_late(mutant: Mutant, text: str) -> str | None:
    """None, or that the objects needed more runs than they should."""
    fault, runs = read_faults().get(mutant.name), runs_until_found(text)
    print(f"# {mutant.name}: found in run {runs}" if runs else "", end="\n" if runs else "", flush=True)
    return f"found in run {runs}, not within {fault.within}" if fault and fault.within and runs > fault.within else None


# --- what a row names -----------------------------------------------------------------

UNIT_TEST = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")
SELFTEST = re.compile(r"^SELFTEST\((\w+)\)", re.MULTILINE)
SOURCE = (".c", ".h", ".py")
EXPLORERS = ("sched", "sim", "tests/oracle", "tests/prop")  # what they print comes from here
OF_RUNS = {"timeout", "runtime", "assertion"}  # what prlimit, sanitizers and assertions say, whichever test runs


def invariants() -> list[str]:
    """The names of all invariants. Their checks run in every layer."""
    return re.findall(r"^INVARIANT\((\w+),", INVARIANTS.read_text(encoding="utf-8"), re.MULTILINE)


@functools.cache
def texts(*places: str) -> str:
    """The source in these files and directories, and the names of its files."""
    files = [file for place in map(pathlib.Path, places)
             for file in ([place] if place.is_file() else sorted(place.rglob("*"))) if file.suffix in SOURCE]
    return "\n".join(f"{file.name}\n{file.read_text(encoding='utf-8')}" for file in files)


def strangers(words: Sequence[str], text: str) -> list[str]:
    """Those of @words that @text lacks. The pattern begins with the word itself, which is found faster."""
    return [word for word in words if not re.search(rf"{re.escape(word)}(?!\w)(?<!\w{re.escape(word)})", text)]


def misnamed(mutant: Mutant) -> list[str]:
    """The words of noticed-by that the program of run cannot say: they name no test of it and no invariant.

    Raises Problem if there is no such program. Of a command of busybox nothing is known.
    """
    layer, *words = mutant.run.split()
    named = [word for word in mutant.noticed_by if word not in OF_RUNS | set(invariants())]
    if layer == "unit":
        tests = UNIT_TEST.findall(texts(place(f"tests/unit/test_{words[0]}.c")))
        return [word for word in named if word not in tests]
    if layer == "kernel":
        return [word for word in named if word not in fnmatch.filter(SELFTEST.findall(texts("tests/kernel")), words[0])]
    if layer == "scenario":
        place(f"tests/scenarios/{words[1]}.toml")
        return [word for word in named if word != words[1]]
    if layer == "judge":
        place(f"tests/model/judge_{words[0]}.py")
        return strangers(named, texts("tests/model"))
    if layer in ("prop", "replay"):
        return strangers(named, texts(*EXPLORERS))
    if layer in ("hosted", "tsan"):
        place(f"tests/hosted/{words[0]}.c")
        return strangers(named, texts("tests/hosted", mutant.edits[0].file))
    if layer == "debug":
        return strangers(named, texts("kernel"))
    if layer == "pytest":
        return strangers(named, texts(place(words[0])))
    if layer == "guest":
        program = next((f"tests/guest/{word}" for word in words if texts(f"tests/guest/{word}.c")), None)
        return strangers(named, texts(program, f"{program}.c")) if program else []
    raise Problem(f"no layer is called {layer}")


def place(name: str) -> str:
    if not pathlib.Path(name).exists():
        raise Problem(f"run needs {name}, which is not there")
    return name


# --- trees ----------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """The environment for programs in a copied tree. The make that runs us has another build directory."""
    kept = {name: value for name, value in os.environ.items() if name not in ("B", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return {**kept, "CMOCKA_MESSAGE_OUTPUT": "TAP", "ASAN_OPTIONS": "detect_leaks=0"}


def call(words: list[str], tree: str | pathlib.Path) -> tuple[int, str]:
    """(status, output) of @words, run in @tree. A run that does not end has status 124."""
    try:
        done = subprocess.run(words, cwd=tree, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        return 124, (error.output or b"").decode(errors="replace") + f"timeout: no end within {TIMEOUT_S} s\n"
    return done.returncode, done.stdout.decode(errors="replace")


def seed(names: Iterable[str], base: pathlib.Path) -> None:
    """Copy the source @names with their times, and their objects, so that make has less to do in @base."""
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, base / name)
    if SCRATCH.parent == BUILT and BUILT.exists():  # make would not know objects in a directory of another name
        without = shutil.ignore_patterns(SCRATCH.name, "mutate", "test", "tree-*")  # trees of other tools
        try:
            shutil.copytree(BUILT, base / BUILT, symlinks=True, ignore=without)
        except shutil.Error as error:  # what another test had there for a moment is not needed
            if any(os.path.lexists(source) for source, _, _ in error.args[0]):
                raise


def list_sources(*places: str) -> list[str]:
    """The files of the repository in @places, or all."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *places],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(name for name in listed if os.path.isfile(name))


def refresh(base: pathlib.Path, places: Sequence[str] = SOURCES) -> None:
    """Make @base equal to the source and keep its objects: only files that differ get a new time."""
    wanted = set(list_sources(*places))
    if not base.exists():
        seed(wanted, base)
    for name in wanted:
        copy = base / name
        if not copy.exists() or not filecmp.cmp(name, copy, shallow=False):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, copy)
    for top in places:
        for path in (base / top).rglob("*"):
            if path.is_file() and str(path.relative_to(base)) not in wanted:
                path.unlink()


def build(tree: pathlib.Path, targets: list[str], *words: str) -> None:
    for target in targets:
        status, text = call([MAKE, f"-j{os.cpu_count()}", "B=build", *words, target], tree)
        if status:
            errors = [line for line in text.splitlines() if "error" in line or "Error" in line]
            raise Problem(f"does not build: {(errors or text.splitlines() or ['make failed'])[0]}")


def plant_in_copy(mutant: Mutant, base: pathlib.Path, tree: pathlib.Path) -> None:
    """Copy @base to @tree and make the change."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(base, tree, symlinks=True)
    try:
        plant(mutant.edits, tree)
    except EditError as error:
        raise Problem(str(error)) from error


# --- runs -----------------------------------------------------------------------------


def run_hosted(tree: pathlib.Path, program: str, *options: str) -> tuple[int, str]:
    build(tree, [program])
    status, text = call(["prlimit", f"--cpu={CPU_TIME_S}:{2 * CPU_TIME_S}", program, *options], tree)
    if status == -signal.SIGXCPU:
        text += f"timeout: no end within {CPU_TIME_S} s of CPU time\n"
    return status, text


def boot(tree: pathlib.Path, **given: str) -> tuple[int, str]:
    """Boot the kernel of @tree by the instruction, so that a bug that is noticed once always is."""
    build(tree, ["image"])
    return boot_built(tree / "build", **given)


def boot_built(built: pathlib.Path, **given: str) -> tuple[int, str]:
    given = {"icount": "1", "timeout": str(TIMEOUT_S), **given}
    outcome = run_batch(make_settings(given, build=str(built)))
    return outcome.status, f"{outcome.console}\n{outcome.problem}"


def run(what: str, tree: pathlib.Path) -> tuple[int, str]:
    """(status, output) of the tests that a row names, run in @tree."""
    layer, *words = what.split()
    if layer == "unit":
        return run_hosted(tree, f"build/unit/test_{words[0]}")
    if layer == "hosted":
        return run_hosted(tree, "build/unit/hosted", "--object", words[0], "--programs", "4000", *words[1:])
    if layer == "tsan":
        return run_hosted(tree, "build/tsan/hosted", "--object", words[0], "--programs", "100", *words[1:])
    if layer == "prop":
        return run_hosted(tree, "build/schedsim", "--ops", PROP_OPS, "--no-shrink", *words)
    if layer == "replay":
        return run_hosted(tree, "build/schedsim", "--sched", words[0], "--replay", " ".join(words[1:]))
    if layer == "scenario":
        host = words[2] if words[2:] else "simulator"
        build(tree, ["image" if host == "kernel" else "sim"])
        return call(["env", "PYTHONPATH=tools", sys.executable, "-m", "fairground", "scenarios", "--host", host,
                     "--scheds", *words[:2]], tree)
    if layer == "judge":
        status, text = run_hosted(tree, "build/schedsim", "--decisions", "build/judged.json", *words[1:])
        judge = ["env", "PYTHONPATH=tools", sys.executable, f"tests/model/judge_{words[0]}.py", "build/judged.json"]
        return (status, text) if status else call(judge, tree)
    if layer == "kernel":
        return boot(tree, smp=words[1] if words[1:] else "1", append=f"selftest={words[0]}")
    if layer in ("guest", "debug"):
        cpus, *words = words if words[0].isdigit() else ["1", *words]
        if layer == "guest":
            return boot(tree, smp=cpus, cmd=" ".join(words))
        build(tree, ["image"], "B=build-debug", "DEBUG=1")
        return boot_built(tree / "build-debug", smp=cpus, cmd=" ".join(words))
    if layer == "pytest":
        needs = {"tests/e2e": ["image"], "tests/sim": ["sim"]}.get(os.path.dirname(words[0]))
        if needs:
            build(tree, needs)
        return call(["env", "PYTHONPATH=tools", "B=build", sys.executable, "-m", "pytest", "-q", "-x", "-p",
                     "no:cacheprovider", *words], tree)
    raise Problem(f"no layer is called {layer}")


def names_reason(mutant: Mutant, text: str) -> bool:
    """Does a failure in @text name one of the expected reasons?"""
    failed = "\n".join(line for line in text.splitlines() if not re.match(r"(\[ *[\d.]+\] )?ok ", line))
    return any(re.search(rf"\b{re.escape(word)}\b", failed) for word in mutant.noticed_by)


def try_mutant(mutant: Mutant, base: pathlib.Path) -> str | None:
    """None if the tests notice @mutant as they should, otherwise what went wrong."""
    tree = SCRATCH / mutant.name
    try:
        plant_in_copy(mutant, base, tree)
        status, text = run(mutant.run, tree)
    except (Problem, QemuError, OSError) as problem:
        return str(problem)
    (tree / "output.log").write_text(text, encoding="utf-8")
    if not status:
        return f"survived: {mutant.breaks}"
    if not names_reason(mutant, text):
        return f"failed, but not by {' '.join(mutant.noticed_by)}: see {tree}/output.log"
    shutil.rmtree(tree)
    return found_late(mutant, text)


# --- exploration ----------------------------------------------------------------------

Found = tuple[str, int | None, str]  # a mutant, after how many operations it was found, and by what
EXPLORED = re.compile(r"^(\w[\w-]*), seed \d+, operation (\d+): (.*)", re.MULTILINE)


def is_scheduler_bug(mutant: Mutant) -> bool:
    return all(edit.file.startswith(("sched/", "lib/")) for edit in mutant.edits)


def explore(mutant: Mutant, base: pathlib.Path, ops: int) -> Found:
    """Run random operations on @mutant. Returns (name, operations until it was found or None, by what)."""
    tree = SCRATCH / mutant.name
    try:
        plant_in_copy(mutant, base, tree)
        build(tree, ["build/schedsim"])
        _, text = call(["build/schedsim", "--ops", str(ops), "--no-shrink"], tree)
    except (Problem, OSError) as problem:
        return mutant.name, None, str(problem)
    shutil.rmtree(tree)
    found = sorted((int(at), f"{policy}: {what}") for policy, at, what in EXPLORED.findall(text))
    return (mutant.name, *found[0]) if found else (mutant.name, None, "")


def explore_all(chosen: Sequence[Mutant], base: pathlib.Path, ops: int) -> None:
    """Print which scheduler bugs `schedsim --ops` finds, and after how many operations."""
    refresh(base)
    build(base, ["build/schedsim"])
    chosen = [mutant for mutant in chosen if is_scheduler_bug(mutant)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda mutant: explore(mutant, base, ops), chosen))
    for name, at, what in sorted(rows, key=lambda row: (row[1] is None, row[1] or 0)):
        print(f"{name:<42} {at if at is not None else 'not found':>9}  {what}")
    print(f"{sum(at is not None for _, at, _ in rows)} of {len(rows)} found within {ops} operations")


# --- the report -----------------------------------------------------------------------


def unclaimed_invariants(mutants: Sequence[Mutant]) -> list[str]:
    """Invariants that no mutant breaks, so that nothing shows whether their check works."""
    claimed = {word for mutant in mutants for word in mutant.noticed_by}
    return [name for name in invariants() if name not in claimed]


class Tap:
    """Numbered results on standard output."""

    def __init__(self) -> None:
        self.count = 0
        self.failures = 0

    def result(self, name: str, problem: str | None = None) -> None:
        self.count += 1
        self.failures += problem is not None
        print(f"{'not ok' if problem else 'ok'} {self.count} - {name}", flush=True)
        if problem:
            print(f"# {problem}", flush=True)


def prepare(chosen: Sequence[Mutant], base: pathlib.Path, tap: "Tap") -> bool:
    """Build the tree without bugs and run everything that @chosen will run there. Returns whether all of it passes."""
    print(f"# the tree without bugs, in {base}", flush=True)
    refresh(base)
    for what in sorted({mutant.run for mutant in chosen}):
        try:
            status, text = run(what, base)
            problem = f"fails without any bug: {text[-500:]}".replace("\n", "\n# ") if status else None
        except (Problem, QemuError, OSError) as error:
            problem = str(error)
        tap.result(f"without a bug, {what}", problem)
    return not tap.failures


def choose(mutants: Sequence[Mutant], options: argparse.Namespace) -> list[Mutant]:
    unknown = set(options.names) - {mutant.name for mutant in mutants}
    if unknown:
        raise Problem(f"no mutant is called {' '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants if not options.names or mutant.name in options.names]
    if options.replanted:
        chosen = [mutant for mutant in chosen if mutant.name in read_faults()]
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    return chosen


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Plant bugs and require that the tests notice them.")
    parser.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    parser.add_argument("--replanted", action="store_true", help="only bugs that were once in the tree")
    parser.add_argument("--sample", type=int, metavar="N", help="try only N of them")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which N (default: 1)")
    parser.add_argument("--explore", type=int, metavar="OPS", help="which of them do OPS random operations find?")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    return parser.parse_args(arguments)


def main() -> int:
    options = parse(sys.argv[1:])
    tap = Tap()
    try:
        mutants = list(read_mutants().values())
        chosen = choose(mutants, options)
    except Problem as problem:
        sys.exit(f"mutants.py: {problem}")
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name:<40} {mutant.run:<24} {mutant.breaks}")
        return 0
    base = SCRATCH / "base"
    if options.explore:
        explore_all(chosen, base, options.explore)
        return 0
    if prepare(chosen, base, tap):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for mutant, complaint in zip(chosen, pool.map(lambda mutant: try_mutant(mutant, base), chosen)):
                tap.result(mutant.name, complaint)
    missing = unclaimed_invariants(mutants)
    tap.result("every invariant has a mutant", f"none breaks {' '.join(missing)}" if missing else None)
    print(f"1..{tap.count}")
    return bool(tap.failures)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""The same programs here and on Debian's kernels, figure by figure: make fidelity (docs/fidelity.md).

tests/fidelity/rows.toml has the cases. Each is a command, and its rows are figures that the command prints. Linux's are
kept in tests/fidelity/linux-*.toml; with --fresh its kernel boots too, from the same initramfs in the same machine.
explained.toml there has the rows that differ, and how far they may. scx.toml has the cases of programs for sched_ext.

A figure may depend on the phase in which a case meets ticks and balancing, on either kernel. So each kernel is booted
RUNS times, each time with other pauses between the cases. The medians are compared, and Linux's runs with each other.
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import statistics
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import result
from ..base.expect import Missing
from ..base.progress import Progress
from ..base.settings import Settings, UsageError
from ..base.tree import ROOT
from ..machine import linux_scx
from ..machine.linux import (ABOUT, END, KERNELS, MARK, MEMORY_MIB, LinuxSettings, digest, find_kernel, qemu_versions,
                             sections, tick_rate)
from ..machine.machine import Machine, at_once, commit
from ..machine.scheduler_end import SchedulerEnded, on_console
from ..machine.simulator import SCX
from ..words import Command

COMMAND = Command("fidelity", machine=True, built="image", tree="tests/fidelity", examples=(
    ("--fast", "the third of the cases that the nightly tests check"),
    ("--scheds scx:vtime", "a program for sched_ext, beside Linux 7.2"),
))

ROOM = ROOT / "tests/fidelity"
LATER = {"7.2": "eevdf"}  # releases that no policy of ours is yet: their figures are kept, of this policy's cases
PAGE = ROOT / "docs/fidelity.md"
MODEL = "voluntary"  # of preemption: Debian's kernels boot with it
TIMEOUT_S = 3600     # only ends machines that hang
# How far our figure may be from Linux's in each kind of row: by a part of Linux's, or by an amount.
KINDS = {"amounts": (0.05, 0.0), "counts": (0.05, 1.0), "migrations": (0.25, 3.0), "latencies": (0.10, 3.0),
         "points": (0.0, 1.0), "waits": (0.0, 4000.0)}
UNITS = {"latencies": " us", "waits": " us", "points": " point"}
NO_ROW = "NO ROW"
TELLING = 0.5  # a figure is compared only if its runs on Linux lie within this part of their median
FOR_EACH_CPU = re.compile(r"\b(?:(\d+)\*)?CPUS\b")
PROGRAM = "mix"
FIGURE = re.compile(r"^mix (\S+) (\S+) ([\d.]+)$", re.MULTILINE)
RUNS, FAST_RUNS = 5, 3
KEPT_RUNS = 10       # of Linux: those of the last two measurements, if neither kernel, command nor program changed
PAUSE_S = 0.2
TICKS_S = 0.02       # up to so much more: some ticks
BOOTING_S = 4        # Linux goes on for a few seconds
PRELUDE = f"""\
echo {MARK}{ABOUT}
cat /proc/version /sys/kernel/debug/sched/preempt
mkdir -p /tmp/cgroup && mount -t cgroup2 none /tmp/cgroup && echo +cpu >/tmp/cgroup/cgroup.subtree_control
"""


@dataclass(frozen=True)
class Explained:
    """Why a row differs, and between which quotients ours / Linux's it may lie. Without them it is no row, because our
    own runs are too far apart."""

    reason: str
    low: float = 0
    high: float = 0


@dataclass(frozen=True)
class Row:
    """A figure of a case and how close to Linux's it must be."""

    name: str  # CASE.FIGURE
    kind: str  # one of KINDS
    explained: Explained | None = None

    @property
    def bounded(self) -> bool:
        """Is there a bound that our runs could fail?"""
        return not self.explained or self.explained.high > 0

    def allowed(self, linux: float) -> float:
        """How far from Linux's figure ours may be."""
        part, least = KINDS[self.kind]
        return max(part * linux, least)

    def tells(self, linux: Sequence[float]) -> bool:
        """Are Linux's runs so near to each other that another kernel can be told from it?"""
        return max(linux) - min(linux) <= max(TELLING * statistics.median(linux), KINDS[self.kind][1])

    def too_wide(self, linux: Sequence[float]) -> bool:
        """Are the bounds of the entry further apart than twice Linux's runs, and than the usual bounds? As a part of
        Linux's median, or of the lower bound if that is more."""
        middle, e = statistics.median(linux), self.explained
        spread = max(max(linux) - min(linux), self.allowed(middle))
        return e is not None and (e.high - e.low) * middle > 2 * spread * max(1, e.low)

    def verdict(self, ours: Sequence[float], linux: Sequence[float]) -> str:
        """Of the figures of some runs: PASS if the medians are within the bound; SPREAD if our median is among Linux's
        runs, or within the bound of one of them; EXPLAINED if it is within the entry's own bounds; otherwise FAIL.
        NO ROW if no bound could fail; BEYOND if, moreover, all of ours are less than all of Linux's, or all more."""
        if not self.bounded or not self.tells(linux):
            return "BEYOND" if max(ours) < min(linux) or max(linux) < min(ours) else NO_ROW
        a, b = statistics.median(ours), statistics.median(linux)
        if abs(a - b) <= self.allowed(b):
            return "PASS"
        if min(linux) - self.allowed(min(linux)) <= a <= max(linux) + self.allowed(max(linux)):
            return "SPREAD"
        e = self.explained
        return "EXPLAINED" if e and e.low * b <= a <= e.high * b else "FAIL"

    def bound(self, linux: float) -> str:
        """The bound in words."""
        part, least = KINDS[self.kind]
        usual = f"{part:.0%}" if part * linux >= least else f"{least:g}{UNITS.get(self.kind, '')}"
        return usual + (f", {self.explained.low:g}..{self.explained.high:g} x" if self.explained else "")


@dataclass(frozen=True)
class Case:
    """A command and the figures of it that are compared."""

    name: str
    cmd: str
    cpus: int
    fast: bool
    scheds: Sequence[str]
    find: Mapping[str, str]
    rows: Sequence[Row] = field(repr=False)

    def figures(self, text: str) -> dict[str, float]:
        """The figures in what the command printed, of all programs by PART.FIGURE or by the case's own expressions."""
        found = {f"{part}.{figure}": float(value) for part, figure, value in FIGURE.findall(text)}
        for name, expression in self.find.items():
            match = re.search(expression, text, re.MULTILINE)
            if match:
                found[name] = float(match[1])
        return found


def programs() -> list[str]:
    """The programs for sched_ext of which Linux's figures are kept, as scx:NAME."""
    prefix = f"linux-{linux_scx.RELEASE}-"
    return [SCX + path.stem.removeprefix(prefix) for path in sorted(ROOM.glob(f"{prefix}*.toml"))]


def rows_of(name: str, case: Mapping[str, Any], explained: Mapping[str, Explained]) -> Iterator[Row]:
    for kind in KINDS:
        for figure in case.get(kind, ()):
            row = f"{name}.{figure}"
            yield Row(row, kind, explained.get(row))


def command(cmd: str, each: str, cpus: int) -> str:
    return FOR_EACH_CPU.sub(lambda match: str(int(match[1] or 1) * cpus), cmd).replace("EACH", each).strip()


def cases_of(name: str, case: Mapping[str, Any], explained: Mapping[str, Explained]) -> Iterator[Case]:
    """The cases that an entry of rows.toml stands for: one for EACH value, and for each number of CPUs."""
    every = case.get("cpus", 1)
    every = every if isinstance(every, list) else [every]
    for each, cpus in itertools.product(case.get("each", ("",)), every):
        full = name + f"-{each}" * bool(each) + f"-{cpus}" * (len(every) > 1 and cpus > 1)
        fast = case.get("fast", False) and (cpus == 1 or len(every) == 1)
        yield Case(full, command(case["cmd"], each, cpus), cpus, fast,
                   case.get("scheds", tuple(KERNELS)), case.get("find", {}), tuple(rows_of(full, case, explained)))


def load_explained(sched: str, path: pathlib.Path = ROOM / "explained.toml") -> dict[str, Explained]:
    """Row -> why it differs under @sched."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return {row: Explained(reason, *times) for reason, scheds in data.items()
            for row, times in scheds.get(sched, {}).items()}


def load_cases(sched: str) -> list[Case]:
    """The cases for @sched, those of the fast part first: so these run in the same order with and without the rest."""
    path = ROOM / ("scx.toml" if linux_scx.is_program(sched) else "rows.toml")
    data, explained = tomllib.loads(path.read_text(encoding="utf-8")), load_explained(sched)
    cases = [one for name, case in data["case"].items() for one in cases_of(name, case, explained)]
    stray = set(explained) - {row.name for case in cases for row in case.rows}
    if stray:
        raise Missing(f"{path}: no row is called {sorted(stray)[0]}")
    return sorted((case for case in cases if linux_scx.is_program(sched) or sched in case.scheds),
                  key=lambda case: not case.fast)


def constants_of(sched: str) -> list[str]:
    """NAME=VALUE for Linux, where nobody runs the user half of the program @sched. Here ours sets them."""
    data = tomllib.loads((ROOM / "scx.toml").read_text(encoding="utf-8"))
    return [f"{name}={value}" for name, value in data["constants"].get(sched.removeprefix(SCX), {}).items()]


def release_of(sched: str) -> str:
    """The Linux beside which @sched is."""
    return linux_scx.RELEASE if linux_scx.is_program(sched) else KERNELS[sched]


def place_of(sched: str, release: str) -> pathlib.Path:
    """Where the figures of Linux @release are kept that are beside @sched."""
    program = linux_scx.is_program(sched)
    return ROOM / f"linux-{release}{sched.replace(SCX, '-') if program else ''}.toml"


# --- running --------------------------------------------------------------------------------------------------------


def script(cases: Iterable[Case], run: int) -> str:
    """The commands of a run, and pauses that depend on its number @run. Each case announces itself.

    The last words wait: when the shell ends, Linux drops what its terminal has not yet sent.
    """
    chance = random.Random(run)
    lines = [f"sleep {BOOTING_S}\n", PRELUDE]
    for case in cases:
        pause = PAUSE_S + chance.uniform(0, TICKS_S)
        lines.append(f"sleep {pause:.6f}\necho '{MARK}{case.name}'\n{case.cmd}\n")
    return "".join(lines) + f"echo {END}\nsleep {PAUSE_S}\n"


@dataclass
class Measured:
    """A run of some cases on one kernel."""

    version: str
    model: str
    qemu: str
    figures: dict[str, dict[str, float]]  # case -> figure -> value


def measure(settings: Settings, sched: str, cases: Sequence[Case], run: int) -> Measured:
    """Boot @settings' kernel, run @cases and return their figures. Raises Missing if one of them has none. @sched is
    asked for only if it is a program: Linux has its own policy."""
    settings = dataclasses.replace(settings, cmd=script(cases, run))
    if linux_scx.is_program(sched):
        here = not isinstance(settings, LinuxSettings)
        settings = linux_scx.under(settings, linux_scx.source_of(sched, settings.build), settings.cmd,
                                   *() if here else constants_of(sched))
    with Machine(settings) as machine:
        outcome, qemu = machine.run(), machine.qemu.name
    if linux_scx.is_program(sched) and (why := on_console(outcome.console)):
        raise SchedulerEnded(f"{os.path.basename(settings.kernel)}: {why}")
    found = sections(outcome.console)
    if END.removeprefix(MARK) not in found:
        raise Missing(f"{os.path.basename(settings.kernel)} did not come to the end of the cases: {outcome.problem}\n"
                      + outcome.console[-2000:])
    about = found[ABOUT].splitlines()
    model = re.search(r"\((\w+)\)", about[1])
    figures = {}
    for case in cases:
        figures[case.name] = case.figures(found[case.name])
        for row in case.rows:
            if row.name.removeprefix(case.name + ".") not in figures[case.name]:
                raise Missing(f"{os.path.basename(settings.kernel)}: no figure {row.name} in\n{found[case.name]}")
    return Measured(about[0], model[1] if model else "unknown", qemu, figures)


def machines(sched: str, build: str, linux: str) -> dict[str, Settings]:
    """Settings of ours, unless @sched is "", and of Linux, given the path of a kernel; name -> settings for one CPU."""
    same: dict[str, Any] = {"build": build, "icount": True, "mem": MEMORY_MIB, "kvm": "0", "timeout": TIMEOUT_S}
    policy = Settings.sched if linux_scx.is_program(sched) else sched
    ours = {"ours": Settings(**same, sched=policy, append=f"preempt={MODEL}")} if sched else {}
    return ours | ({"linux": LinuxSettings(**same, linux=linux)} if linux else {})


def measure_all(sched: str, build: str, cases: Sequence[Case], linux: str, runs: int) -> dict[str, list[Measured]]:
    """Figures of all cases, ours or Linux's or both: @runs boots for each number of CPUs, two machines at a time."""
    jobs = []
    with at_once(2) as pool:
        for run, cpus in itertools.product(range(runs), sorted({case.cpus for case in cases}, reverse=True)):
            some = [case for case in cases if case.cpus == cpus]
            for name, settings in machines(sched, build, linux).items():
                settings = dataclasses.replace(settings, smp=str(cpus), cpus=cpus)
                jobs.append((name, pool.submit(measure, settings, sched, some, run)))
        with Progress("boot", len(jobs)) as progress:
            for _, job in jobs:
                job.result()
                progress.step()
        return {name: [job.result() for n, job in jobs if n == name] for name in {name for name, _ in jobs}}


Figures = dict[str, dict[str, list[float]]]  # case -> figure -> the value of each run


def figures_of(boots: Iterable[Measured]) -> Figures:
    """The values of all runs, in their order."""
    found: Figures = {}
    for boot in boots:
        for case, figures in boot.figures.items():
            for name, value in figures.items():
                found.setdefault(case, {}).setdefault(name, []).append(value)
    return found


# --- what is kept of Linux ------------------------------------------------------------------------------------------


def short(value: float) -> str:
    return f"{value:g}" if value < 1e5 else f"{value:.1f}"


def keep(path: pathlib.Path, figures: Figures, cases: Sequence[Case], about: Mapping[str, str | int],
         program: str, rows_only: bool = True) -> None:
    """Write to @path Linux's figures of those of @cases that were measured, with the digest of the program that did it:
    those that are rows, or all. The figures of other cases stay if they are of the same kernel, and those of the same
    command and program stand before the new ones."""
    lines = ["# SPDX-License-Identifier: GPL-2.0-only",
             "# Figures of Debian's kernel, written by make fidelity ARGS=--fresh (docs/fidelity.md)."]
    lines += [f"{name} = {json.dumps(value)}" for name, value in about.items()]
    older = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if older.get("version") != about["version"]:
        older = {}
    for case in cases:
        names = [row.name.removeprefix(case.name + ".") for row in case.rows]
        before = older.get(case.name, {})
        found = dict(figures.get(case.name, before))
        if not found or not set(names) <= set(found):
            continue
        by = program if case.name in figures else found[PROGRAM]
        if case.name in figures and (before.get("cmd"), before.get(PROGRAM)) == (case.cmd, program):
            found = {name: [*before.get(name, ()), *runs][-KEPT_RUNS:] for name, runs in found.items()}
        names += () if rows_only else [name for name in found if name not in (*names, "cmd", PROGRAM)]
        lines += ["", f"[{json.dumps(case.name)}]", f"cmd = {json.dumps(case.cmd)}", f"{PROGRAM} = {json.dumps(by)}"]
        lines += [f"{json.dumps(name)} = [{', '.join(map(short, found[name]))}]" for name in names]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def keep_boots(release: str, kernel: str, build: str, sched: str, boots: Sequence[Measured]) -> None:
    """Keep what @boots of @kernel measured of @sched's cases; all of it if the kernel will not be had for long."""
    program = linux_scx.is_program(sched)
    keep(place_of(sched, release), figures_of(boots), load_cases(sched), {
        "version": boots[0].version, "model": boots[0].model, "hz": tick_rate(kernel),
        "qemu": qemu_versions(boot.qemu for boot in boots),
        "parameters": LinuxSettings(append=linux_scx.QUIET * program).command_line()},
        digest(build, PROGRAM), program or release not in LATER)


def keep_later(build: str, arguments: argparse.Namespace) -> None:
    """Measure the kernels that no policy of ours is yet. Debian drops them soon; the older figures stay without one."""
    for release, sched in LATER.items():
        try:
            kernel = find_kernel(build, release)
        except Missing as error:
            Progress.note(f"fairground: {error}; the older figures of this kernel stay")
            continue
        cases = chosen(sched, arguments)
        if cases:
            keep_boots(release, kernel, build, sched, measure_all("", build, cases, kernel, RUNS)["linux"])


def kept(path: pathlib.Path, cases: Sequence[Case]) -> dict[str, Any]:
    """What @path has for @cases. Raises Missing if there is nothing, or only of another command."""
    again = "make fidelity ARGS=--fresh measures Linux anew"
    if not path.exists():
        raise Missing(f"{os.path.relpath(path, ROOT)} is missing: {again}")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    for case in cases:
        if data.get(case.name, {}).get("cmd") != case.cmd:
            raise Missing(f"{os.path.relpath(path, ROOT)} has no figures of {case.name} as it is now: {again}")
    return data


# --- the table ------------------------------------------------------------------------------------------------------


def difference(ours: float, linux: float) -> str:
    return "0" if ours == linux else f"{ours - linux:+.0f}" if not linux else f"{(ours - linux) / linux:+.1%}"


def judge(cases: Sequence[Case], ours: Figures, linux: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One dictionary for each row."""
    table = []
    for case in cases:
        for row in case.rows:
            figure = row.name.removeprefix(case.name + ".")
            each, theirs = ours[case.name][figure], linux[case.name][figure]
            a, b = statistics.median(each), statistics.median(theirs)
            table.append({"row": row.name, "ours": a, "linux": b, "difference": difference(a, b),
                          "ours_runs": each, "linux_runs": theirs,
                          "bound": row.bound(b), "verdict": row.verdict(each, theirs),
                          "reason": row.explained.reason if row.explained else ""})
    return table


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}" if value == int(value) else f"{value:.1f}"


def spread(values: Sequence[float]) -> str:
    """The least and the most of some runs, or the one value of all."""
    return "..".join(map(number, sorted({min(values), max(values)})))


def is_row(line: Mapping[str, Any]) -> bool:
    return line["verdict"] not in (NO_ROW, "BEYOND")


def print_table(table: Sequence[Mapping[str, Any]]) -> None:
    """The rows; then the figures that are none, with the least and the most of the runs."""
    width = max(len(line["row"]) for line in table)
    print(f"{'row':<{width}} {'ours':>10} {'Linux':>10} {'difference':>11}  {'Linux, runs':<20} {'bound':<20} verdict")
    for line in filter(is_row, table):
        reason = f": {line['reason']}" if line["verdict"] == "EXPLAINED" else ""
        print(f"{line['row']:<{width}} {number(line['ours']):>10} {number(line['linux']):>10} "
              f"{line['difference']:>11}  {spread(line['linux_runs']):<20} {line['bound']:<20} "
              f"{line['verdict']}{reason}")
    others = [line for line in table if not is_row(line)]
    if others:
        print(f"\n{'no row: runs too far apart':<{width}} {'ours':<20} Linux")
    for line in others:
        print(f"{line['row']:<{width}} {spread(line['ours_runs']):<20} {spread(line['linux_runs']):<20} "
              f"{'beyond' if line['verdict'] == 'BEYOND' else ''}".rstrip())


def summary(table: Sequence[Mapping[str, Any]]) -> str:
    """The last line, and before it the entries that are no longer needed."""
    count = {verdict: sum(line["verdict"] == verdict for line in table)
             for verdict in ("PASS", "SPREAD", "EXPLAINED", "FAIL")}
    rows = sum(map(is_row, table))
    mended = [line["row"] for line in table if line["verdict"] in ("PASS", "SPREAD") and line["reason"]]
    return "".join(f"{row}: within the bound; its entry in explained.toml can go\n" for row in mended) + \
        f"{rows} rows: {count['PASS']} pass, {count['SPREAD']} among Linux's runs, " \
        f"{count['EXPLAINED']} explained, {count['FAIL']} fail; {len(table) - rows} figures are no rows"


def compare(sched: str, build: str, cases: Sequence[Case], fresh: bool, nr_runs: int) -> list[dict[str, Any]]:
    """Measure, print the table for one policy, and return it."""
    release = release_of(sched)
    path = place_of(sched, release)
    linux_kernel = find_kernel(build, release) if fresh else ""
    runs = measure_all(sched, build, cases, linux_kernel, nr_runs)
    if linux_kernel:
        keep_boots(release, linux_kernel, build, sched, runs["linux"])
    linux = kept(path, cases)
    print(f"ours   {commit()}: sched={sched} HZ={Settings.hz} preempt={runs['ours'][0].model}, "
          f"{qemu_versions(boot.qemu for boot in runs['ours'])}, icount, {MEMORY_MIB} MiB; "
          f"the median of {nr_runs} runs\n"
          f"Linux  {linux['version'].removeprefix('Linux version ')}\n"
          f"       HZ={linux['hz']} preempt={linux['model']}, {linux['qemu']}; parameters: {linux['parameters']}")
    others = sum(linux[case.name][PROGRAM] != digest(build, PROGRAM) for case in cases)
    if others:
        print(f"       {others} of {len(cases)} cases were measured with another build of {PROGRAM} than today's")
    table = judge(cases, figures_of(runs["ours"]), linux)
    print_table(table)
    print(summary(table), flush=True)
    return table


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", nargs="*", help="names of cases; all of them if there is none")
    parser.add_argument("--fast", action="store_true", help="only the part that the nightly tests check")
    parser.add_argument("--runs", type=int, metavar="N", help=f"boots of each kernel ({RUNS}; --fast: {FAST_RUNS})")
    parser.add_argument("--fresh", action="store_true", help="boot Linux too and keep its figures")
    parser.add_argument("--scheds", default=",".join(KERNELS), help="cfs, eevdf or both; scx:NAME")


def chosen(sched: str, arguments: argparse.Namespace) -> list[Case]:
    """The cases that were asked for."""
    cases = load_cases(sched)
    unknown = set(arguments.cases) - {case.name for case in cases} - \
        {case.name for other in (*KERNELS, SCX) for case in load_cases(other)}
    if unknown:
        raise UsageError(f"{sorted(unknown)[0]}: there is no such case in tests/fidelity")
    return [case for case in cases if (case.fast or not arguments.fast)
            and (not arguments.cases or case.name in arguments.cases)]


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run the same programs here and on Debian's kernels, and compare the figures"""
    scheds = arguments.scheds.split(",")
    for sched in scheds:
        if sched not in KERNELS and not linux_scx.is_program(sched):
            raise UsageError(f"--scheds {sched}: {' or '.join(KERNELS)} or scx:NAME is expected: Linux has no other")
    if arguments.fresh and arguments.fast:
        raise UsageError("--fresh keeps figures of five boots: without --fast")
    runs = arguments.runs or (FAST_RUNS if arguments.fast else RUNS)
    if runs < 1:
        raise UsageError(f"--runs {runs}: at least one is expected")
    table = []
    for sched in scheds:
        cases = chosen(sched, arguments)
        if cases:
            table += [{"sched": sched} | line for line in compare(sched, settings.build, cases, arguments.fresh, runs)]
            print()
    if arguments.fresh and not all(map(linux_scx.is_program, scheds)):
        keep_later(settings.build, arguments)
    with open(os.path.join(settings.build, "fidelity.json"), "w", encoding="utf-8") as f:
        json.dump({"commit": commit(), "rows": table}, f, indent=1)
    result.tell([], result.of_settings(settings, sched=arguments.scheds, hz=Settings.hz, seed=Settings.seed), table)
    return int(any(line["verdict"] == "FAIL" for line in table))

# SPDX-License-Identifier: GPL-2.0-only
"""`fairground replay`: a trace as a workload, how well its simulation meets the trace, and the same workload under
other policies (docs/replay.md)."""

import argparse
import os
import re
import shlex
import tempfile
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from .. import result
from ..base import stats, whole
from ..base.errors import reading
from ..base.option_values import listed
from ..base.progress import Progress
from ..base.settings import SCHEDULERS, Settings, UsageError
from ..forms.rtapp import number_of, workload
from ..machine import simulator
from ..machine.image import TraceError
from ..machine.machine import at_once, commit
from ..trace.behaviour import Behaviour, behaviour
from ..trace.timeline import Timeline
from ..trace.tracefile import TraceFile
from ..words import Command

COMMAND = Command("replay", built="sim", examples=(
    ("hack.dat", "how well a simulation meets the trace, and its tasks under every policy"),
    ("eevdf.dat --sched cfs --seeds 1..20 --out load.json", "under one, twenty times; keep the workload"),
))

LEAST = 0.9
TICKS = (100, 250, 1000)
SAMPLES = 200  # of the CPU time that a task has got
MOST_TASKS = 12
EEVDF_SINCE = (6, 6)
HRTICK_SINCE = (7, 1)  # of Linux: the feature is on unless somebody switches it off
RELEASE = re.compile(r"\b(\d+)\.(\d+)[.\-]")
NO_LINUX = (0, 0)
PARTS = ("share", "turns", "waits", "timeline")


# --- how a task fared -----------------------------------------------------------------------------------------


@dataclass
class Fare:
    """How a task fared in a run."""

    cpu: int = 0    # ns
    turns: int = 0  # times that it got a CPU
    wait: int = 0   # ns, for a CPU
    longest: int = 0
    starts: list[int] = field(default_factory=list)  # of its turns
    sums: list[int] = field(default_factory=list)    # CPU time before each, and at last all

    def got(self, time: int) -> int:
        """CPU time until @time, to a turn."""
        at = bisect_right(self.starts, time)
        return min(self.sums[at], self.sums[at - 1] + time - self.starts[at - 1]) if at else 0


def fares(line: Timeline, number: dict[int, int], begin: int) -> dict[int, Fare]:
    """How each task of @line fared since @begin. @number: of a pid; other tasks are left out."""
    turns: dict[int, list[tuple[int, int]]] = {}
    found: dict[int, Fare] = {}
    for _, pid, start, end in zip(*line.runs):
        if pid in number:
            turns.setdefault(number[pid], []).append((start - begin, end - start))
    for task, rows in turns.items():
        rows.sort()
        lengths = [length for _, length in rows]
        found[task] = Fare(sum(lengths), len(rows), starts=[start for start, _ in rows],
                           sums=[0, *accumulate(lengths)])
    for pid, start, end, _ in zip(*line.waits):
        if pid in number:
            fare = found.setdefault(number[pid], Fare(sums=[0]))
            fare.wait += end - start
            fare.longest = max(fare.longest, end - start)
    return found


# --- how well it is met ---------------------------------------------------------------------------------------


class Score(NamedTuple):
    """How well a replay meets a task's record: 1 is the same, 0 nothing alike."""

    share: float     # its CPU time
    turns: float     # how often it got a CPU
    waits: float     # how long it waited for one, beside its CPU time
    timeline: float  # when it got its CPU time

    @property
    def all(self) -> float:
        return sum(self) / len(self)


def alike(a: float, b: float, least: float = 0) -> float:
    """1 less the difference of @a and @b as a part of the larger one, or of @least."""
    largest = max(a, b, least)
    return 1 - abs(a - b) / largest if largest else 1.0


def score(recorded: Fare, replayed: Fare, length: int) -> Score:
    """How well @replayed meets @recorded, in runs of @length ns."""
    times = [length * (n + 1) // SAMPLES for n in range(SAMPLES)]
    apart = sum(abs(recorded.got(t) - replayed.got(t)) for t in times) / SAMPLES
    most = max(recorded.cpu, replayed.cpu)
    return Score(alike(recorded.cpu, replayed.cpu), alike(recorded.turns, replayed.turns),
                 alike(recorded.wait, replayed.wait, most), 1 - apart / most if most else 1.0)


def scores(recorded: dict[int, Fare], replayed: dict[int, Fare], length: int) -> dict[int, Score]:
    return {task: score(fare, replayed.get(task, Fare(sums=[0])), length) for task, fare in recorded.items()}


def overall(found: dict[int, Score], recorded: dict[int, Fare]) -> Score:
    """The mean over tasks, each as heavy as the CPU time it got and the time it waited."""
    weights = {task: recorded[task].cpu + recorded[task].wait for task in found}
    total = sum(weights.values()) or 1
    return Score(*(sum(getattr(found[task], part) * weights[task] for task in found) / total for part in PARTS))


# --- runs -----------------------------------------------------------------------------------------------------


class Replay:
    """A trace's workload, for the simulator."""

    def __init__(self, build: str, path: str, hz: int | None, machine: Sequence[str], open_loop: bool | None) -> None:
        with reading(path, TraceError):
            trace = TraceFile(path)
            self.of: Behaviour = behaviour(trace)
            line = Timeline(trace)
        self.build = build
        self.hz = hz or int(result.of_trace(self.of.about)["hz"] or TICKS[1])
        self.machine = [*machine] if "--topology" in machine else ["--cpus", str(self.of.cpus), *machine]
        exact = hrtick_is_on(self.of.about) and "--features" not in machine
        self.machine += ["--features", "HRTICK"] if exact else []
        self.length = self.of.end - self.of.begin
        tick = 10**9 // self.hz
        self.lead = (self.of.begin - self.of.tick_phase(tick)) % tick // 1000 * 1000  # ticks come as in the trace
        self.text, self.notes = workload(self.of, open_loop, self.lead)
        self.notes += ["A timer ends every turn (HRTICK), as this release of Linux does."] if exact else []
        # A pid that was used again is one task here, as in the trace's own tables.
        self.first: dict[int, int] = {}
        for task in self.of.tasks:
            self.first.setdefault(task.pid, task.number)
        self.recorded = fares(line, self.first, self.of.begin)

    def words(self, path: str, policy: str, vary: int | None) -> list[str]:
        """The simulator's words for a run."""
        varied = ["--vary", str(vary)] if vary is not None else []
        return [*simulator.policy_words(policy, self.build), "--hz", str(self.hz), *self.machine,
                "--time", f"{self.lead + self.length}ns", *varied, path]

    def simulate(self, path: str, policy: str, vary: int | None = None) -> dict[int, Fare]:
        """How each task fares under @policy. @vary: the seed of what differs from run to run; None: nothing does."""
        with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
            out = os.path.join(directory, "replay.dat")
            simulator.results(self.build, ["--trace", out, *self.words(path, policy, vary)])
            line = Timeline(out)
        numbers = {pid: number_of(comm) for pid, comm in line.comms.items()}
        found = {pid: self.first[self.of.tasks[nr].pid] for pid, nr in numbers.items() if nr is not None}
        return fares(line, found, self.lead)


def release_of(about: str) -> tuple[int, int]:
    """The release of Linux that made the run that @about tells of, or NO_LINUX."""
    found = RELEASE.search(about) if "Linux" in about else None
    return (int(found[1]), int(found[2])) if found else NO_LINUX


def hrtick_is_on(about: str) -> bool:
    """Does a timer end every turn, where the run was made that @about tells of?"""
    return release_of(about) >= HRTICK_SINCE


def recorded_policy(about: str) -> str | None:
    """The policy of the run that @about tells of: ours, or that of Linux by its version; None if it does not say."""
    ours = result.of_trace(about)["sched"]
    if ours in SCHEDULERS:
        return str(ours)
    release = release_of(about)
    return None if release == NO_LINUX else "eevdf" if release >= EEVDF_SINCE else "cfs"


# --- in words -------------------------------------------------------------------------------------------------


def met(replay: Replay, policy: str, found: dict[int, Fare]) -> tuple[Score, list[str], list[dict[str, Any]]]:
    """How well the run @found under the recorded @policy meets the trace: as a score, as lines, as rows."""
    by_task = scores(replay.recorded, found, replay.length)
    total = overall(by_task, replay.recorded)
    told = ", ".join(f"{part} {getattr(total, part):.3f}" for part in PARTS)
    lines = [f"Replayed under {policy}, as recorded, it meets the trace by {total.all:.3f} ({told}).", "",
             f"  {'task':<16} {'CPU ms':>10} {'replayed':>10} {'turns':>8} {'replayed':>8} {'waits ms':>10} "
             f"{'replayed':>10}  score"]
    rows = []
    order = sorted(by_task, key=lambda task: -replay.recorded[task].cpu - replay.recorded[task].wait)
    for place, task in enumerate(order):
        a, b, one = replay.recorded[task], found.get(task, Fare()), replay.of.tasks[task]
        rows.append({"task": one.comm, "pid": one.pid, "cpu_ns": a.cpu, "replayed_cpu_ns": b.cpu, "turns": a.turns,
                     "replayed_turns": b.turns, "wait_ns": a.wait, "replayed_wait_ns": b.wait,
                     "score": round(by_task[task].all, 4)})
        if place < MOST_TASKS:
            lines.append(f"  {f'{one.comm}-{one.pid}':<16} {a.cpu / 1e6:10.3f} {b.cpu / 1e6:10.3f} {a.turns:8} "
                         f"{b.turns:8} {a.wait / 1e6:10.3f} {b.wait / 1e6:10.3f}  {by_task[task].all:.3f}")
    if len(order) > MOST_TASKS:
        lines.append(f"  and {len(order) - MOST_TASKS} more tasks: --json has all")
    lines.append("")
    return total, lines, rows


def by_chance(replay: Replay, path: str, policy: str, seeds: Sequence[int]) -> str:
    """How well two runs meet each other that differ by chance alone."""
    one, other = (replay.simulate(path, policy, seed) for seed in (seeds[0], seeds[0] + 1))
    alone = overall(scores(one, other, replay.length), one).all
    return f"Two replays in which chance draws anew meet each other by {alone:.3f}."


class Figures(NamedTuple):
    """All tasks of a run together, in ms."""

    cpu: float
    wait: float
    longest: float
    turns: float


def figures(found: dict[int, Fare]) -> Figures:
    every = found.values()
    return Figures(sum(f.cpu for f in every) / 1e6, sum(f.wait for f in every) / 1e6,
                   max((f.longest for f in every), default=0) / 1e6, sum(f.turns for f in every))


def others(replay: Replay, path: str, base: str, policies: Sequence[str], seeds: Sequence[int]) \
        -> tuple[list[str], list[dict[str, Any]]]:
    """The workload under @base and @policies, in pairs of runs that vary by @seeds: lines and rows."""
    wanted = [(policy, seed) for policy in [base, *policies] for seed in seeds]
    with Progress("runs", len(wanted)) as progress, at_once() as pool:
        found: dict[str, list[Figures]] = {}
        for (policy, _), fared in zip(wanted, pool.map(lambda w: replay.simulate(path, *w), wanted)):
            found.setdefault(policy, []).append(figures(fared))
            progress.step()
    names = {"wait": "waits, ms", "longest": "the longest, ms", "turns": "turns", "cpu": "CPU time, ms"}
    lines = ["", f"The same workload under each, {len(seeds)} times, what differs from run to run drawn anew:"]
    rows = []
    for name, title in names.items():
        lines += ["", f"  {title:<16} {'median':>10}   less {base}, in pairs, and its interval of 95 %"]
        for policy, runs in found.items():
            values = [getattr(run, name) for run in runs]
            apart = stats.difference([getattr(run, name) for run in found[base]], values)
            rows.append({"sched": policy, "metric": name, "median": apart.b.median, "less_base": apart.shift,
                         "low": apart.low, "high": apart.high, "p": apart.p})
            lines.append(f"    {policy:<14} {stats.number(apart.b.median):>10}" + (
                "" if policy == base else f"   {apart.text()}"))
    return lines, rows


# --- the command ----------------------------------------------------------------------------------------------


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a trace.dat or a perf.data, of Fairground or of Linux")
    parser.add_argument("--sched", dest="scheds", metavar="A,B", help="policies to compare with the recorded one, or "
                        f"programs for sched_ext, {simulator.SCX}FILE.so; default: all policies")
    parser.add_argument("--hz", type=int, choices=TICKS, help="of the traced machine; default: $HZ, what the trace "
                        f"says, or {TICKS[1]}")
    parser.add_argument("--recorded", metavar="POLICY", help="under which it was recorded; default: as the trace says")
    parser.add_argument("--seeds", default="1..5", help="a run of each that varies; default: 1..5")
    parser.add_argument("--least", type=float, default=LEAST, metavar="SCORE",
                        help=f"no verdict on other policies below this score; default: {LEAST}")
    loop = parser.add_mutually_exclusive_group()
    loop.add_argument("--open", action="store_true", help="sleeps end at the recorded times, however late the task is")
    loop.add_argument("--closed", action="store_true", help="sleeps take as long as recorded, however late they begin")
    parser.add_argument("--machine", default="", metavar="WORDS", help="for schedsim, as '--topology 2x4 --features "
                        "NO_HRTICK'; default: the trace's CPUs, which share a cache, and HRTICK if its Linux has that")
    parser.add_argument("--out", metavar="FILE.json", help="keep the workload, which rt-app reads, too")


def choose(arguments: argparse.Namespace, about: str) -> tuple[str, list[str]]:
    """The recorded policy, and those to compare with it. UsageError if there is no such policy."""
    base = arguments.recorded or recorded_policy(about)
    if not base:
        raise UsageError(f"the trace does not say under which policy it was recorded: --recorded one of "
                         f"{', '.join(SCHEDULERS)}")
    policies = listed("--sched", arguments.scheds) if arguments.scheds else list(SCHEDULERS)
    for policy in [base, *policies]:
        if policy not in SCHEDULERS and not policy.startswith(simulator.SCX):
            raise UsageError(f"{policy}: one of {', '.join(SCHEDULERS)} is expected, or {simulator.SCX}FILE.so")
    return base, [policy for policy in dict.fromkeys(policies) if policy != base]


def told(replay: Replay) -> Iterator[str]:
    for note in replay.notes:
        yield from textwrap.wrap(note, 116, initial_indent="  ", subsequent_indent="  ")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """make a workload of a trace, say how well its simulation meets the trace, and simulate it under other policies"""
    seeds = stats.parse_seeds(arguments.seeds)
    if arguments.out:
        whole.check_place("--out ", arguments.out)
    loop = True if arguments.open else False if arguments.closed else None
    hz = arguments.hz or (settings.hz if os.environ.get("HZ") else None)
    replay = Replay(settings.build, arguments.file, hz, shlex.split(arguments.machine), loop)
    base, policies = choose(arguments, replay.of.about)
    if arguments.out:
        whole.write(arguments.out, replay.text.encode())
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        path = os.path.join(directory, "replay.json")
        whole.write(path, replay.text.encode())
        total, lines, rows = met(replay, base, replay.simulate(path, base))
        lines.append(by_chance(replay, path, base, seeds))
        enough = total.all >= arguments.least
        more, others_rows = others(replay, path, base, policies, seeds) if enough and policies else ([], [])
    if not enough:
        more = ["", f"No verdict on other policies: {total.all:.3f} is less than {arguments.least}, so this workload "
                    "is not what was recorded."]
    head = [*replay.of.about.split("\n"), *told(replay), ""]
    result.tell([*head, *lines, *more], {**result.of_trace(replay.of.about), "sched": base, "commit": commit()}, rows,
                score=round(total.all, 4), parts={part: round(getattr(total, part), 4) for part in PARTS},
                notes=replay.notes, under=others_rows)
    return 0 if enough else 1

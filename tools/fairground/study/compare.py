# SPDX-License-Identifier: GPL-2.0-only
"""`fairground compare`: two or more sides, run by run of the same seeds, each difference with an interval and a test.

A side is a policy, or whatever else changes a run (side.py). Runs are made in the simulator or the kernel, of this tree
or of another commit, or are there already as traces."""

import argparse
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import result
from ..base import samples, stats, whole
from ..base.option_values import parse_number
from ..base.packages import brings
from ..base.progress import Progress
from ..base.settings import Settings, UsageError, make_settings
from ..base.tree import ROOT
from ..machine import simulator
from ..machine.linux import KERNELS
from ..machine.machine import at_once, commit
from ..machine.scheduler_end import SchedulerEnded
from ..pictures.style import texts_as_they_are
from ..words import Command
from . import recorded
from .built import build_of, commit_named
from .claims import KERNEL, SIMULATOR
from .side import COMMIT, HOST, POLICY, Side, Workload, is_side, parts_of, workload_of
from .sweep_kernel import measure, measure_on_linux

COMMAND = Command("compare", machine=True, built="sim", examples=(
    ("cfs eevdf pipes --seeds 1..20 --time 50ms", "twenty short runs of each, in pairs"),
    ("eevdf+base_slice_ns=3000000 eevdf cpus=2+hogs:n=3+bursts:n=2 --time 100ms", "two values of a tunable"),
))

EXAMPLES = ROOT / "examples"
# name -> the simulator's workload, and a command of the kernel's shell that is like it
WORKLOADS = {
    "shares": ("cpus=2+hogs:n=3+hogs:n=2,nice=5", "hog -q -N 0,0,0,5,5 -t {time}"),
    "sleepers": ("cpus=2+hogs:n=4+bursts:n=4,run=1ms-3ms,sleep=5ms-15ms",
                 "mix -t {time} hog:n=4 burst:n=4,run=2ms,sleep=10ms"),
    "messages": ("cpus=4+messages:n=2,workers=8,run=1ms-5ms", "schbench -m 2 -t 8 -c 3000 -s 1000 -r 1 -w 0 -i 0"),
    "pipes": ("cpus=4+pipes:groups=2", "hack -g 2 -f 4 -l 20"),
    "jobs": ("topology=2x4x1+jobs:n=12,run=2ms-20ms", "jobpool -n 12 -p 1 -r 20ms -i 1us -t {time}"),
}
PICTURES = (".svg", ".pdf", ".png")
SHORT = 24  # characters of a side that stands in the table itself; longer ones have a letter there
METRICS = {"wait_ms": "mean wait, ms", "wait_p99_ms": "p99 of waits, ms", "wake_p99_ms": "p99 of wakeups, ms",
           "unfair": "farthest from the ideal share, %", "done_ms": "CPU time of tasks, ms", "switches": "switches",
           "migrations": "migrations", "wasted_ms": "wasted, CPU ms"}


def figures(result: dict[str, Any], capacity_ns: int) -> dict[str, float]:
    """The metrics of one run from schedsim's JSON; waits of all tasks together, their worst 99th percentile."""
    tasks = result["tasks"]
    nr = sum(task["wait_ns"]["n"] for task in tasks)
    waited = sum(task["wait_ns"]["mean"] * task["wait_ns"]["n"] for task in tasks)
    return {"wait_ms": waited / nr / 1e6 if nr else 0.0,
            "wait_p99_ms": max((task["wait_ns"]["p99"] for task in tasks), default=0) / 1e6,
            "wake_p99_ms": max((task["wakeup_ns"]["p99"] for task in tasks), default=0) / 1e6,
            "unfair": 100 * max((abs(task["cpu_ns"] - task["ideal_ns"]) for task in tasks), default=0) / capacity_ns,
            "done_ms": sum(task["cpu_ns"] for task in tasks) / 1e6, "switches": result["switches"],
            "migrations": sum(task["migrations"] for task in tasks), "wasted_ms": result["waste_ns"] / 1e6}


@dataclass
class Comparison:
    """What is to be compared."""

    settings: Settings
    sides: Sequence[Side]
    workloads: Sequence[Workload]
    seeds: Sequence[int]
    time: str

    def build(self, side: Side) -> str:
        """The build directory of the programs that @side runs."""
        rev = side.parts.get(COMMIT)
        return self.settings.build if rev is None else build_of(
            rev, self.settings.build, "image" if side.host == KERNEL else "sim")

    def runner(self, side: Side, workload: Workload) -> Callable[[int], dict[str, float]]:
        """A function that makes the run of a seed and returns its metrics. SchedulerEnded if they are not @side's."""
        build = self.build(side)
        if side.host != SIMULATOR:
            run: Callable[[Settings, str], dict[str, float]] = measure
            if side.linux:
                run = functools.partial(measure_on_linux, side.linux)
            for seed in self.seeds[:1]:  # what cannot be is said before anything runs
                side.boot(workload, self.settings, seed), side.command(workload, seed, self.time)
            return lambda seed: run(make_settings(side.boot(workload, self.settings, seed), build=build),
                                    side.command(workload, seed, self.time))
        if not workload.simulator:
            raise UsageError(f"{workload.name}: commands of the kernel's shell; kernel: in front of a side runs them")

        def simulated(seed: int) -> dict[str, float]:
            data = simulator.results(build, side.words(workload, self.settings, seed, self.time))
            return figures(data["results"][0], data["duration_ns"] * data["cpus"])

        return simulated

    def collect(self) -> dict[int, dict[str, Any]]:
        """by_seed[seed][host][side][workload]: metrics."""
        host = host_of(self.sides)
        runners = {(side.text, workload.name): self.runner(side, workload) for side in self.sides
                   for workload in self.workloads}
        wanted = [(seed, *key) for seed in self.seeds for key in runners]

        def run(seed: int, side: str, workload: str) -> dict[str, float]:
            try:
                return runners[side, workload](seed)
            except SchedulerEnded as error:
                raise SchedulerEnded(f"{side}, {workload}, seed {seed}: {error}") from None

        found: dict[int, dict[str, Any]] = {seed: {host: {side.text: {} for side in self.sides}}
                                            for seed in self.seeds}
        with Progress("runs", len(wanted)) as progress, at_once() as pool:
            done = pool.map(lambda each: run(*each), wanted)
            for (seed, side, name), metrics in zip(wanted, done):
                found[seed][host][side][name] = metrics
                progress.step()
        return found


def host_of(sides: Sequence[Side]) -> str:
    """Where the runs are made, in words."""
    return " and ".join(dict.fromkeys(side.host for side in sides))


@functools.cache
def known_workloads() -> dict[str, Workload]:
    """The workloads that have names: those above, and every rt-app file of examples/."""
    files = {path.stem: (f"cpus=4+{os.path.relpath(path)}", "") for path in sorted(EXAMPLES.glob("*.json"))}
    return {name: replace(workload_of(text), name=name, kernel=kernel)
            for name, (text, kernel) in {**WORKLOADS, **files}.items()}


def chosen_workloads(words: Sequence[str], sides: Sequence[Side]) -> list[Workload]:
    """The workloads of @words: by name, files, or built-in ones. Without any: all with a name that all sides run."""
    known = known_workloads()
    if not words:
        in_kernel = any(side.host != SIMULATOR for side in sides)
        return [each for each in known.values() if each.kernel or not in_kernel]
    return [known.get(word) or workload_of(word) for word in dict.fromkeys(words)]


def chosen_sides(words: Sequence[str]) -> tuple[list[Side], Sequence[str]]:
    """The sides with which @words begin, and the other words."""
    nr = next((nr for nr, word in enumerate(words) if not is_side(word)), len(words))
    for word in words[nr:]:
        if word not in known_workloads():
            workload_of(word)  # it says what is wrong with it
    if nr < 2:
        raise UsageError(f"{' '.join(words)}: two or more sides are expected, then workloads: cfs eevdf shares")
    return [Side(text, parts_of(text)) for text in words[:nr]], words[nr:]


def effective(side: Side, settings: Settings) -> dict[str, str]:
    """What @side sets, and what counts where it sets nothing of that."""
    own = {release: policy for policy, release in KERNELS.items()}.get(side.linux or "")
    parts = {POLICY: own or settings.sched, HOST: SIMULATOR, **side.parts}
    return {**parts, COMMIT: commit_named(parts[COMMIT])} if COMMIT in parts else parts


def differences(settings: Settings, sides: Sequence[Side]) -> list[str]:
    """A sentence for each side that differs from the first in several things. UsageError if two are the same."""
    found = []
    all_parts = [effective(side, settings) for side in sides]
    for nr, (side, parts) in enumerate(zip(sides, all_parts)):
        if parts in all_parts[:nr]:
            raise UsageError(f"{sides[all_parts.index(parts)].text} and {side.text} are the same side; different ones "
                             "are expected")
        changed = [name for name in dict.fromkeys([*all_parts[0], *parts])
                   if parts.get(name) != all_parts[0].get(name)]
        if len(changed) > 1:
            found.append(f"{side.text} differs from {sides[0].text} in {len(changed)} things, {', '.join(changed)}: "
                         "a difference may come of any of them")
    return found


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="SIDE... WORKLOAD...", help="two or more sides, the first is what "
                        "the others are compared with; then workloads, by default all: docs/measuring.md")
    parser.add_argument("--seeds", default="1..20", help="a run of each; default: 1..20")
    parser.add_argument("--time", default="1s", help="simulated time of a run; default: 1s")
    parser.add_argument("--within", default="1", metavar="PERCENT", help="what counts as equal; default: 1")
    parser.add_argument("--out", help="save the picture here")


def save_picture(found: Sequence[samples.Series], path: str) -> str:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return f"no picture: matplotlib is missing ({brings('matplotlib')} brings it)"
    texts_as_they_are()
    figure = Figure(layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    samples.draw(figure, found)
    try:
        with whole.unfinished(path) as part:
            figure.savefig(part, bbox_inches="tight")
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror or error}") from error
    return f"picture: {path}"


def check_picture(path: str) -> None:
    """Refuse, before the runs and not after them, a picture that cannot be written."""
    if Path(path).suffix not in PICTURES:
        raise UsageError(f"--out {path}: a name that ends in {', '.join(PICTURES)} is expected")
    whole.check_place("--out ", path)


def letters(sides: Sequence[Side]) -> dict[str, str]:
    """How each side is called in the table: as it is, or by a letter if one is long."""
    if all(len(side.text) <= SHORT for side in sides):
        return {side.text: side.text for side in sides}
    return {side.text: chr(ord("A") + nr) if nr < 26 else f"side {nr + 1}" for nr, side in enumerate(sides)}


def too_few(compared: Sequence[samples.Compared], nr: int) -> list[str]:
    tests = max((one.tests for one in compared), default=0)
    return [] if not tests or nr >= stats.fewest(tests) else [
        f"too few seeds for a verdict in {tests} tests: {stats.fewest(tests)} at least (docs/measuring.md)"]


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """compare policies, tunables, machines, commits, hosts or traces in pairs of runs: differences, intervals, tests"""
    sides, words = chosen_sides(arguments.words)
    notes = differences(settings, sides)
    within = parse_number("--within", arguments.within, 0, 100) / 100
    if arguments.out:
        check_picture(arguments.out)
    traced = [side for side in sides if side.trace]
    if traced:
        by_seed, about = recorded.collect(sides, words)
        head, said = about.head, about.lines
        notes += about.notes
    else:
        seeds = stats.parse_seeds(arguments.seeds)
        stats.check_pairs(len(seeds))
        of = Comparison(settings, sides, chosen_workloads(words, sides), seeds, arguments.time)
        by_seed = of.collect()
        head = result.of_settings(settings, sched=",".join(side.text for side in sides), seed=arguments.seeds,
                                  topology=None)
        said = [f"Fairground {commit()}: HZ={settings.hz} SEEDS={arguments.seeds}, {arguments.time}",
                *(each.said({side.host for side in sides}) for each in of.workloads)]
    names = letters(sides)
    found = list(samples.series(by_seed, METRICS))
    compared = samples.compare(found, within)
    lines = [said[0], f"command: {result.asked()}",
             *(f"{name}: {text}" for text, name in names.items() if name != text), *said[1:], *notes, "",
             samples.comparisons(compared, names), *too_few(compared, len(by_seed))]
    result.tell(lines, head, (one.as_json() for one in compared), time=None if traced else arguments.time,
                workloads=said[1:], notes=notes, samples=by_seed)
    if arguments.out:
        print(save_picture(found, arguments.out), file=sys.stderr)
    return 0

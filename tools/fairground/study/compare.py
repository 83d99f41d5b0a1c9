# SPDX-License-Identifier: GPL-2.0-only
"""`fairground compare`: two or more policies in the simulator, by runs of many seeds, each difference with a test."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import result
from ..base import samples, stats, whole
from ..base.packages import brings
from ..base.progress import Progress
from ..base.settings import SCHEDULERS, Settings, UsageError
from ..base.tree import ROOT
from ..machine import simulator
from ..machine.machine import at_once, commit
from ..machine.qemu import QemuError
from ..pictures.style import texts_as_they_are
from ..words import Command

COMMAND = Command("compare", machine=True, built="sim", examples=(
    ("cfs,eevdf pipes --seeds 1..20 --time 50ms", "twenty short runs of each, and tests of the differences"),
))

EXAMPLES = ROOT / "examples"
# name -> schedsim's words; also every rt-app file of examples/
WORKLOADS = {
    "shares": "--cpus 2 hogs:n=3 hogs:n=2,nice=5",
    "sleepers": "--cpus 2 hogs:n=4 bursts:n=4,run=1ms-3ms,sleep=5ms-15ms",
    "messages": "--cpus 4 messages:n=2,workers=8,run=1ms-5ms",
    "pipes": "--cpus 4 pipes:groups=2",
    "jobs": "--topology 2x4x1 jobs:n=12,run=2ms-20ms",
}
PICTURES = (".svg", ".pdf", ".png")
COSTS = ("--cost-switch", "2us", "--cost-tick", "1us", "--cost-wake", "1us", "--cost-migration", "5us")
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


def simulate(build: str, words: Sequence[str]) -> dict[str, Any]:
    """schedsim's JSON of a run."""
    program = simulator.program(build)
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        path = Path(directory, "run.json")
        done = subprocess.run([program, "--json", str(path), *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise QemuError(f"schedsim {' '.join(words)}: {done.stderr.strip() or done.returncode}")
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return data


def run(settings: Settings, workload: str, policy: str, seed: int, time: str) -> dict[str, float]:
    """The metrics of one run, which varies with @seed. An --hz among the words of @workload counts more."""
    words = ["--sched", policy, "--hz", str(settings.hz), "--seed", str(seed), "--vary", str(seed), "--time", time,
             *COSTS, *workload.split()]
    data = simulate(settings.build, words)
    return figures(data["results"][0], data["duration_ns"] * data["cpus"])


def workloads(words: Sequence[str]) -> dict[str, str]:
    """The workloads of @words, by name: of those here, files, or words for schedsim. Without any: all of them here."""
    examples = sorted(EXAMPLES.glob("*.json"))
    known = {**WORKLOADS, **{path.stem: f"--cpus 4 {os.path.relpath(path)}" for path in examples}}
    if not words:
        return known
    return {word: known.get(word, word) for word in words}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policies", help="two or more, as cfs,eevdf: the first is what the others are compared with")
    parser.add_argument("workloads", nargs="*", help="of examples/ or of docs/measuring.md, or words for schedsim in "
                        "one argument; default: all of them")
    parser.add_argument("--seeds", default="1..20", help="a run of each; default: 1..20")
    parser.add_argument("--time", default="1s", help="simulated time of a run; default: 1s")
    parser.add_argument("--out", help="save the picture here")


def collect(settings: Settings, chosen: dict[str, str], policies: Sequence[str], seeds: Sequence[int],
            time: str) -> dict[int, dict[str, Any]]:
    """by_seed[seed]["simulator"][policy][workload]: metrics."""
    wanted = [(seed, policy, name) for seed in seeds for policy in policies for name in chosen]
    found: dict[int, dict[str, Any]] = {seed: {"simulator": {policy: {} for policy in policies}} for seed in seeds}
    with Progress("runs", len(wanted)) as progress, at_once() as pool:
        done = pool.map(lambda w: run(settings, chosen[w[2]], w[1], w[0], time), wanted)
        for (seed, policy, name), metrics in zip(wanted, done):
            found[seed]["simulator"][policy][name] = metrics
            progress.step()
    return found


def save_picture(found: Sequence[samples.Series], path: str) -> str:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return f"no picture: matplotlib is missing ({brings('pictures')} brings it)"
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


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """compare policies in the simulator by runs of many seeds: means, intervals, sizes of differences, tests"""
    policies = arguments.policies.split(",")
    for policy in policies:
        if policy not in SCHEDULERS:
            raise UsageError(f"{policy}: one of {', '.join(SCHEDULERS)} is expected")
    if len(set(policies)) < 2 or len(set(policies)) != len(policies):
        raise UsageError(f"{arguments.policies}: two or more different policies are expected, as cfs,eevdf")
    seeds = stats.parse_seeds(arguments.seeds)
    if arguments.out:
        check_picture(arguments.out)
    chosen = workloads(arguments.workloads)
    by_seed = collect(settings, chosen, policies, seeds, arguments.time)
    found = list(samples.series(by_seed, METRICS))
    compared = samples.compare(found)
    hz = None if any("--hz" in words.split() for words in chosen.values()) else settings.hz
    header = f"Fairground {commit()}: {', '.join(policies)}; {f'HZ={hz} ' if hz else ''}SEEDS={arguments.seeds}, " \
             f"{arguments.time}; {' '.join(COSTS)}"
    named = [f"{name}: {words}" for name, words in chosen.items() if name != words]
    lines = [header, f"command: {result.asked()}", *named, "", samples.comparisons(compared)]
    tests = max((one.tests for one in compared), default=0)
    if len(seeds) < stats.fewest(tests):
        lines.append(f"too few seeds for a verdict in {tests} tests: {stats.fewest(tests)} at least "
                     "(docs/measuring.md)")
    head = result.of_settings(settings, sched=",".join(policies), seed=arguments.seeds, hz=hz, topology=None)
    result.tell(lines, head, (one.as_json() for one in compared), time=arguments.time, workloads=chosen,
                samples=by_seed)
    if arguments.out:
        print(save_picture(found, arguments.out), file=sys.stderr)
    return 0

# SPDX-License-Identifier: GPL-2.0-only
"""Runs of an experiment's cases: what was run, where, and what it left."""

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..base.expect import Missing
from ..base.settings import Settings
from ..machine import simulator
from ..machine.image import Event
from ..machine.machine import at_once
from ..machine.scheduler_end import check_results
from ..trace import latency
from ..trace.record import run_recorded, run_unrecorded
from ..trace.timeline import EVENTS
from ..trace.tracefile import TraceFile
from .claims import KERNEL, SIMULATOR, Claim, Results, rule
from .experiment_file import Experiment


@dataclass
class Run:
    """One run of one case: where it happened and what it left."""

    host: str
    sched: str
    case: str
    seconds: int
    path: str
    console: str = ""

    @cached_property
    def trace(self) -> TraceFile:
        return TraceFile(self.path)

    def task(self, name: str) -> dict[str, Any]:
        """The figures of the tasks @name in the simulator's JSON. Raises Missing if there are none."""
        with open(json_of(self.path), encoding="utf-8") as f:
            tasks = {task["name"]: task for task in json.load(f)["results"][0]["tasks"]}
        if name not in tasks:
            raise Missing(f"{json_of(self.path)}: no tasks {name}; there are {', '.join(tasks)}")
        return dict(tasks[name])

    def events(self, names: Sequence[str] | None = None) -> Iterator[Event]:
        return self.trace.events(names)

    def latencies(self, cpus: set[int] | None = None) -> latency.Latencies:
        return latency.latencies(self.events(EVENTS), cpus)

    def digest(self) -> str:
        """A digest of all that the run left: what it printed and its trace, if it has one."""
        found = hashlib.sha256(self.console.encode())
        if os.path.exists(self.path):
            with open(self.path, "rb") as f:
                found.update(f.read())
        return found.hexdigest()


def json_of(path: str) -> str:
    """Where the simulator leaves its results, beside the trace @path."""
    return path.removesuffix("dat") + "json"


def same_twice(experiment: Experiment, case: str) -> Callable[[Results], int]:
    """A function of the results: did both runs of @case leave the same bytes, under each scheduler?"""
    return lambda results: min(results[sched][case]["same_twice"] for sched in experiment.policies)


def claims_of(experiment: Experiment) -> list[Claim]:
    """The experiment's own claims, and for each case that runs twice the claim that both runs are the same."""
    return experiment.claims() + [
        rule(f"{case}, run twice: the same bytes", "1", experiment.policies, lambda v: v == 1,
             same_twice(experiment, case), "{:.0f}", hosts=(KERNEL,))
        for case in experiment.twice]


def other_start(seed: int) -> str:
    """Commands of the kernel's shell that change when, after which processes and in which memory a run starts."""
    draw = random.Random(seed)
    return "; ".join(["true"] * draw.randrange(8) + [f"usleep {draw.randrange(20_000)}"])


class Lab:
    """Runs the cases of one experiment under some schedulers."""

    def __init__(self, experiment: Experiment, settings: Settings, directory: str, seconds: int | None = None,
                 varied: bool = False) -> None:
        """@varied: the run is one sample of many; settings.seed says which."""
        self.varied = varied
        self.experiment, self.settings, self.directory = experiment, settings, directory
        self.seconds = seconds or experiment.seconds
        self.costs: dict[str, int] = {}      # of the kernel's operations, for the simulator
        self.workloads: dict[str, list[str]] = {}  # by case: an rt-app file, or workloads of the simulator's
        os.makedirs(directory, exist_ok=True)

    def run(self, host: str, sched: str, case: str, more: str = "") -> Run:
        out = os.path.join(self.directory, f"{sched.replace('/', '-')}-{case}-{host}{more}.dat")
        settings = replace(self.settings, sched=sched)
        events = self.experiment.events
        if host == KERNEL and not events:
            console = run_unrecorded(settings, self.kernel(case))
        elif host == KERNEL:
            console = run_recorded(settings, self.kernel(case), out, events)
        else:
            console = simulator.run(settings, self.workloads[case], out if events else None, self.costs,
                                    [*self.more(case), "--json", json_of(out)])
            with open(json_of(out), encoding="utf-8") as f:
                check_results(json.load(f))
        if host == KERNEL:
            with open(out.removesuffix("dat") + "log", "w", encoding="utf-8") as f:
                f.write(console)
        return Run(host, sched, case, self.seconds, out, console)

    def more(self, case: str) -> list[str]:
        vary = ["--vary", str(self.settings.seed)] if self.varied else []
        return [*self.experiment.simulate(case, self.seconds), *vary]

    def kernel(self, case: str) -> str:
        command = self.experiment.kernel(case, self.seconds)
        return f"{other_start(self.settings.seed)}; {command}" if self.varied else command

    def commands(self, hosts: Sequence[str], scheds: Sequence[str]) -> Iterator[str]:
        """The commands that are going to be run, one line each."""
        for case in self.experiment.cases:
            if any(self.runs(KERNEL, sched, case) for sched in scheds if KERNEL in hosts):
                yield f"kernel, {case}: {self.kernel(case)}"
        for case in self.experiment.cases if SIMULATOR in hosts else ():
            if any(self.runs(SIMULATOR, sched, case) for sched in scheds):
                workload = self.experiment.workload(case, self.seconds, self.settings.seed)
                named = workload.split() if isinstance(workload, str) else f"{case}.json"
                words = simulator.command(self.settings, named, None, self.costs, self.more(case))
                yield f"simulator, {case}: {' '.join(words)}"

    def machines(self, hosts: Sequence[str], scheds: Sequence[str]) -> str:
        """How many CPUs the machines of @hosts have. The simulator's may depend on the case."""
        simulated = sorted({simulator.cpus(self.settings, self.more(case)) for case in self.experiment.cases
                            if SIMULATOR in hosts and any(self.runs(SIMULATOR, sched, case) for sched in scheds)})
        words = [f"kernel SMP={self.settings.smp} ICOUNT=1"] if KERNEL in hosts else []
        words += [f"simulator {','.join(map(str, simulated))} CPUs"] if simulated else []
        return ", ".join(words)

    def runs(self, host: str, sched: str, case: str) -> bool:
        return self.experiment.runs(host, sched, case)

    def results(self, hosts: Sequence[str], scheds: Sequence[str],
                progress: Callable[[str], object] = lambda text: None) -> dict[str, Results]:
        """results[host][scheduler][case]: figures. Each processor has one run at a time."""
        wanted = [(h, s, c, "") for h in hosts for s in scheds for c in self.experiment.cases
                  if self.runs(h, s, c)]
        for case in dict.fromkeys(c for h, _, c, _ in wanted if h == SIMULATOR):
            workload = self.experiment.workload(case, self.seconds, self.settings.seed)
            if isinstance(workload, str):
                self.workloads[case] = workload.split()
                continue
            self.workloads[case] = [os.path.join(self.directory, f"{case}.json")]
            with open(self.workloads[case][0], "w", encoding="utf-8") as f:
                json.dump(workload, f, indent=1)
        for sched in scheds if SIMULATOR in hosts else ():
            simulator.policy_words(sched, self.settings.build)  # a name that is none is said before anything runs
        found: dict[str, Results] = {host: {sched: {} for sched in scheds} for host in hosts}
        wanted += [(h, s, c, "-again") for h, s, c, _ in wanted if h == KERNEL and c in self.experiment.twice]
        first: dict[tuple[str, str], str] = {}
        with at_once() as pool:
            for (host, sched, case, again), run in zip(wanted, pool.map(lambda w: self.run(*w), wanted)):
                if again:
                    found[host][sched][case]["same_twice"] = int(run.digest() == first[sched, case])
                else:
                    found[host][sched][case] = self.experiment.measure(run)
                    if host == KERNEL and case in self.experiment.twice:
                        first[sched, case] = run.digest()
                progress(f"{host} {sched} {case}{' again' if again else ''}")
        return found

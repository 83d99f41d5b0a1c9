# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments, repeated in the kernel and in the simulator: `make experiment NAME=...`.

An experiment is a file in experiments/, named like the experiment with `_` for `-`. It holds

    TITLE, SOURCE       one sentence each; SOURCE: where the published figures come from
    SETTINGS            settings of the machine (settings.py) that belong to the experiment
    TIMEOUT             optional, text: the time limit of a run in seconds of the host; the user's own comes first
    SECONDS             how long its workload runs; the user's SECS=... replaces it where that makes sense
    SCHEDULERS, CASES   each scheduler runs each case
    runs(host, sched, case)  optional: whether that combination is run; without it all are
    TWICE               optional: cases that the kernel runs twice, with the claim that both runs leave the same bytes
    EVENTS              optional: what is recorded; "" records nothing, and figures come from what the run printed
    HOSTS               optional: ("kernel",) or ("simulator",) if only that host can express the workload; the
                        functions for the other host may then be missing
    kernel(case, seconds)    the command line for the kernel's shell
    workload(case, seconds)  the same as rt-app JSON, for the simulator, or the text of one of its own workloads
    simulate(case, seconds)  optional: more options for schedsim; --topology then also sets the number of CPUs
    measure(run)        figures (name -> number or list) from a Run's trace
    claims()            what must hold: near() and rule(); what is only printed: shown()
    draw(figure, results)    the picture; results[host][scheduler][case] are figures

and nothing that depends on the host: kernel and simulator leave a trace.dat of the same form.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import importlib
import json
import os
import pkgutil
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from . import experiments, latency, simulator
from .calibrate import calibrate
from .image import Event, TraceError
from .machine import commit
from .record import RecordError, run_recorded, run_unrecorded
from .settings import SCHEDULERS, Settings, UsageError, make_settings
from .timeline import EVENTS
from .tracefile import TraceFile

Figures = dict[str, Any]                  # what was measured in one run
Results = dict[str, dict[str, Figures]]   # of one host: results[scheduler][case]
Row = dict[str, Any]                      # of the table: a claim, its values and the verdict

KERNEL, SIMULATOR = "kernel", "simulator"
HOSTS = (KERNEL, SIMULATOR)
TRACED = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_process_exit," \
         "sched:sched_process_fork,sched:sched_migrate_task"
TABLE = "{:<52} {:>10} {:>10} {:>10}  {:<15} {}"


# --- what an experiment's file says -----------------------------------------------------------------------------------


@dataclass
class Claim:
    """One line of the table: a value that must have a property, wherever it was measured."""

    text: str
    published: str
    bound: str
    needs: tuple[str, ...]  # the schedulers it is about
    holds: Callable[[Any], bool]
    value: Callable[[Results], Any]  # from the results of one host
    form: str
    hosts: tuple[str, ...] = HOSTS
    judged: bool = True  # False: a figure to look at, not a claim

    def judge(self, results: dict[str, Results]) -> Row:
        """A row of the table: the values of each host, and the hosts where the claim does not hold."""
        values = {host: self.value(of_host) for host, of_host in results.items() if host in self.hosts}
        failed = [host for host, value in values.items() if not self.holds(value)]
        return {"claim": self.text, "published": self.published, "bound": self.bound, "values": values,
                "shown": {host: self.form.format(value) for host, value in values.items()},
                "failed": failed, "pass": not failed, "judged": self.judged}


def near(text: str, published: float, within: float, needs: Sequence[str], value: Callable[[Results], Any],
         form: str = "{:.3f}") -> Claim:
    """The claim that @value is the @published one, give or take the part @within."""
    return Claim(text, form.format(published), f"+-{100 * within:g} %", tuple(needs),
                 lambda v: abs(v - published) <= within * abs(published), value, form)


def rule(text: str, bound: str, needs: Sequence[str], holds: Callable[[Any], bool], value: Callable[[Results], Any],
         form: str = "{:.3f}", published: str = "-", hosts: tuple[str, ...] = HOSTS) -> Claim:
    """The claim that @holds(@value); @bound says the same in words."""
    return Claim(text, published, bound, tuple(needs), holds, value, form, hosts)


def shown(text: str, needs: Sequence[str], value: Callable[[Results], Any], form: str = "{:.3f}",
          published: str = "-") -> Claim:
    """A line of the table for @value, about which nothing is claimed."""
    return Claim(text, published, "none", tuple(needs), lambda v: True, value, form, judged=False)


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


# --- running ----------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """Every experiment there is."""
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(experiments.__path__))


def load(name: str) -> ModuleType:
    if name not in names():
        raise UsageError(f"NAME={name}: there is no such experiment, only {', '.join(names())}")
    return importlib.import_module(f"{experiments.__name__}.{name.replace('-', '_')}")


def cases_twice(module: ModuleType) -> Sequence[str]:
    return getattr(module, "TWICE", ())


def same_twice(module: ModuleType, case: str) -> Callable[[Results], int]:
    """A function of the results: did both runs of @case leave the same bytes, under each scheduler?"""
    return lambda results: min(results[sched][case]["same_twice"] for sched in module.SCHEDULERS)


def claims_of(module: ModuleType) -> list[Claim]:
    """The experiment's own claims, and for each case that runs twice the claim that both runs are the same."""
    return module.claims() + [
        rule(f"{case}, run twice: the same bytes", "1", module.SCHEDULERS, lambda v: v == 1,
             same_twice(module, case), "{:.0f}", hosts=(KERNEL,))
        for case in cases_twice(module)]


@contextlib.contextmanager
def at_once() -> Iterator[concurrent.futures.Executor]:
    """A pool with a thread for each processor. If it is left early, nothing more is begun."""
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class Lab:
    """Runs the cases of one experiment under some schedulers."""

    def __init__(self, module: ModuleType, settings: Settings, directory: str, seconds: int | None = None) -> None:
        self.module, self.settings, self.directory = module, settings, directory
        self.seconds = seconds or module.SECONDS
        self.costs: dict[str, int] = {}      # of the kernel's operations, for the simulator
        self.workloads: dict[str, str] = {}  # by case: an rt-app file, or the text of a workload of the simulator's
        os.makedirs(directory, exist_ok=True)

    def run(self, host: str, sched: str, case: str, more: str = "") -> Run:
        out = os.path.join(self.directory, f"{sched}-{case}-{host}{more}.dat")
        settings = replace(self.settings, sched=sched)
        events = getattr(self.module, "EVENTS", TRACED)
        if host == KERNEL and not events:
            console = run_unrecorded(settings, self.module.kernel(case, self.seconds))
        elif host == KERNEL:
            console = run_recorded(settings, self.module.kernel(case, self.seconds), out, events)
        else:
            console = simulator.run(settings, self.workloads[case], out if events else None, self.costs,
                                    self.more(case))
        if host == KERNEL:
            with open(out.removesuffix("dat") + "log", "w", encoding="utf-8") as f:
                f.write(console)
        return Run(host, sched, case, self.seconds, out, console)

    def more(self, case: str) -> list[str]:
        simulate: Callable[[str, int], list[str]] | None = getattr(self.module, "simulate", None)
        return simulate(case, self.seconds) if simulate else []

    def commands(self, hosts: Sequence[str], scheds: Sequence[str]) -> Iterator[str]:
        """The commands that are going to be run, one line each."""
        for case in self.module.CASES:
            if any(self.runs(KERNEL, sched, case) for sched in scheds if KERNEL in hosts):
                yield f"kernel, {case}: {self.module.kernel(case, self.seconds)}"
        if SIMULATOR in hosts and not hasattr(self.module, "simulate"):
            words = simulator.command(self.settings, "CASE.json", "SCHED-CASE-simulator.dat", self.costs)
            yield f"simulator, with the kernel's costs: {' '.join(words)}"
        for case in self.module.CASES if SIMULATOR in hosts and hasattr(self.module, "simulate") else ():
            if any(self.runs(SIMULATOR, sched, case) for sched in scheds):
                workload = self.module.workload(case, self.seconds)
                words = simulator.command(self.settings, workload if isinstance(workload, str) else f"{case}.json",
                                          None, self.costs, self.more(case))
                yield f"simulator, {case}: {' '.join(words)}"

    def machines(self, hosts: Sequence[str], scheds: Sequence[str]) -> str:
        """How many CPUs the machines of @hosts have. The simulator's may depend on the case."""
        simulated = sorted({simulator.cpus(self.settings, self.more(case)) for case in self.module.CASES
                            if SIMULATOR in hosts and any(self.runs(SIMULATOR, sched, case) for sched in scheds)})
        words = [f"kernel SMP={self.settings.smp} ICOUNT=1"] if KERNEL in hosts else []
        words += [f"simulator {','.join(map(str, simulated))} CPUs"] if simulated else []
        return ", ".join(words)

    def runs(self, host: str, sched: str, case: str) -> bool:
        return getattr(self.module, "runs", lambda *_: True)(host, sched, case)

    def results(self, hosts: Sequence[str], scheds: Sequence[str],
                progress: Callable[[str], object] = lambda text: None) -> dict[str, Results]:
        """results[host][scheduler][case]: figures. Each processor has one run at a time."""
        wanted = [(h, s, c, "") for h in hosts for s in scheds for c in self.module.CASES
                  if self.runs(h, s, c)]
        for case in dict.fromkeys(c for h, _, c, _ in wanted if h == SIMULATOR):
            self.workloads[case] = workload = self.module.workload(case, self.seconds)
            if isinstance(workload, str):
                continue
            self.workloads[case] = os.path.join(self.directory, f"{case}.json")
            with open(self.workloads[case], "w", encoding="utf-8") as f:
                json.dump(workload, f, indent=1)
        found: dict[str, Results] = {host: {sched: {} for sched in scheds} for host in hosts}
        wanted += [(h, s, c, "-again") for h, s, c, _ in wanted if h == KERNEL and c in cases_twice(self.module)]
        first: dict[tuple[str, str], str] = {}
        with at_once() as pool:
            for (host, sched, case, again), run in zip(wanted, pool.map(lambda w: self.run(*w), wanted)):
                if again:
                    found[host][sched][case]["same_twice"] = int(run.digest() == first[sched, case])
                else:
                    found[host][sched][case] = self.module.measure(run)
                    if host == KERNEL and case in cases_twice(self.module):
                        first[sched, case] = run.digest()
                progress(f"{host} {sched} {case}{' again' if again else ''}")
        return found


# --- printing --------------------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    lines = [TABLE.format("quantity", "published", *HOSTS, "bound", "verdict")]
    for row in rows:
        verdict = "PASS" if row["pass"] else "FAIL in the " + " and the ".join(row["failed"])
        verdict = verdict if row["judged"] else "shown"
        lines.append(TABLE.format(row["claim"], row["published"], *(row["shown"].get(h, "-") for h in HOSTS),
                                  row["bound"], verdict))
    return "\n".join(lines)


def draw_picture(module: ModuleType, results: dict[str, Results], header: str) -> Any:
    """The experiment's picture, a matplotlib Figure under its title and @header. ImportError without matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    width, height = getattr(module, "SIZE", (11, 4.2))
    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    module.draw(figure, results)
    title = [part for line in (module.TITLE, *header.split("\n")) for part in textwrap.wrap(line, int(14 * width))]
    figure.suptitle("\n".join(title), fontsize=9)
    show_bars_from_zero(figure)
    return figure


def save_picture(module: ModuleType, results: dict[str, Results], header: str, path: str) -> str:
    """Save the experiment's picture. Returns one line for the user, also when matplotlib is missing."""
    try:
        figure = draw_picture(module, results, header)
    except ImportError:
        return "no picture: python3-matplotlib is missing (sh tools/setup.sh installs it)"
    figure.savefig(path, bbox_inches="tight")  # as large as its labels need
    return f"picture: {path}"


def show_bars_from_zero(figure: Any) -> None:
    """A bar's length is its value: widen linear axes with bars until 0 is on them."""
    for axes in figure.axes:
        if axes.get_yscale() == "linear" and axes.containers:
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, 0), max(high, 0))


def settings_of(module: ModuleType, given: dict[str, str]) -> Settings:
    """The machine's settings: the experiment's own, and for all others the user's, @given as name -> text."""
    fixed = {**module.SETTINGS, "icount": "1", "kvm": "0"}
    for name, text in given.items():
        if text and name in fixed and text != fixed[name]:
            raise UsageError(f"{name.upper()}={text}: the experiment requires {name.upper()}={fixed[name]}")
    timeout = given.get("timeout") or str(getattr(module, "TIMEOUT", ""))
    return make_settings({**given, **fixed, "timeout": timeout, "sched": "", "cmd": ""})


def wanted_schedulers(module: ModuleType, text: str | None) -> Sequence[str]:
    """The experiment's schedulers, or those of them that the user names."""
    wanted = text.split(",") if text else module.SCHEDULERS
    for sched in wanted:
        if sched not in module.SCHEDULERS:
            raise UsageError(f"{sched}: the experiment compares {', '.join(module.SCHEDULERS)}")
        if sched not in SCHEDULERS:
            raise UsageError(f"the experiment needs the scheduler {sched}, which this kernel does not have")
    return wanted


def listing() -> str:
    lines = [f"  {name:<26} {load(name).TITLE}" for name in names()]
    return "\n".join(["make experiment NAME=... with one of", *lines])


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="which experiment; without a name they are listed")
    parser.add_argument("--scheds", help="some of the experiment's schedulers; default: all")
    parser.add_argument("--seconds", type=int, help="how long the workload runs; default: as the experiment says")
    parser.add_argument("--out", help="directory for its results; default: BUILD/experiments/NAME")
    parser.add_argument("--hosts", help="default: kernel,simulator, where the experiment has both")


def parse_hosts(module: ModuleType, text: str | None) -> Sequence[str]:
    possible = getattr(module, "HOSTS", HOSTS)
    hosts = text.split(",") if text else possible
    for host in hosts:
        if host not in HOSTS:
            raise UsageError(f"HOSTS={text}: kernel, simulator or kernel,simulator is expected")
        if host not in possible:
            raise UsageError(f"HOSTS={text}: this experiment is only possible in the {' and the '.join(possible)}")
    return hosts


def command_for(name: str, settings: Settings, scheds: Sequence[str], hosts: Sequence[str], seconds: int | None) -> str:
    """The command that repeats this run. It has options only where they differ from the experiment's own."""
    module = load(name)
    parts = {"SCHEDS": (scheds, module.SCHEDULERS), "HOSTS": (hosts, getattr(module, "HOSTS", HOSTS))}
    words = [f"{option}={','.join(chosen)}" for option, (chosen, all_of_them) in parts.items()
             if tuple(chosen) != tuple(all_of_them)]
    return " ".join(filter(None, [f"make experiment NAME={name}", settings.repeat("").removeprefix("make ").strip(),
                                  *words, f"SECS={seconds}" if seconds else ""]))


def perform(name: str, settings: Settings, scheds: Sequence[str], hosts: Sequence[str], directory: str,
            seconds: int | None = None, say: Callable[[str], object] = print) -> list[Row]:
    """Run the experiment @name and judge it. Returns the rows of its table."""
    module = load(name)
    work = directory.rstrip("/") + ".running"  # what is there already stays until this run is finished
    shutil.rmtree(work, ignore_errors=True)
    lab = Lab(module, settings, work, seconds)
    again = command_for(name, settings, scheds, hosts, seconds)
    header = (f"Fairground {commit()}: SCHED={','.join(scheds)} HZ={settings.hz} SEED={settings.seed}, "
              f"{lab.machines(hosts, scheds)}, {lab.seconds} s")
    say(f"{name}: {module.TITLE}\nPublished: {module.SOURCE}\n{header}\nAgain: {again}")
    if SIMULATOR in hosts:
        lab.costs = calibrate(settings, TRACED)
    for line in lab.commands(hosts, scheds):
        say(line)
    results = lab.results(hosts, scheds, lambda text: say(f"  {text}: done"))
    rows = [claim.judge(results) for claim in claims_of(module)
            if set(claim.needs) <= set(scheds) and set(claim.hosts) & set(hosts)]
    say("\n" + table(rows))
    with open(os.path.join(work, "results.json"), "w", encoding="utf-8") as f:
        json.dump({"experiment": name, "header": header, "again": again, "claims": rows, "figures": results}, f,
                  indent=1)
    picture = save_picture(module, results, header, os.path.join(work, f"{name}.png"))
    os.makedirs(directory, exist_ok=True)
    for file in os.listdir(work):
        os.replace(os.path.join(work, file), os.path.join(directory, file))
    os.rmdir(work)
    say(picture.replace(work, directory))
    say(f"figures, workloads and traces: {directory}/")
    return rows


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run a published experiment in the kernel and in the simulator and compare; without a name: list them"""
    if not arguments.name:
        print(listing())
        return 0
    module = load(arguments.name)
    if arguments.seconds is not None and arguments.seconds < 1:
        raise UsageError(f"SECS={arguments.seconds}: at least 1 is expected")
    scheds = wanted_schedulers(module, arguments.scheds or settings.given.get("sched"))
    settings = replace(settings_of(module, settings.given), build=settings.build, given=settings.given)
    hosts = parse_hosts(module, arguments.hosts)
    whole = (set(scheds) == set(module.SCHEDULERS) and set(hosts) == set(getattr(module, "HOSTS", HOSTS))
             and (arguments.seconds or module.SECONDS) == module.SECONDS)
    directory = arguments.out or os.path.join(settings.build, "experiments",
                                              arguments.name + ("" if whole else "-part"))
    try:
        rows = perform(arguments.name, settings, scheds, hosts, directory, arguments.seconds,
                       lambda text: print(text, flush=True))
    except (RecordError, TraceError) as error:
        print(f"fairground: {arguments.name}: {error}", file=sys.stderr)
        return 1
    if arguments.seconds is not None and arguments.seconds < module.SECONDS:
        print(f"shown, not judged: the claims are about runs of {module.SECONDS} s, not of {arguments.seconds}")
        return 0
    claimed = [row for row in rows if row["judged"]]
    failed = [row for row in claimed if not row["pass"]]
    print(f"{len(claimed) - len(failed)} of {len(claimed)} claims hold")
    return int(bool(failed) or not claimed)

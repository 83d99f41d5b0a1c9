# SPDX-License-Identifier: GPL-2.0-only
"""What a command or a trace cost: CPU time, switches, migrations and page faults, as `perf stat` prints them.

A command is counted as perf counts it: the shell that runs it, and all that this starts, until the shell ends. The last
switch of a task, which ends, is not among its switches, and a task that was moved several times before it ran again has
migrated once. With --all everything between the two moments is counted, the switches of the idle tasks too.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .. import result
from ..base.errors import reading
from ..base.option_values import parse_pids
from ..base.progress import Progress
from ..base.settings import Settings, UsageError
from ..base.stats import parse_seeds, standard_error
from ..machine.image import DAMAGED, Event, Image, TraceError, event_values, memory_file, text_of
from ..machine.machine import STATUS_NOT_STARTED, Machine, Outcome, at_once
from ..study.runs import other_start
from ..words import Command
from .record import RecordError, ended_well
from .records import decoder
from .timeline import SWITCH
from .trace import about, memory_directory, with_tracing
from .tracefile import TraceFile, lost_text

COMMAND = Command("stat", machine=True, built="image", examples=(
    ("--cmd 'hack -g 2' --icount 1", "one command"),
    ("hack.dat --per-thread", "the tasks of a trace"),
    ("--cmd 'hack -g 2' --icount 1 --seeds 1..5", "means of five runs, and their errors"),
    ("--all --no-aggr --cmd 'hack -g 2'", "the whole machine, CPU by CPU"),
))

MARK = "fairground stat"  # the shell writes it into the trace before it begins with the command
PRINT, FORK, EXIT, MIGRATE = "print", "sched_process_fork", "sched_process_exit", "sched_migrate_task"
FAULTS = ("page_fault_user", "page_fault_kernel")  # Linux has events for them; here is none
EVENTS = (SWITCH, MIGRATE, FORK, EXIT, PRINT, *FAULTS)
RECORDED = ",".join(f"sched:{name}" for name in (SWITCH, MIGRATE, FORK, EXIT))
ENDED = 0x30  # bits of prev_state: the task is dead
ONE_CPU_OF_ICOUNT = ("SMP=1 ", " ICOUNT=1")  # in what a trace says of its run: there a nanosecond is an instruction


@dataclass
class Counts:
    """What some tasks did on some CPUs."""

    clock_ns: int = 0
    switches: int = 0
    migrations: int = 0
    faults: int = 0

    def add(self, other: "Counts") -> None:
        self.clock_ns += other.clock_ns
        self.switches += other.switches
        self.migrations += other.migrations
        self.faults += other.faults


class Stat:
    """Counts events as they come: of @tree and what these tasks start, or of all if that is None."""

    def __init__(self, events: dict[str, Any], begin: int, tree: set[int] | None = None, follow_mark: bool = False,
                 system_wide: bool = False) -> None:
        """@events: formats by name. @follow_mark: only what follows the MARK counts, and of the task that made it."""
        fields = ("prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm")
        self._switch_of = decoder(events[SWITCH], fields, ("prev_comm", "next_comm"))
        self.start = self.end = begin
        self.by: dict[tuple[int, int], Counts] = {}  # by CPU and task; 0: the idle one
        self.names: dict[int, str] = {}
        self.knows_faults = False
        self._tree, self._follow_mark, self._system_wide = set(tree) if tree else None, follow_mark, system_wide
        self._named = tree or set()
        self._root = 0
        self._finished = False
        self._running: dict[int, tuple[int, int]] = {}  # CPU -> (task, since)
        self._last: dict[int, int] = {}                 # task -> CPU
        self._moved: set[int] = set()
        self._ended: set[int] = set()

    def take(self, event: Event) -> None:
        if self._finished:
            return
        self.end, kind = event.time, event.format.name
        if kind == SWITCH:
            self._switch(event)
        elif kind in FAULTS:
            self.knows_faults = True
            self._of(event.cpu, event.pid).faults += 1
        else:
            TAKE[kind](self, event, event_values(event))

    def _of(self, cpu: int, pid: int) -> Counts:
        """What counts for @pid on @cpu. Nobody sees what is counted for a task that is not wanted."""
        if self._tree is not None and pid not in self._tree:
            return Counts()
        return self.by.setdefault((cpu, pid), Counts())

    def _charge(self, cpu: int, pid: int, until: int) -> None:
        running, since = self._running.get(cpu, (pid, self.start))
        if running == pid:
            self._of(cpu, pid).clock_ns += until - max(since, self.start)

    def _switch(self, event: Event) -> None:
        prev, prev_comm, state, following, comm = self._switch_of(event.data)
        self.names[prev], self.names[following] = text_of(prev_comm), text_of(comm)
        if prev not in self._ended:
            self._charge(event.cpu, prev, event.time)
        if self._system_wide or not (prev in self._ended or state & ENDED):
            self._of(event.cpu, prev).switches += 1
        if following and (following in self._moved or self._last.get(following, event.cpu) != event.cpu):
            self._of(event.cpu, following).migrations += 1
        self._moved.discard(following)
        self._last[prev] = self._last[following] = event.cpu
        self._running[event.cpu] = following, event.time

    def _migrate(self, _: Event, values: dict[str, Any]) -> None:
        if values["orig_cpu"] != values["dest_cpu"]:
            self._moved.add(values["pid"])

    def _fork(self, _: Event, values: dict[str, Any]) -> None:
        child = values["child_pid"]
        self._ended.discard(child)
        if self._tree is not None and values["parent_pid"] in self._tree:
            self._tree.add(child)
        elif self._tree is not None and child not in self._named:
            self._tree.discard(child)  # the number of a task that ended

    def _exit(self, event: Event, values: dict[str, Any]) -> None:
        pid = values["pid"]
        self._charge(event.cpu, pid, event.time)
        self._ended.add(pid)
        if pid == self._root:
            self.finish(event.time)

    def _print(self, event: Event, values: dict[str, Any]) -> None:
        if self._follow_mark and str(values["buf"]).startswith(MARK):
            self._follow_mark, self._root, self.start = False, event.pid, event.time
            self._tree = None if self._system_wide else {event.pid}
            self.by.clear()

    def finish(self, end: int) -> None:
        """Nothing after @end counts. Who runs then ran until then."""
        if self._finished:
            return
        for cpu, (pid, _) in self._running.items():
            if pid not in self._ended:
                self._charge(cpu, pid, end)
        self._finished, self.end = True, end

    @property
    def began(self) -> bool:
        return not self._follow_mark


TAKE: dict[str, Callable[[Stat, Event, dict[str, Any]], None]] = {
    MIGRATE: Stat._migrate, FORK: Stat._fork, EXIT: Stat._exit, PRINT: Stat._print}


class Found(NamedTuple):
    """What was counted of one run: a number for each of NAMES, None if it is not known, of each that has a line."""

    head: result.Head
    elapsed_ns: int
    lines: dict[str, dict[str, float | None]]  # by its label: "" of all together, CPU0, or hack-12
    lost: int = 0
    outcome: Outcome | None = None
    run_lines: Sequence[str] = ()  # of a trace: which run it is of


NAMES = ("task-clock", "cpu-clock", "context-switches", "cpu-migrations", "page-faults", "instructions")
PER_SECOND = NAMES[2:5]


def label_of(cpu: int, pid: int, names: dict[int, str], arguments: argparse.Namespace) -> str:
    if arguments.no_aggr:
        return f"CPU{cpu}"
    return f"{names.get(pid, '?')}-{pid}" if arguments.per_thread else ""


def found_of(stat: Stat, cpus: int, about_run: str, arguments: argparse.Namespace, **more: Any) -> Found:
    """The numbers for the lines that @arguments ask for."""
    sums: dict[str, Counts] = {f"CPU{cpu}": Counts() for cpu in range(cpus)} if arguments.no_aggr else {}
    idle = arguments.all and not arguments.per_thread
    for (cpu, pid), counts in sorted(stat.by.items(), key=lambda row: (row[0][1], row[0][0])):
        if pid or idle:
            sums.setdefault(label_of(cpu, pid, stat.names, arguments), Counts()).add(counts)
    one_cpu = all(word in about_run for word in ONE_CPU_OF_ICOUNT)
    elapsed, lines = stat.end - stat.start, dict[str, dict[str, float | None]]()
    for label, counts in (sums or {"": Counts()}).items():
        wide = elapsed * (1 if arguments.no_aggr else cpus)
        clock, ms = ("cpu-clock", wide / 1e6) if idle else ("task-clock", counts.clock_ns / 1e6)
        lines[label] = {clock: ms, "context-switches": counts.switches, "cpu-migrations": counts.migrations,
                        "page-faults": counts.faults if stat.knows_faults else None,
                        "instructions": counts.clock_ns if one_cpu and not idle else None}
    return Found(result.of_trace(about_run), elapsed, lines, **more)


# --- where the events come from ---------------------------------------------------------------------------------------


def read(path: str, pids: set[int] | None, arguments: argparse.Namespace) -> Found:
    """Count the trace in the file @path."""
    trace = TraceFile(path)
    formats, spans, lost = {f.name: f for f in trace.formats.values()}, trace.spans(), trace.lost()
    if SWITCH not in formats or not spans:
        raise TraceError("nobody runs in this trace: it holds no sched_switch")
    stat = Stat(formats, min(first for first, _ in spans.values()), pids, system_wide=arguments.all)
    for event in trace.events(EVENTS):
        stat.take(event)
    stat.finish(max(last for _, last in spans.values()))
    if pids and not stat.by:
        raise TraceError(f"none of the tasks {', '.join(map(str, sorted(pids)))} runs in this trace")
    return found_of(stat, trace.cpus, trace.about, arguments, lost=lost, run_lines=trace.run_lines())


def run(settings: Settings, arguments: argparse.Namespace, echo: Callable[[str], object], before: str = "") -> Found:
    """Run CMD and count it. @before: commands that are not counted."""
    marked = f"{before}echo {MARK} > /sys/kernel/tracing/trace_marker\n{settings.cmd}"
    with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory:
        ram = os.path.join(directory, "ram")
        how = with_tracing(settings, ram, RECORDED)
        how.cmd = marked
        with Machine(how) as machine:
            outcome = machine.run(echo)
        image = Image(memory_file(ram))
        statistics_of = [image.statistics(cpu) for cpu in range(image.cpus)]
        stat = Stat({f.name: f for f in image.formats.values()}, 0, follow_mark=True, system_wide=arguments.all)
        for event in image.events():
            if event.format.name in EVENTS:
                stat.take(event)
        stat.finish(stat.end)
    if not stat.began:
        raise TraceError("the command did not begin" + (f": {outcome.problem}" if outcome.problem else
                         ", or the rings forgot when: MEM=... gives the tracer more room"))
    lost = sum(found.overwritten + found.dropped for found in statistics_of)
    return found_of(stat, settings.cpus, about(settings), arguments, lost=lost, outcome=outcome)


def run_seeds(settings: Settings, seeds: Sequence[int], arguments: argparse.Namespace) -> list[Found]:
    """A run for each of @seeds, which begins at another moment, after other processes."""
    def one(seed: int) -> Found:
        found = run(replace(settings, seed=seed), arguments, lambda _: None, other_start(seed) + "\n")
        assert found.outcome
        ended_well(found.outcome, settings.cmd)
        return found

    found = []
    with Progress("runs", len(seeds)) as progress, at_once() as pool:
        for each in pool.map(one, seeds):
            found.append(each)
            progress.step()
    return found


# --- what is printed --------------------------------------------------------------------------------------------------


def rate(per_second: float) -> str:
    """A number of events in a second as perf prints it."""
    for unit in ("", "K", "M"):
        if per_second < 1000 or unit == "M":
            break
        per_second /= 1000
    return f"{per_second:8.3f} {unit}/sec"


def value_text(name: str, value: float | None) -> str:
    """The value and its unit."""
    text = "<not counted>" if value is None else f"{value:,.2f}" if name.endswith("clock") else f"{value:,.0f}"
    return f"{text:>18} {'msec' if name.endswith('clock') else '':4} "


def variation(values: Sequence[float]) -> str:
    """The standard error in % of the mean, as perf prints it after several runs."""
    centre = statistics.fmean(values)
    return f"  ( +-{100 * standard_error(values) / centre if centre else 0:6.2f}% )" if len(values) > 1 else ""


def place(label: str, arguments: argparse.Namespace) -> str:
    """What stands before a value: whose it is."""
    if arguments.per_thread and label:
        name, _, pid = label.rpartition("-")
        return f"{name:>16}-{pid:<8} "
    return f"{label:<11}" if label else ""


def line(runs: Sequence[Found], label: str, name: str, arguments: argparse.Namespace) -> str:
    """A counter's line, of the mean of @runs."""
    values = [value for run in runs if (value := run.lines[label].get(name)) is not None]
    mean = statistics.fmean(values) if values else None
    text = place(label, arguments) + value_text(name, mean)
    metric = ""
    clock = statistics.fmean(run.lines[label].get("task-clock", run.lines[label].get("cpu-clock")) or 0 for run in runs)
    if mean is not None and name.endswith("clock"):
        metric = f"# {clock * 1e6 / max(statistics.fmean(run.elapsed_ns for run in runs), 1):8.3f} CPUs utilized"
    elif mean is not None and name in PER_SECOND and clock:
        metric = f"# {rate(1e3 * mean / clock)}"
    return (f"{text}{name:<32} {metric:<26}{variation(values) if values else ''}").rstrip()


def table(runs: Sequence[Found], what: str, arguments: argparse.Namespace) -> str:
    """perf's table of one run or of several."""
    names = [name for name in NAMES if name in next(iter(runs[0].lines.values()))]
    lines = [f"\n Performance counter stats for {what}{f' ({len(runs)} runs)' if len(runs) > 1 else ''}:\n"]
    lines += [line(runs, label, name, arguments) for name in names for label in runs[0].lines]
    seconds = [run.elapsed_ns / 1e9 for run in runs]
    told = f"{seconds[0]:18.9f}" if len(runs) == 1 else \
        f"{statistics.fmean(seconds):18.7f} +- {standard_error(seconds):.7f}"
    return "\n".join([*lines, "", f"{told} seconds time elapsed{variation(seconds)}", ""])


def rows(runs: Iterable[Found]) -> Iterator[dict[str, Any]]:
    """The same for programs: a row for each run and line."""
    for run in runs:
        for label, numbers in run.lines.items():
            clock = numbers.get("task-clock", numbers.get("cpu-clock")) or 0
            yield {"seed": run.head["seed"], "of": label or None, "elapsed_s": run.elapsed_ns / 1e9,
                   **{name.replace("-", "_") + ("_ms" if name.endswith("clock") else ""): value
                      for name, value in numbers.items()},
                   "cpus_utilized": clock * 1e6 / run.elapsed_ns if run.elapsed_ns else None}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a trace.dat or a perf.data; without it, CMD is run and counted")
    parser.add_argument("-a", "--all", action="store_true", help="the whole machine, not the command's tasks alone")
    parser.add_argument("-A", "--no-aggr", action="store_true", help="a line for each CPU; with --all or of a FILE")
    parser.add_argument("--per-thread", action="store_true", help="a line for each task")
    parser.add_argument("-p", "--pid", help="of a FILE: only these tasks and what they start, for example 7,9")
    parser.add_argument("--seeds", help="run CMD once for each, as 1..20, and print means and their errors")


def given(arguments: argparse.Namespace) -> str:
    """The options of a run, typed again."""
    flags = {"--all": arguments.all, "--no-aggr": arguments.no_aggr, "--per-thread": arguments.per_thread,
             f"--seeds {arguments.seeds}": arguments.seeds}
    return " ".join(flag for flag, wanted in flags.items() if wanted)


def check(settings: Settings, arguments: argparse.Namespace) -> None:
    """UsageError if the options do not go together."""
    if bool(arguments.file) == bool(settings.cmd):
        raise UsageError('either a FILE is expected, or CMD="...", the command to count')
    if arguments.file and arguments.seeds or settings.cmd and arguments.pid:
        raise UsageError("--pid is for a FILE, and --seeds for a command that is run")
    if arguments.per_thread and (arguments.no_aggr or arguments.seeds):
        raise UsageError("--per-thread cannot stand beside --no-aggr, nor --seeds: each run has other tasks")
    if arguments.no_aggr and settings.cmd and not arguments.all:
        raise UsageError("--no-aggr of a command needs --all, as perf's -A needs -a")
    if arguments.all and arguments.pid:
        raise UsageError("--all and --pid exclude each other")


def measure(settings: Settings, arguments: argparse.Namespace) -> list[Found]:
    """One Found for each run."""
    if arguments.file:
        with reading(arguments.file, UsageError, DAMAGED):
            return [read(arguments.file, parse_pids(arguments.pid), arguments)]
    with Machine(settings) as machine:
        print(machine.header("stat", args=given(arguments)), flush=True)
    if arguments.seeds:
        return run_seeds(settings, parse_seeds(arguments.seeds), arguments)
    return [run(settings, arguments, lambda text: (sys.stdout.write(text), sys.stdout.flush()))]


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """count what CMD, or a trace, cost in CPU time, switches and migrations, as perf stat does"""
    check(settings, arguments)
    try:
        found = measure(settings, arguments)
    except BrokenPipeError:  # of the output
        raise
    except (OSError, TraceError, RecordError) as error:
        print(f"fairground: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return STATUS_NOT_STARTED
    what = "'system wide'" if arguments.all else f"'{arguments.file or settings.cmd}'"
    result.tell([*found[0].run_lines, table(found, what, arguments)],
                result.together([each.head for each in found]), rows(found))
    if lost := sum(each.lost for each in found):
        print(f"fairground: {lost_text(lost, 'the table')}", file=sys.stderr)
    outcome = found[0].outcome
    if outcome and outcome.problem:
        print(f"fairground: {outcome.problem}", file=sys.stderr)
    return outcome.status if outcome else 0

# SPDX-License-Identifier: GPL-2.0-only
"""The Python interface: `import fairground as fg` (docs/api.md, which is made of this file). Tables are of pandas; with
form="arrow" of pyarrow, with form="columns" lists by name, which need no package.

API is the version of these names: its first number changes when a program that uses them may have to change, its second
when something is new.
"""

import contextlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

from .base import tree
from .base.errors import InputError, reading
from .base.packages import MissingPackage as MissingPackage, load
from .base.settings import UsageError as UsageError
from .decisions.decision_file import DecisionError as DecisionError, open_file
from .forms import table
from .machine.image import DAMAGED, TraceError as TraceError
from .machine.qemu import QemuError
from .machine.scheduler_end import SchedulerEnded
from .trace import latency as latency_of, timehist
from .trace.timeline import Timeline, events_of
from .trace.tracefile import Lost as Lost, TraceFile

API = "2.0"
Error = InputError
Form = Literal["pandas", "arrow", "columns"]
FORMS = ("pandas", "arrow", "columns")


class SimulatorError(Error):
    """The simulator is missing, refuses what it is asked, or its scheduler ended early. The text is one sentence."""


def _whole(values: list[Any]) -> list[int]:
    """The numbers of a column in which all that is known is a whole number; else none."""
    known = [value for value in values if value is not None]
    return known if all(type(value) is int for value in known) else []


def _arrow(arrow: Any, values: list[Any]) -> Any:
    """A column of Arrow, which takes numbers beyond 63 bits, as virtual times are, only if it is told so."""
    known = _whole(values)
    if not known or max(known) < 1 << 63:
        return arrow.array(values)
    return arrow.array(values, arrow.uint64() if min(known) >= 0 else arrow.decimal128(20))


def _formed(columns: table.Columns, form: Form) -> Any:
    """@columns in this @form. A column of whole numbers with gaps stays one of whole numbers."""
    if form not in FORMS:
        raise UsageError(f"form={form!r}: one of {', '.join(FORMS)} is expected")
    if form == "columns":
        return columns
    if form == "arrow":
        arrow = load("pyarrow", 'form="arrow"')
        return arrow.table({name: _arrow(arrow, values) for name, values in columns.items()})
    pandas = load("pandas", "a table")

    def series(values: list[Any]) -> Any:
        known = _whole(values)
        if not 0 < len(known) < len(values):
            return values
        long = max(known) >= 1 << 63  # beyond 63 bits, as virtual times may be
        return pandas.array(values, dtype="Int64" if not long else "UInt64" if min(known) >= 0 else object)

    return pandas.DataFrame({name: series(values) for name, values in columns.items()})


class Trace:
    """The trace in the file @path: a trace.dat of the kernel, the simulator or Linux (any machine), or a perf.data. A
    TraceError says why it cannot be read. Times are in ns of the trace's clock; a number that the trace does not tell
    is None, in pandas <NA>."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with reading(self.path, TraceError, DAMAGED):
            self._file = TraceFile(self.path)

    def __repr__(self) -> str:
        return f"<fairground.Trace {self.path!r}: {self.cpus} CPUs, {(self.end_ns - self.begin_ns) / 1e6:.3f} ms>"

    @cached_property
    def _line(self) -> Timeline:
        with reading(self.path, TraceError, DAMAGED):
            events_of(self._file)
            return Timeline(self._file)

    @property
    def about(self) -> str:
        """What run this is, as far as the file says so."""
        return self._file.about

    @property
    def cpus(self) -> int:
        """How many CPUs the machine had."""
        return self._file.cpus

    @property
    def begin_ns(self) -> int:
        """The time of the first event."""
        return min((first for first, _ in self._file.spans().values()), default=0)

    @property
    def end_ns(self) -> int:
        """The time of the last event."""
        return max((last for _, last in self._file.spans().values()), default=0)

    @property
    def lost(self) -> Lost:
        """How many events are missing, a number; lost.at_least: there are gaps of unknown size."""
        with reading(self.path, TraceError, DAMAGED):
            return self._file.lost()

    @property
    def untold(self) -> list[str]:
        """What the trace does not tell of who ran and waited, a sentence each."""
        return self._line.untold()

    def runs(self, form: Form = "pandas") -> Any:
        """Each time that a task had a CPU: cpu, pid, comm, start_ns, end_ns, run_ns. Cut at the ends of the trace."""
        return _formed(table.runs(self._line), form)

    def waits(self, form: Form = "pandas") -> Any:
        """Each time that a task waited for a CPU: pid, comm, start_ns, end_ns, wait_ns, and woken: a wakeup began it,
        and no preemption."""
        return _formed(table.waits(self._line), form)

    def turns(self, form: Form = "pandas") -> Any:
        """Each turn that ended, as `fairground timehist` prints it: time_ns, cpu, pid (0 idles), task, wait_ns,
        delay_ns, run_ns."""
        with reading(self.path, TraceError, DAMAGED):
            turns = timehist.turns(self._file.events(events_of(self._file)))
            return _formed(table.from_rows(turn.as_row() for turn in turns), form)

    def tasks(self, form: Form = "pandas") -> Any:
        """A row for each thread that waited, as `fairground latency --pids` prints it: task, pid, threads, run_ns,
        turns, switches, average_ns, longest_ns, longest_start_ns, longest_end_ns."""
        with reading(self.path, TraceError, DAMAGED):
            found = latency_of.latencies(self._file.events(events_of(self._file))).tasks.values()
        return _formed(table.from_rows(latency_of.rows(latency_of.ordered(found, "pid"))), form)

    def events(self, *names: str, form: Form = "pandas") -> Any:
        """All events, or those with one of @names: time_ns, on_cpu, system, event, by_pid, and a column for each
        field."""
        known = {of.name for of in self._file.formats.values()}
        if missing := sorted(set(names) - known):
            raise UsageError(f"{self.path}: the trace knows no event {' or '.join(missing)}")
        with reading(self.path, TraceError, DAMAGED):
            return _formed(table.from_rows(table.events(self._file, names or None)), form)

    def decisions(self, form: Form = "pandas") -> Any:
        """The recorded decisions of fair policies: nr, time_ns, kind, cpu, policy, rule and more (docs/decisions.md). A
        DecisionError if there are none."""
        return self._decided("decisions", form)

    def candidates(self, form: Form = "pandas") -> Any:
        """A row for each candidate of each decision, with the nr of the decision, in the policy's own numbers."""
        return self._decided("candidates", form)

    def _decided(self, name: str, form: Form) -> Any:
        with reading(self.path, DecisionError, DAMAGED):
            return _formed(table.make(name, None, None, open_file(self.path)), form)


class Simulation:
    """A run of simulate(): .result is the object that `schedsim --json` writes, .trace the Trace if one was wanted."""

    def __init__(self, result: dict[str, Any], trace: Trace | None) -> None:
        self.result, self.trace = result, trace

    def __repr__(self) -> str:
        return f"<fairground.Simulation of {self.result['results'][0]['sched']}, {self.result['cpus']} CPUs>"

    def tasks(self, form: Form = "pandas") -> Any:
        """A row for each name of tasks: name, tasks, cpu_ns and more; what has parts has a column for each, as
        wait_ns.mean."""
        def flat(row: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
            for name, value in row.items():
                if isinstance(value, dict):
                    yield from flat(value, f"{prefix}{name}.")
                else:
                    yield prefix + name, value

        return _formed(table.from_rows(dict(flat(row)) for row in self.result["results"][0]["tasks"]), form)


def simulate(*workloads: str | os.PathLike[str], sched: str = "cfs", cpus: int = 1, time: str = "1s", seed: int = 1,
             options: Sequence[str] = (), trace: str | os.PathLike[str] | None = None) -> Simulation:
    """Run the simulator with @workloads, as "hogs:n=2" or files of rt-app, under one policy. @options are further words
    of schedsim's; @trace, NAME.dat, gets the trace with all decisions. SimulatorError if the simulator refuses it, or
    a program for sched_ext ends before the run does."""
    from .machine.simulator import policy_words, results

    if trace and not os.fspath(trace).endswith(".dat"):
        raise UsageError(f"trace={os.fspath(trace)!r}: a name that ends in .dat is expected")
    try:
        result = results(tree.build(), [*policy_words(sched, tree.build()), "--cpus", str(cpus), "--time", time,
                                        "--seed", str(seed), *options,
                                        *(("--decisions", os.fspath(trace)) if trace else ()),
                                        *[os.fspath(each) for each in workloads]])
    except (OSError, QemuError, SchedulerEnded) as error:
        raise SimulatorError(str(error).splitlines()[0]) from error
    return Simulation(result, Trace(trace) if trace else None)


def _run(*words: str) -> str:
    """What the command @words prints; its errors are exceptions."""
    from .__main__ import run_command

    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            run_command(words)
    except QemuError as error:
        raise SimulatorError(str(error)) from error
    except SystemExit as error:
        raise UsageError(f"fairground {' '.join(words)}: an option is not known, or its value") from error
    return out.getvalue()


def _options(options: dict[str, Any]) -> list[str]:
    """Options of a command from keywords: max=0.1 is --max 0.1, all=True is --all."""
    words: list[str] = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words


def compare(*words: str, seeds: str = "1..20", time: str = "1s", form: Form = "pandas") -> Any:
    """Compare sides and workloads, @words as "cfs", "eevdf", "pipes", by pairs of runs of @seeds. A row for each
    metric: medians, the difference with its interval, and a verdict, as `fairground compare` prints them."""
    rows = json.loads(_run("compare", *words, "--seeds", seeds, "--time", time, "--json"))["rows"]
    return _formed(table.from_rows(iter(rows)), form)


def kinds() -> dict[str, str]:
    """The kinds of pictures that draw() knows, each with what it shows."""
    from .pictures.graph import kinds as all_kinds

    return {name: kind.what for name, kind in all_kinds().items()}


def draw(kind: str, *files: str | os.PathLike[str], out: str | os.PathLike[str], **options: Any) -> str:
    """Draw @files as the picture @out, whose suffix says the form: .svg, .pdf, .png. @options are those of `fairground
    graph KIND`, as max=0.1. Returns the numbers that are printed beside the picture."""
    if kind not in kinds():
        raise UsageError(f"{kind}: no kind of picture; there are {', '.join(kinds())}")
    return _run("graph", kind, *[os.fspath(each) for each in files], "-o", os.fspath(out), *_options(options))


def convert(path: str | os.PathLike[str], out: str | os.PathLike[str], table: str = "runs") -> None:
    """Write the trace or decisions in the file @path as @out, whose suffix says the form: .pftrace, .json, .csv,
    .parquet, .txt."""
    _run("convert", os.fspath(path), "-o", os.fspath(out), "--table", table)


def report(out: str | os.PathLike[str], *files: str | os.PathLike[str]) -> None:
    """Write one page about the runs in @files: an HTML file."""
    _run("report", os.fspath(out), *[os.fspath(each) for each in files])


def policies() -> list[str]:
    """The names of the fair policies."""
    from .base.settings import SCHEDULERS

    return list(SCHEDULERS)

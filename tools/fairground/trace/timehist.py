# SPDX-License-Identifier: GPL-2.0-only
"""Every time that a task had a CPU, a line for each: what `perf sched timehist` prints.

The line stands at the end of the turn. `wait time` is from the end of the task's turn before to the begin of this one,
`sch delay` from its wakeup to that, `run time` the turn itself. `-` is what the trace does not tell: of a turn that it
begins with, and the delay after a sleep whose wakeup is not recorded. The idle task has lines, too.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from .. import result
from ..base.option_values import parse_cpus, parse_pids
from ..base.stats import standard_error
from ..machine.image import Event, event_values
from ..words import Command
from .latency import follow, options_of_source, seconds
from .timeline import SWITCH, TaskStates
from .tracefile import TraceFile

COMMAND = Command("timehist", examples=(
    ("hack.dat --cpus 0", "each turn on CPU 0"),
    ("hack.dat --summary", "a line for each task"),
))

FORM = "{:>15} {:>6}  {:<30}  {:>9}  {:>9}  {:>9}"
HEAD = (("time", "cpu", "task name", "wait time", "sch delay", "run time"),
        ("", "", "[tid]", "(msec)", "(msec)", "(msec)"), ("-" * 15, "-" * 6, "-" * 30, "-" * 9, "-" * 9, "-" * 9))
SUMMARY_FORM = "{:>30}  {:>9}  {:>11}  {:>10}  {:>10}  {:>10}  {:>6}"
SUMMARY_HEAD = (("comm", "sched-in", "run-time", "min-run", "avg-run", "max-run", "stddev"),
                ("", "(count)", "(msec)", "(msec)", "(msec)", "(msec)", "%"), ("-" * 30, *["-" * 9] * 5, "-" * 6))


class Turn(NamedTuple):
    """One time that a task had a CPU, until @time. @pid is 0 for an idle task; times are in ns, None if not known."""

    time: int
    cpu: int
    pid: int
    comm: str
    wait: int | None
    delay: int | None
    run: int | None

    def as_row(self) -> dict[str, Any]:
        return {"time_ns": self.time, "cpu": self.cpu, "pid": self.pid, "task": self.comm, "wait_ns": self.wait,
                "delay_ns": self.delay, "run_ns": self.run}

    @property
    def name(self) -> str:
        return f"{self.comm}[{self.pid}]" if self.pid else "<idle>"


def turns(events: Iterable[Event]) -> Iterator[Turn]:
    """The turns that end in a stream of Events. A CPU's idle task is a task of its own."""
    states = TaskStates()
    left: dict[int, int] = {}                # when a task's last turn ended; CPU 0's idle task is -1, and so on
    came: dict[int, tuple[int | None, int | None]] = {}  # wait and delay before the turn that goes on
    for event in events:
        values = event_values(event)
        if event.format.name != SWITCH:
            states.wakeup(event.time, values["pid"])
            continue
        prev, following = values["prev_pid"], values["next_pid"]
        since, wait = states.switch(event.time, event.cpu, prev, values["prev_state"], following)
        idle = -1 - event.cpu
        left[prev or idle] = event.time
        yield Turn(event.time, event.cpu, prev, values["prev_comm"], *came.pop(prev or idle, (None, None)),
                   event.time - since if since is not None else None)
        before = left.get(following or idle)
        came[following or idle] = (None if before is None else event.time - before,
                                   delay_before(event.time, wait, following))


def delay_before(now: int, wait: tuple[int, bool] | None, pid: int) -> int | None:
    """How long @pid had been awake when it got its CPU @now, after this @wait, None if none is known. It is 0 of an
    idle task, and after a preemption: nobody woke them."""
    if wait:
        return now - wait[0] if wait[1] else 0
    return None if pid else 0


def ms(ns: int | None) -> str:
    """Milliseconds with three digits behind the point; the others are cut off, as perf does. None is not known."""
    return "-" if ns is None else f"{ns // 1000000}.{ns // 1000 % 1000:03}"


def line(turn: Turn) -> str:
    return FORM.format(seconds(turn.time), f"[{turn.cpu:04}]", turn.name, ms(turn.wait), ms(turn.delay), ms(turn.run))


def spread(runs: list[int]) -> float | None:
    """The standard error of the mean of @runs, in % of it; 0 of one, None of none."""
    mean = sum(runs) / len(runs) if runs else 0
    return 100 * standard_error(runs) / mean if mean else 0.0 if runs else None


class Summary:
    """The turns of each task, and how long each CPU idled. A turn that the trace begins with has no length."""

    def __init__(self, all_turns: Iterable[Turn]) -> None:
        self.turns: Counter[int] = Counter()
        self.runs: dict[int, list[int]] = {}
        self.names: dict[int, str] = {}
        self.idle: dict[int, int] = {}
        for turn in all_turns:
            if not turn.pid:
                self.idle[turn.cpu] = self.idle.get(turn.cpu, 0) + (turn.run or 0)
                continue
            self.turns[turn.pid] += 1
            self.runs.setdefault(turn.pid, []).extend([] if turn.run is None else [turn.run])
            self.names[turn.pid] = turn.name

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each task, by pid; times in ns."""
        for pid, each in sorted(self.runs.items()):
            yield {"task": self.names[pid], "turns": self.turns[pid], "run_ns": sum(each) if each else None,
                   "least_ns": min(each, default=None), "average_ns": sum(each) // len(each) if each else None,
                   "longest_ns": max(each, default=None), "deviation_pct": spread(each)}

    def lines(self) -> list[str]:
        """perf's table."""
        lines = [SUMMARY_FORM.format(*words) for words in SUMMARY_HEAD]
        for name, turns_of, *times, deviation in (row.values() for row in self.rows()):
            lines.append(SUMMARY_FORM.format(name, turns_of, *map(ms, times),
                                             "-" if deviation is None else f"{deviation:.2f}"))
        lines += ["", *(f"CPU {cpu:2} idle for {ms(ns):>11} msec" for cpu, ns in sorted(self.idle.items())), ""]
        return [*lines, f"tasks: {len(self.runs)}; turns: {self.turns.total()}; "
                f"run time: {ms(sum(sum(each) for each in self.runs.values()))} msec"]


def options(parser: argparse.ArgumentParser) -> None:
    options_of_source(parser)
    parser.add_argument("-p", "--pid", help="only these threads, for example 7,9; 0 is the idle task")
    parser.add_argument("-s", "--summary", action="store_true", help="a line for each task instead of each turn")


def show(trace: TraceFile, events: Iterable[Event], cpus: Collection[int] | None, pids: Collection[int] | None,
         summarized: bool) -> None:
    """Print the turns on @cpus of @pids, all if None, as they come or added up."""
    chosen = (turn for turn in turns(events)
              if (cpus is None or turn.cpu in cpus) and (pids is None or turn.pid in pids))
    head = result.of_trace(trace.about)
    if summarized:
        summary = Summary(chosen)
        result.tell([*trace.run_lines(), *summary.lines()], head, summary.rows(), idle_ns=summary.idle)
        return
    result.tell(itertools.chain(trace.run_lines(), (FORM.format(*words) for words in HEAD), map(line, chosen)), head,
                map(Turn.as_row, chosen))


def main(_: Any, arguments: argparse.Namespace) -> int:
    """print each time that a task in a trace had a CPU, and how long it had waited, as perf sched timehist does"""
    cpus, pids = parse_cpus(arguments.cpus), parse_pids(arguments.pid)
    return follow(arguments.file, lambda trace, events: show(trace, events, cpus, pids, arguments.summary), "this")

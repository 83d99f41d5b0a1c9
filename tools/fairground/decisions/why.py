# SPDX-License-Identifier: GPL-2.0-only
"""Why is it late? The longest waits of a task, and of each who ran instead, by which rule, and what another policy
would have made of it: `fairground why`, `make why` (docs/why.md)."""

import argparse
import contextlib
import os
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .. import result
from ..base.errors import FileError, reading
from ..base.names import nearest
from ..base.option_values import whole
from ..base.settings import Settings, trace_file
from ..machine.image import TraceError
from ..machine.machine import STATUS_NOT_STARTED
from ..trace import trace as tracing
from ..trace.timeline import Timeline
from ..trace.tracefile import MAGICS, MAGIC_SIZE, TraceFile
from ..words import Command
from .decision_file import DecisionFile, NoDecisions, open_file
from .fair_text import ms
from .futures import Future, command_of, futures, run
from .lateness import PHRASES, SHAPES, Lateness, Wait, because, beginning, conclusion, explain, rule_of, \
    say, waits_of, went_on

COMMAND = Command("why", machine=True, built="image sim", examples=(
    ("run.dat --task burst", "the longest waits of burst in a trace, and why"),
    ("--smp 1 --icount 1 --cmd 'hog -n 3' --task hog", "run that, and explain"),
))

EVENTS = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_fair_swap,decision:*"
HOW = "schedsim --decisions FILE.dat, or make why CMD=..."
MOST = 100
WIDTH, NARROW = 120, 80
BELOW_BECAUSE = " " * 53  # under that column of the table


class Late(NamedTuple):
    """What a file says of one of the longest waits."""

    late: Lateness
    futures: list[Future]
    not_told: str  # why there are no futures


class Found(NamedTuple):
    """What a file says of a task."""

    name: str
    waits: list[Wait]
    explained: list[Late]
    line: Timeline
    recorded: bool  # decisions are there


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a trace.dat, a perf.data or a file of decisions; without it and with "
                        "CMD: that is run and recorded in $OUT, otherwise $OUT or trace.dat is read")
    parser.add_argument("--task", default=os.environ.get("TASK"), metavar="NAME",
                        help="name, number or NAME-NUMBER of the task; default: $TASK, or what waits longest")
    parser.add_argument("--waits", type=whole(1, MOST), default=5, metavar="N", help="how many; default: 5")
    parser.add_argument("--narrow", action="store_true", help="lines of at most 80 columns")
    parser.add_argument("--no-futures", action="store_true", help="without what other policies would have done")


# --- what is in a file ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def whole_trace(path: str, build: str) -> Iterator[str]:
    """A trace with the run in @path: that file, or, if it holds only decisions, one of the same run again."""
    with reading(path, TraceError):
        with open(path, "rb") as f:
            is_trace = f.read(MAGIC_SIZE).startswith(MAGICS)
        words = [] if is_trace else command_of(f"command: {open_file(path).provenance.header.get('command', '')}")
        if not is_trace and not words:
            raise TraceError("it holds decisions and no switches, and does not say how to make the run again: " + HOW)
    if is_trace:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        again = os.path.join(directory, os.path.basename(path) + ".dat")
        with reading(path, TraceError):
            run(build, words, "--decisions", again)
        yield again


def pids_of(line: Timeline, task: str | None) -> set[int]:
    """The threads that @task names, or the one with the longest wait. TraceError names the nearest if there is none."""
    known = {pid for pid in (*line.runs.pid, *line.waits.pid) if pid}
    if not task:
        longest = waits_of(line, known)
        return {longest[0].pid} if longest else known
    found = {pid for pid in known if task in (line.comms.get(pid), str(pid), line.label(pid))}
    if not found:
        names = sorted({line.comms.get(pid, "?") for pid in known} | {line.label(pid) for pid in known})
        meant = nearest(task, names) or next((name for name in names if name.startswith(task[:3])), "")
        raise TraceError(f"no task {task} is in the trace" + (f"; is {meant} meant?" if meant else "")
                         + f" There are {len(known)} tasks" + ": " * bool(known)
                         + ", ".join(sorted({line.comms.get(pid, '?') for pid in known})[:8]) + ".")
    return found


def decisions_of(path: str) -> DecisionFile | None:
    try:
        return open_file(path)
    except NoDecisions:
        return None


def find(path: str, task: str | None, number: int, build: str = "") -> Found:
    """The @number longest waits of @task in the trace @path. With @build also what other policies would have done."""
    with reading(path, TraceError):
        trace = TraceFile(path)
        line, file = Timeline(trace), decisions_of(path)
        pids = pids_of(line, task)
        all_waits = waits_of(line, pids)
        waits = [wait for wait in all_waits if wait.length]  # a wakeup that is served at once is none
        late = explain(line, waits[:number], file.records(SHAPES) if file else ())
        words = command_of(trace.about)
    name = " and ".join(sorted({line.label(pid) for pid in pids})[:4]) + " ..." * (len(pids) > 4)
    explained = []
    for each in late:
        found: list[Future] = []
        problem = ""
        if build and words:
            past = [wait for wait in all_waits if wait.pid == each.wait.pid and wait.end < each.wait.start]
            try:
                found = futures(build, words, each.wait, past, str(result.of_trace(trace.about)["sched"]))
            except FileError as error:
                problem = str(error)
        explained.append(Late(each, found, problem))
    return Found(name, waits, explained, line, file is not None)


# --- in words -------------------------------------------------------------------------------------------------------


def unknown(found: Found) -> list[str]:
    """What the trace cannot tell, and is no zero."""
    return [*([] if found.recorded else [f"the trace has no decisions, so no rule is known: {HOW}"]),
            *found.line.untold()]


def knows_sleeps(found: Found) -> bool:
    """Does the trace tell the waits after a sleep?"""
    return bool(found.line.wakeups or not found.line.unknown)


def summary(found: Found) -> str:
    """How often and how long the task waited."""
    if not found.waits:
        after = "" if knows_sleeps(found) else " after a preemption; after a sleep it is unknown"
        return f"{found.name} never waited{after}."
    total = sum(wait.length for wait in found.waits)
    shown = len(found.explained)
    return (f"{found.name} waited {len(found.waits)} time{'s' * (len(found.waits) > 1)}, {ms(total)} ms in all; the "
            + (f"{shown} longest:" if shown > 1 else "longest:"))


def in_words(futures_of: Sequence[Future]) -> str:
    """How long the wait would have been, and under which policies."""
    under: dict[str, list[str]] = {}
    for future in futures_of:
        length = PHRASES["no_wait"] if not future.length else \
            say("as_long" if future.ended else "longer", ms=ms(future.length))
        under.setdefault(length, []).append(future.policy)
    return say("futures", futures="; ".join(f"{length} ({', '.join(names)})" for length, names in under.items()))


def _folded(line: str, width: int, below: str = BELOW_BECAUSE) -> list[str]:
    """The @line of a table as lines of at most @width columns, which go on @below."""
    return textwrap.wrap(line, width, subsequent_indent=below, break_on_hyphens=False)


def text_of(number: int, each: Late, found: Found, width: int) -> list[str]:
    """One wait as lines of at most @width columns."""
    wait, line = each.late.wait, found.line
    lines = ["", f"{number}. {ms(wait.length)} ms {beginning(each.late)}, from {ms(wait.start)} to {ms(wait.end)} ms"
             + (f" ({line.label(wait.pid)})" if len({w.pid for w in found.waits}) > 1 else "")
             + ("" if wait.ended else ", where the trace ends"),
             *([f"  by the rule: {rule_of(each.late.lost)}"] if each.late.lost else []),
             f"  {'from ms':>14} {'ms':>12}  CPU  {'ran instead':<15}  because"]
    for stretch in each.late.stretches:
        reason, *more = because(stretch, line, each.late, found.recorded).split("; ")
        more += filter(None, [went_on(stretch)])
        lines += _folded(f"  {ms(stretch.start):>14} {ms(stretch.length):>12}  {stretch.cpu:3}  "
                         f"{line.label(stretch.pid) if stretch.pid else '-':<15}  {reason}", width)
        for part in more:
            lines += _folded(BELOW_BECAUSE + part, width)
    if each.futures:
        lines += _folded(f"  {in_words(each.futures)}", width, "  ")
    elif each.not_told:
        lines.append(f"  Under another policy: {each.not_told}")
    return [*lines, *textwrap.wrap(f"So {conclusion(each.late, line, found.recorded)}", width - 4, initial_indent="  ",
                                   subsequent_indent="  ")]


def text(found: Found, width: int = WIDTH) -> list[str]:
    """All of it as lines."""
    return [*unknown(found), summary(found),
            *(part for nr, each in enumerate(found.explained, 1) for part in text_of(nr, each, found, width))]


def rows(found: Found) -> Iterator[dict[str, Any]]:
    """The waits for programs, times in ns."""
    for each in found.explained:
        wait = each.late.wait
        yield {"task": found.line.comms.get(wait.pid, "?"), "pid": wait.pid, "start_ns": wait.start,
               "wait_ns": wait.length, "woken": wait.woken, "ended": wait.ended,
               "ran_instead": [{"task": found.line.comms.get(s.pid) if s.pid else None, "pid": s.pid or None,
                                "cpu": s.cpu, "start_ns": s.start, "ns": s.length,
                                "kind": s.reason.kind if s.reason else None,
                                "rule": s.reason.rule if s.reason else None} for s in each.late.stretches],
               "futures": [{"sched": f.policy, "wait_ns": f.length, "ended": f.ended} for f in each.futures],
               "says": conclusion(each.late, found.line, found.recorded)}


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """tell the longest waits of a task, who ran instead, by which rule, and what other policies would have done"""
    path, status = arguments.file or trace_file(), 0
    if not arguments.file and settings.cmd:
        outcome, events = tracing.record(settings, path, EVENTS)
        status = outcome.status
        if not events:
            return status or STATUS_NOT_STARTED
    with whole_trace(path, settings.build) as trace:
        found = find(trace, arguments.task, arguments.waits, "" if arguments.no_futures else settings.build)
    about = found.line.about
    result.tell([*(f"{os.path.basename(path)}: {line}" if not nr else line
                   for nr, line in enumerate(filter(None, about.split("\n")))),
                 *text(found, NARROW if arguments.narrow else WIDTH)],
                result.of_trace(about), rows(found), waits=len(found.waits), wakeups_known=knows_sleeps(found),
                decisions_known=found.recorded)
    return status

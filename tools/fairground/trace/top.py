# SPDX-License-Identifier: GPL-2.0-only
"""fairground top: who runs and who waits, while a machine runs (docs/tracing.md).

The machine's memory is a file, as for `make trace`. Its rings are read from outside while the guest writes them, so
nothing in the guest knows of it. All times are the guest's.
"""

import argparse
import bisect
import contextlib
import heapq
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

from ..base.errors import DAMAGE, reading
from ..base.progress import is_dumb
from ..base.settings import Settings, UsageError
from ..machine.image import DAMAGED, Event, Image, TraceError, memory_file, text_of
from ..machine.machine import Machine
from ..words import Command
from .records import decoder
from .timeline import SWITCH, WAKEUPS, TaskStates
from .trace import SHARED_MEMORY, about, convert, memory_directory, with_tracing

COMMAND = Command("top", machine=True, built="image", examples=(
    ("--cmd 'hack -g 4 -l 100000'", "a table every second"),
    ("--smp 8 --cmd 'hog -n 12 -t 20s' --delay 5 --out run.dat", "every five seconds; the trace is kept"),
    ("--attach /dev/shm/machine", "the machine of run --monitor /dev/shm/machine"),
), no_object="it prints a line of JSON for each look, and does not know the last one before the machine ends")

POLL_S = 0.02
TICK = "local_timer_entry"  # tells how late it is where nobody is switched
EVENTS = f"sched:{SWITCH},sched:sched_wakeup*,irq_vectors:{TICK}"
ROWS = 20
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


@dataclass
class Task:
    """What a task got in a part of the run. Times in ns."""

    ran: int = 0
    waited: int = 0
    longest: int = 0   # wait, of those that ended then or go on
    switches: int = 0  # to it


@dataclass
class Part:
    """A part of the run: from one look at the rings to the next, or all of it."""

    start: int
    end: int
    tasks: dict[int, Task] = field(default_factory=dict)
    busy: Counter[int] = field(default_factory=Counter)  # CPU -> ns
    lost: int = 0

    def of(self, pid: int) -> Task:
        return self.tasks.setdefault(pid, Task())


class Live:
    """The tasks of a machine, as its rings tell so far."""

    def __init__(self, image: Image) -> None:
        formats = {f.name: f for f in image.formats.values()}
        self.cpus, self._image = image.cpus, image
        fields = ("prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm")
        self._switch = decoder(formats[SWITCH], fields, ("prev_comm", "next_comm"))
        self._wakeup = decoder(formats[WAKEUPS[0]], ("pid", "target_cpu", "comm"))
        self._seen = [0] * image.cpus
        self._unused: list[Event] = []  # later than the last part
        self._states = TaskStates()
        self.names: dict[int, str] = {}
        self.last_cpu: dict[int, int] = {}
        self.whole = Part(0, 0)

    def _read(self) -> int:
        """Read all rings, one after another; returns how many events were lost."""
        found = [self._image.news(cpu, self._seen[cpu]) for cpu in range(self.cpus)]
        self._seen = [seen for _, seen, _ in found]
        self._unused = list(heapq.merge(self._unused, *(events for events, _, _ in found), key=lambda of: of.time))
        return sum(lost for _, _, lost in found)

    def look(self) -> Part:
        """What happened since the last look. The rings are read twice: what is the newest event in the first reading
        is older than the second, so up to there nothing is missing. An event whose CPU was just recording it may come
        late all the same: a run that it ends was counted as going on, and the rest is taken off."""
        now = self.whole.end
        part = Part(now, now, lost=self._read())
        part.end = self._unused[-1].time if self._unused else now
        part.lost += self._read()
        known = bisect.bisect_right(self._unused, part.end, key=lambda of: of.time)
        events, self._unused = self._unused[:known], self._unused[known:]
        if events and not part.start:
            part.start = self.whole.start = events[0].time
        for event in events:
            self._take(part, event)
        for cpu, (pid, since) in self._states.running.items():
            self._ran(part, cpu, pid, since, part.end)
        for pid, (since, _) in self._states.waiting().items():
            self._waited(part, pid, since, part.end)
        self._add(part)
        return part

    def _take(self, part: Part, event: Event) -> None:
        kind = event.format.name
        if kind in WAKEUPS:
            pid, cpu, comm = self._wakeup(event.data)
            self.names[pid], self.last_cpu[pid] = text_of(comm), cpu
            self._states.wakeup(event.time, pid)
        elif kind == SWITCH:
            prev, prev_comm, state, following, comm = self._switch(event.data)
            self.names[prev], self.names[following] = text_of(prev_comm), text_of(comm)
            self.last_cpu[prev] = self.last_cpu[following] = event.cpu
            since, wait = self._states.switch(event.time, event.cpu, prev, state, following)
            if since is not None:
                self._ran(part, event.cpu, prev, since, event.time)
            if following:
                part.of(following).switches += 1
            if wait:
                self._waited(part, following, wait[0], event.time)

    @staticmethod
    def _ran(part: Part, cpu: int, pid: int, since: int, until: int) -> None:
        ns = until - max(since, part.start)
        if pid and ns:
            part.of(pid).ran += ns
            part.busy[cpu] += ns

    @staticmethod
    def _waited(part: Part, pid: int, since: int, until: int) -> None:
        of = part.of(pid)
        of.waited += until - max(since, part.start)
        of.longest = max(of.longest, until - since)

    def _add(self, part: Part) -> None:
        """Add @part to the whole."""
        whole = self.whole
        whole.end, whole.lost = part.end, whole.lost + part.lost
        whole.busy.update(part.busy)
        for pid, task in part.tasks.items():
            of = whole.of(pid)
            of.ran, of.waited, of.switches = of.ran + task.ran, of.waited + task.waited, of.switches + task.switches
            of.longest = max(of.longest, task.longest)

    def runs_on(self, cpu: int) -> int:
        """The task that runs on @cpu now; 0: none."""
        return self._states.running.get(cpu, (0, 0))[0]

    def queued(self) -> Counter[int]:
        """How many tasks wait now for each CPU: that to which they were woken, or on which they ran last."""
        return Counter(self.last_cpu.get(pid, 0) for pid in self._states.waiting())

    def label(self, pid: int) -> str:
        return f"{self.names.get(pid, '?')}-{pid}" if pid else ""


# --- what is shown ------------------------------------------------------------------------------------------------


def as_json(live: Live, part: Part) -> dict[str, Any]:
    queued = live.queued()
    return {"start_ns": part.start, "end_ns": part.end, "lost": part.lost,
            "cpus": [{"cpu": cpu, "busy_ns": part.busy[cpu], "runs": live.runs_on(cpu), "queued": queued[cpu]}
                     for cpu in range(live.cpus)],
            "tasks": [{"pid": pid, "name": live.names.get(pid, ""), "ran_ns": of.ran, "waited_ns": of.waited,
                       "longest_wait_ns": of.longest, "switches": of.switches}
                      for pid, of in sorted(part.tasks.items())]}


def screen(live: Live, part: Part) -> str:
    """@part as a table for people. Of tasks those that ran longest are shown."""
    length = max(part.end - part.start, 1)
    queued, switches = live.queued(), sum(of.switches for of in part.tasks.values())
    lines = [f"{part.start / 1e9:.3f} to {part.end / 1e9:.3f} s: CPUs {sum(part.busy.values()) / length:.2f} of "
             f"{live.cpus} busy, {queued.total()} tasks wait, {switches * 1e9 / length:.0f} switches/s"
             + (f", {part.lost} events lost" if part.lost else ""), "", "  CPU   busy %  waiting  runs"]
    lines += [f"  {cpu:3}  {100 * part.busy[cpu] / length:7.2f}  {queued[cpu]:7}  {live.label(live.runs_on(cpu))}"
              for cpu in range(min(live.cpus, ROWS))]
    lines += [f"  and {live.cpus - ROWS} more"] * (live.cpus > ROWS)
    lines += ["", f"  {'task':<22} {'CPU %':>8} {'waited %':>9} {'longest wait ms':>16} {'switches':>9}  CPU"]
    ranked = sorted(part.tasks, key=lambda pid: (-part.tasks[pid].ran, pid))
    for pid in ranked[:ROWS]:
        of = part.tasks[pid]
        lines.append(f"  {live.label(pid):<22} {100 * of.ran / length:8.2f} {100 * of.waited / length:9.2f} "
                     f"{of.longest / 1e6:16.3f} {of.switches:9}  {live.last_cpu.get(pid, 0):3}")
    lines += [f"  and {len(ranked) - ROWS} more"] * (len(ranked) > ROWS)
    return "\n".join(lines) + "\n"


def fitted(text: str) -> str:
    """What of @text fits the terminal: a line that is too long would push the first ones out of it."""
    columns, rows = shutil.get_terminal_size()
    return "".join(f"{line[:columns]}{REST_OF_LINE}\n" for line in text.splitlines()[:rows - 1])


class Top:
    """Looks at the memory in the file @ram from time to time, and shows what it sees."""

    def __init__(self, ram: str, delay: float, is_json: bool) -> None:
        self._ram, self._delay, self._json = ram, delay, is_json
        self._next = time.monotonic() + delay
        self.live: Live | None = None

    def look(self) -> None:
        """One look, if the kernel has made its rings by now."""
        if not self.live:
            try:
                image = Image(memory_file(self._ram))
                if not image.started():
                    return
                self.live = Live(image)
            except (OSError, TraceError, *DAMAGE):  # the kernel is about to write its texts
                return
        part = self.live.look()
        if part.end > part.start:
            self.show(part)

    def show(self, part: Part) -> None:
        assert self.live
        if self._json:
            print(json.dumps(as_json(self.live, part)), flush=True)
        elif sys.stdout.isatty() and not is_dumb():
            print(f"{HOME}{fitted(screen(self.live, part))}{REST_OF_SCREEN}", end="", flush=True)
        else:
            print(screen(self.live, part), flush=True)

    def show_whole(self, status: int | None) -> None:
        """The end: all that was seen. @status: of the run, None if it is not known."""
        if not self.live or not self.live.whole.tasks:
            raise TraceError("the machine ended before anything was recorded")
        if self._json:
            print(json.dumps({"whole": as_json(self.live, self.live.whole), "status": status}), flush=True)
        else:
            print(f"\nThe whole run:\n{screen(self.live, self.live.whole)}", end="")

    def tick(self) -> None:
        """Called often: looks when it is time to."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._delay
            self.look()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--delay", type=float, default=1.0, metavar="S", help="seconds between two looks; default: 1")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each look, and one for the whole run")
    parser.add_argument("--out", metavar="FILE", help="also save the trace, as a trace.dat")
    parser.add_argument("--attach", metavar="FILE", help="look at the machine that run --monitor FILE started")


@contextlib.contextmanager
def monitored(settings: Settings, path: str | None) -> Iterator[Settings]:
    """@settings, with the memory in the new file @path, if it has a name, until all is done: top can look at it.
    UsageError if that cannot be."""
    if not path:
        yield settings
        return
    if os.path.exists(path):
        raise UsageError(f"--monitor {path}: this exists; the machine makes the file, and removes it in the end")
    try:
        room = shutil.disk_usage(os.path.dirname(path) or ".").free
    except OSError as error:
        raise UsageError(f"--monitor {path}: {error.strerror}") from error
    if room < settings.mem << 20:
        raise UsageError(f"--monitor {path}: there is no room for MEM={settings.mem} MiB; {SHARED_MEMORY} is the place "
                         "that costs least")
    try:
        yield with_tracing(settings, path, EVENTS)
    finally:
        pathlib.Path(path).unlink(missing_ok=True)


def run(settings: Settings, arguments: argparse.Namespace, directory: str, console: TextIO) -> int:
    """Run the machine with its memory in @directory, and look at it until it ends."""
    ram = os.path.join(directory, "ram")
    with Machine(with_tracing(settings, ram, EVENTS)) as machine:
        top = Top(ram, arguments.delay, arguments.json)
        if not arguments.json:
            print(f"{machine.header('top')}\nThe console goes to {console.name}", flush=True)

        def tick(text: str) -> None:
            console.write(text)
            top.tick()

        outcome = machine.run(tick)
        top.look()
        top.show_whole(outcome.status)
        if arguments.out:
            convert(ram, arguments.out, about(settings))
        if outcome.problem:
            print(f"fairground: {outcome.problem}", file=sys.stderr)
        return outcome.status


def attach(settings: Settings, arguments: argparse.Namespace) -> int:
    """Look at the memory of a machine that somebody else started, until the file is gone, or until Ctrl-C."""
    if settings.cmd or arguments.out:
        raise UsageError("--attach only looks: CMD and --out are for a machine that top starts")
    size = os.stat(arguments.attach).st_size
    if size < 32 << 20 or size & 0xfffff:
        raise TraceError("this is not the memory of a machine: run --monitor FILE makes such a file")
    top = Top(arguments.attach, arguments.delay, arguments.json)
    try:
        while os.path.exists(arguments.attach):
            top.tick()
            time.sleep(POLL_S)
    finally:
        top.look()
        top.show_whole(None)
    return 0


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """show who runs and who waits while CMD runs, CPU by CPU and task by task"""
    if not 0.01 <= arguments.delay <= 3600:
        raise UsageError(f"--delay {arguments.delay}: seconds from 0.01 to 3600 are expected")
    log = os.path.join(settings.build, "top-console.log")
    try:
        if arguments.attach:
            with reading(arguments.attach, UsageError, DAMAGED):
                return attach(settings, arguments)
        with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory, \
                open(log, "w", encoding="utf-8") as console:
            return run(settings, arguments, directory, console)
    except BrokenPipeError:  # of the output
        raise
    except (OSError, TraceError) as error:
        print(f"fairground: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 1

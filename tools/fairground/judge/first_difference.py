# SPDX-License-Identifier: GPL-2.0-only
"""The first switch that differs between two kernels, with both queues: make first-difference (docs/fidelity.md).

A side is a policy of ours, or linux-6.1 or linux-6.12. Each runs the same command with the same tracer, tracefs, which
both kernels have. Switches are compared CPU by CPU, in their order: who left, whether it could have gone on, who came.
Times do not count, for no two kernels have paths of one length, nor do threads that only one side has: Linux's own.

The comparison begins when all tasks of the command exist and its last one is about to start: at the end of the last
idle moment before that. It ends when one of them does.
"""

import argparse
import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import result
from ..base.expect import Missing
from ..base.settings import SCHEDULERS, Settings, UsageError
from ..machine.linux import END, KERNELS, MARK, MEMORY_MIB, on_linux, sections
from ..machine.machine import Machine, commit
from ..words import Command
from .fidelity import MODEL

COMMAND = Command("first-difference", machine=True, built="image", examples=(
    ("cfs linux-6.1 --cmd 'hog -n 3 -t 1s'", "the first switch that differs"),
))

LINUX = "linux-"
IDLE = "idle"
BEFORE = 4  # switches that are shown before the one that differs
EVENTS = ("sched_switch", "sched_wakeup", "sched_wakeup_new")
TRACE = "trace"
SCRIPT = f"""\
sleep 4
cd /sys/kernel/tracing
echo 0 >tracing_on
for event in {' '.join(EVENTS)}; do echo 1 >events/sched/$event/enable; done
echo >trace
echo 1 >tracing_on
(
%s
)
echo 0 >tracing_on
echo '{MARK}{TRACE}'
grep -E ' sched_(switch|wakeup|wakeup_new): ' trace
echo '{END}'
"""
SWITCH = re.compile(r"\[(\d+)\] \S+ +(\d+)\.(\d{6}): sched_switch: prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ "
                    r"prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=-?\d+$")
WAKEUP = re.compile(r"\[\d+\] \S+ +(\d+)\.(\d{6}): sched_wakeup(_new)?: comm=(.*) pid=(\d+) prio=-?\d+ "
                    r"target_cpu=(\d+)$")


@dataclass(frozen=True)
class Event:
    """A switch on @cpu from a task that may stay runnable, or with @left None a wakeup of @task there. Time in us."""

    us: int
    cpu: int
    task: int
    left: int | None = None
    how: str = ""      # "preempted", "sleeps" or "ends"
    born: bool = False  # the first wakeup of a new task


@dataclass
class Trace:
    """What happened on one side, and who the tasks are: pid -> name; idle is 0."""

    events: list[Event]
    comms: dict[int, str]

    def names(self, known: Collection[str]) -> dict[int, str]:
        """pid -> "hog#2", the second of this name; without those whose name is not in @known."""
        names, count = {0: IDLE}, dict.fromkeys(known, 0)
        for pid in sorted(self.comms):
            if pid and self.comms[pid] in count:
                count[self.comms[pid]] += 1
                names[pid] = f"{self.comms[pid]}#{count[self.comms[pid]]}"
        return names


def how_left(state: str) -> str:
    return "preempted" if state.startswith("R") else "ends" if state[0] in "XZ" else "sleeps"


def read_trace(text: str) -> Trace:
    """The events in the text that tracefs' file trace has."""
    events: list[Event] = []
    comms: dict[int, str] = {}
    for line in text.splitlines():
        if match := SWITCH.search(line):
            cpu, s, us, comm, pid, state, next_comm, next_pid = match.groups()
            comms[int(pid)], comms[int(next_pid)] = comm, next_comm
            events.append(Event(int(s + us), int(cpu), int(next_pid), int(pid), how_left(state)))
        elif match := WAKEUP.search(line):
            s, us, new, comm, pid, target = match.groups()
            comms.setdefault(int(pid), comm)
            events.append(Event(int(s + us), int(target), int(pid), born=bool(new)))
    return Trace(events, comms)


# --- what is compared -------------------------------------------------------------------------------------------------


@dataclass
class Switch:
    """One decision: who left how, who came, and who else could have: name -> since when it waits."""

    us: int
    left: str
    how: str
    came: str
    queue: dict[str, int]
    had: dict[str, int] = field(repr=False)  # us on a CPU since the comparison began

    def key(self) -> tuple[str, str, str]:
        return self.left, self.how, self.came


def beginning(trace: Trace, names: Mapping[int, str]) -> int:
    """The time at which the comparison begins."""
    last_comer = max((e.us for e in trace.events if e.born and e.task in names), default=0)
    idle_ends = [e.us for e in trace.events if e.left == 0 and e.us >= last_comer]
    return idle_ends[0] if idle_ends else last_comer


class Side:
    """The switches of a trace, by CPU, with the queue of each."""

    def __init__(self, trace: Trace, known: Collection[str]) -> None:
        self.names = trace.names(known)
        self.begin = beginning(trace, self.names)
        self.switches: dict[int, list[Switch]] = {}
        self._queues: dict[int, dict[str, int]] = {}
        self._running: dict[int, tuple[str, int]] = {}  # CPU -> who of those compared ran last, and since when
        self._pending: dict[int, str] = {}              # CPU -> how it left, while only others ran since
        self._had: dict[str, int] = {}
        for event in trace.events:
            if event.left is None:
                self._wakeup(event)
            elif not self._switch(event):
                break

    def _wakeup(self, event: Event) -> None:
        if event.task in self.names:
            name = self.names[event.task]
            for queue in self._queues.values():
                queue.pop(name, None)
            self._queues.setdefault(event.cpu, {})[name] = event.us

    def _switch(self, event: Event) -> bool:
        """Take a switch in; False if the comparison ends with it."""
        assert event.left is not None
        queue = self._queues.setdefault(event.cpu, {})
        compared = event.us >= self.begin
        if event.left in self.names:
            self._pending[event.cpu] = event.how
            name = self.names[event.left]
            if compared:
                since = max(self._running.get(event.cpu, ("", self.begin))[1], self.begin)
                self._had[name] = self._had.get(name, 0) + event.us - since
            if event.how == "preempted" and event.left:
                queue[name] = event.us
            self._running[event.cpu] = (name, event.us)
        if event.task not in self.names:
            return True
        left, came = self._running.get(event.cpu, (IDLE, 0))[0], self.names[event.task]
        waiting = {name: since for name, since in queue.items() if name != came}
        for other in self._queues.values():
            other.pop(came, None)
        self._running[event.cpu] = (came, event.us)
        how = self._pending.get(event.cpu, "preempted")
        if compared and left != came:
            self.switches.setdefault(event.cpu, []).append(
                Switch(event.us, left, "" if left == IDLE else how, came, waiting, dict(self._had)))
        return not (compared and how == "ends")


def first_difference(a: Side, b: Side) -> tuple[int, int] | None:
    """(CPU, index) of the earliest switch of A that B does not have in its place; None if they agree."""
    found = []
    for cpu in sorted(a.switches.keys() & b.switches.keys()):
        mine, its = a.switches[cpu], b.switches[cpu]
        for i, (x, y) in enumerate(zip(mine, its)):
            if x.key() != y.key():
                found.append((x.us, cpu, i))
                break
    return min(found)[1:] if found else None


# --- words ------------------------------------------------------------------------------------------------------------


def ms(us: int) -> str:
    return f"{us / 1000:.3f} ms"


def sentence(side: Side, s: Switch) -> str:
    return f"{ms(s.us - side.begin):>12}  {s.left} {s.how or 'ends'} -> {s.came}".replace(f"{IDLE} ends", IDLE)


def queue_lines(side: Side, s: Switch) -> list[str]:
    """Who could have come: the one who did first."""
    lines = []
    for name in [s.came, *sorted(s.queue)]:
        waits = f"waits {ms(s.us - s.queue[name])}, " if name in s.queue else ""
        mark = "*" if name == s.came else " "
        lines.append(f"             {mark} {name}: {waits}had {ms(s.had.get(name, 0))}")
    return lines


def report(names: Sequence[str], sides: Sequence[Side]) -> str:
    """The whole answer."""
    found = first_difference(*sides)
    compared = sum(min(len(sides[0].switches[cpu]), len(sides[1].switches[cpu]))
                   for cpu in sides[0].switches.keys() & sides[1].switches.keys())
    if not found:
        return f"no difference: {compared} switches are the same on both"
    cpu, index = found
    lines = [f"the first {index} switches of CPU {cpu} are the same; then one differs"]
    for name, side in zip(names, sides):
        lines.append(f"\n{name}, CPU {cpu}, since its tasks began")
        lines += [sentence(side, s) for s in side.switches[cpu][max(0, index - BEFORE):index + 1]]
        lines += queue_lines(side, side.switches[cpu][index])
    return "\n".join(lines)


def rows(names: Sequence[str], sides: Sequence[Side]) -> Iterator[dict[str, Any]]:
    """The switch that differs, as each side has it; none if there is no difference."""
    found = first_difference(*sides)
    for name, side in zip(names, sides) if found else ():
        assert found
        cpu, index = found
        switch = side.switches[cpu][index]
        yield {"side": name, "cpu": cpu, "index": index, "us": switch.us - side.begin, "left": switch.left,
               "how": switch.how or None, "came": switch.came,
               "waits_us": {task: switch.us - since for task, since in switch.queue.items()}, "had_us": switch.had}


# --- running ----------------------------------------------------------------------------------------------------------


def settings_of(name: str, settings: Settings) -> Settings:
    """The machine of a side."""
    script = SCRIPT % settings.cmd
    if name.startswith(LINUX):
        if name.removeprefix(LINUX) not in KERNELS.values():
            raise UsageError(f"{name}: {' or '.join(LINUX + release for release in KERNELS.values())} is expected")
        return on_linux(settings, name.removeprefix(LINUX), script)
    if name not in SCHEDULERS:
        raise UsageError(f"{name}: one of {', '.join(SCHEDULERS)}, {', '.join(LINUX + k for k in KERNELS.values())} "
                         "is expected")
    return dataclasses.replace(settings, icount=True, mem=max(settings.mem, MEMORY_MIB), kvm="0", cmd=script,
                               sched=name, append=f"preempt={MODEL} {settings.append}".strip())


def record(settings: Settings) -> Trace:
    """Run the command on one side and read what its tracer saw."""
    with Machine(settings) as machine:
        outcome = machine.run()
    found = sections(outcome.console)
    trace = read_trace(found.get(TRACE, ""))
    if END.removeprefix(MARK) not in found or not trace.events:
        raise Missing(f"{settings.kernel} left no trace: {outcome.problem or outcome.console[-500:]}")
    return trace


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sides", nargs="*", metavar="SIDE", help="a policy, or linux-6.1 or linux-6.12")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """show the first switch that two policies, or ours and Linux, decide differently"""
    if len(arguments.sides) != 2:
        raise UsageError("two sides are expected, as cfs linux-6.1: two policies, or one and a Linux")
    if not settings.cmd:
        raise UsageError('CMD="..." is missing: what both sides run')
    machines = [settings_of(name, settings) for name in arguments.sides]
    print(f"Fairground {commit()}, {settings.cpus} CPU{'s' * (settings.cpus > 1)}, icount, HZ={settings.hz}, "
          f"preempt={MODEL}: {' and '.join(arguments.sides)} run {settings.cmd}", flush=True)
    traces = [record(machine) for machine in machines]
    known = set.intersection(*(set(trace.comms.values()) for trace in traces))
    sides = [Side(trace, known) for trace in traces]
    result.tell([report(arguments.sides, sides)], result.of_settings(settings, sched=",".join(arguments.sides)),
                rows(arguments.sides, sides))
    return 0

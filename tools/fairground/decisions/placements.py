# SPDX-License-Identifier: GPL-2.0-only
"""Placements: on which CPU each task woke up or started, why, and which others there were.

The records are sched_decision_select of sched/observe/decision.def with its rows: the CPUs, and where energy decided
what each CPU used and what each frequency domain would take. `fairground decisions --kind select` prints them
(docs/decisions.md).
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .decision_file import Row, Shape, open_file
from .fair_decisions import label, tree_names


class Cpu(NamedTuple):
    """A CPU to which the task could go."""

    of_cpu: int
    cache: int
    flags: int
    capacity: int
    nr_running: int
    load: int
    idle_since: int
    full: int

    def has(self, flag: "Flag") -> bool:
        return bool(self.flags & flag)


class Flag(enum.IntFlag):
    """Flags of a CPU: enum decision_cpu_flags of sched/observe/decision.h. Only other classes set WAKER and LAST."""

    IDLE = 0x1
    FREE = 0x2
    ALLOWED = 0x4
    WAKER = 0x8
    LAST = 0x10
    CHANGED = 0x100


class Use(NamedTuple):
    """A CPU as a placement by energy saw it."""

    of_cpu: int
    domain: int
    flags: int
    least: int
    most: int
    capacity: int
    full: int
    spare: int
    util: int
    estimate: int
    urgent: int
    with_task: int

    def has(self, flag: "UseFlag") -> bool:
        return bool(self.flags & flag)


class UseFlag(enum.IntFlag):
    """Flags of a CPU's use: enum decision_use_flags of sched/observe/decision.h."""

    ALLOWED = 0x1
    LAST = 0x2
    NEAR = 0x4
    REAL_TIME = 0x8
    CLAMP_IDLE = 0x10
    COUNTED = 0x20


class Energy(NamedTuple):
    """The energy of a frequency domain, without the task and with it."""

    domain: int
    last: int
    best: int
    flags: int
    least: int
    most: int
    util: int
    estimate: int
    without: int
    with_last: int
    with_best: int

    def has(self, flag: "EnergyFlag") -> bool:
        return bool(self.flags & flag)

    def costs(self) -> dict[int, int]:
        """Of each candidate: how much more energy the domain takes with the task there."""
        of = {self.last: self.with_last, self.best: self.with_best}
        return {cpu: energy - self.without for cpu, energy in of.items() if cpu >= 0}


class EnergyFlag(enum.IntFlag):
    """Flags of that: enum decision_energy_flags of sched/observe/decision.h."""

    UTIL_EST = 0x1
    CLAMPED = 0x2


@dataclass(slots=True)
class Placement:
    """The choice of a CPU. decision.def explains the numbers."""

    time: int
    uses: tuple[Use, ...]
    energies: tuple[Energy, ...]
    cpus: tuple[Cpu, ...]
    comm: str
    pid: int
    why: int
    waker: int
    last: int
    recent: int
    aimed: int
    chosen: int
    nr_cpus: int
    nr_rows: int
    aim: str
    rule: str
    scan: int
    bias_pct: int
    load: int
    util: int
    least: int
    most: int

    kind, policy = "select", ""
    group = subject_group = 0
    answer = 1

    @property
    def candidates(self) -> tuple[()]:
        return ()

    @property
    def cpu(self) -> int:
        """Where it was decided."""
        return self.waker

    @property
    def subject(self) -> str:
        return label(self.comm, self.pid, 0)

    def sharing(self) -> set[int]:
        """The CPUs that share their last-level cache with the one aimed at."""
        caches = {cpu.of_cpu: cpu.cache for cpu in self.cpus}
        return {number for number, cache in caches.items() if cache == caches.get(self.aimed)}

    @property
    def complete(self) -> bool:
        """False if CPUs are missing: the machine has more than a record holds, or events were lost."""
        return len(self.cpus) == self.nr_cpus


FIELDS = tuple(Placement.__dataclass_fields__)[4:]
SHAPES = (Shape("select", FIELDS, ("comm", "aim", "rule"),
                {"uses": Row("use", Use), "energies": Row("energy", Energy), "cpus": Row("cpu", Cpu)},
                lambda time, _, rows, values: Placement(time, rows[0], rows[1], rows[2], *values)),)
EXECS, NEW, WAKES, SYNC = 2, 4, 8, 16
REASONS = {EXECS: "execs", NEW: "starts", WAKES: "wakes", WAKES | SYNC: "wakes, sync"}


def read(path: str) -> Iterator[Placement]:
    """Every Placement of the file @path. Raises DecisionError if it is no good file of decisions."""
    yield from open_file(path).records(SHAPES)


# --- text -------------------------------------------------------------------------------------------


def answer(p: Placement) -> str:
    """The answer in words."""
    return f"CPU {p.last} -> {p.chosen}" if p.last != p.chosen else f"CPU {p.chosen}"


def because(p: Placement) -> str:
    """Why it was chosen, and why it was aimed where it was."""
    return f"{tree_names('CPU').get(p.rule, p.rule)} (aimed at {p.aimed}: {tree_names('AIM').get(p.aim, p.aim)})"


def conclusion(p: Placement) -> str:
    return f"{p.subject} {REASONS.get(p.why, hex(p.why))}: {answer(p)}, because {because(p)}."


def line(p: Placement) -> str:
    return (f"{p.time / 1e6:14.6f}  {p.comm}-{p.pid:<6} {REASONS.get(p.why, hex(p.why)):<11} {answer(p):<14} "
            f"because {because(p)}")


def table(p: Placement) -> Iterator[str]:
    yield "       CPU  free  allowed  shares cache  running      load  "
    sharing = p.sharing()
    for cpu in p.cpus:
        marks = [name for name in ("waker", "last", "recent", "aimed") if getattr(p, name) == cpu.of_cpu]
        state = "idle" if cpu.has(Flag.IDLE) else "yes" if cpu.has(Flag.FREE) else "no"
        yield (f"  {'>' if cpu.of_cpu == p.chosen else ' '} {cpu.of_cpu:>6}  {state:<4}  "
               f"{'yes' if cpu.has(Flag.ALLOWED) else 'no':<7}  {'yes' if cpu.of_cpu in sharing else 'no':<12}  "
               f"{cpu.nr_running:>7}  {cpu.load:>8}  {', '.join(marks)}").rstrip()
    if not p.complete:
        yield f"    and {p.nr_cpus - len(p.cpus)} more"
    yield from energy_table(p)


def energy_table(p: Placement) -> Iterator[str]:
    """What the task would cost on each candidate, where energy decided."""
    costs = {cpu: cost for energy in p.energies for cpu, cost in energy.costs().items()}
    if p.energies:
        yield "       CPU  domain  capacity  used with it  to spare     energy more"
    for use in p.uses:
        cost = f"{costs[use.of_cpu] / 1000:.3f}" if use.of_cpu in costs else "-"
        yield (f"  {'>' if use.of_cpu == p.chosen else ' '} {use.of_cpu:>6}  {use.domain:>6}  {use.capacity:>8}  "
               f"{use.with_task:>12}  {use.spare or '-':>8}  {cost:>14}")


def counted(p: Placement) -> Iterator[tuple[str, str, str]]:
    """What --stats counts: of what, which of its fields, and the value in words."""
    yield "placements", "rule", tree_names("CPU").get(p.rule, p.rule)

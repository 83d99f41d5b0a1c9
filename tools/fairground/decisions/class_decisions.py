# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of the other classes than the fair one: sched_decision_class and its rows (sched/observe/decision.def).

`fairground decisions` prints them among those of fair policies. They are in the same files: lines of JSON from
schedsim --decisions, or a trace.dat (docs/decisions.md).

    for decision in read("run.json"):
        print(decision.time, decision.kind, decision.subject, decision.rule)
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .decision_file import Row, Shape, open_file
from .fair_decisions import Flag, label, tree_names

MS = 1_000_000
NO_REAL_TIME = 100  # the priority of a CPU without a real-time task that can run


class Task(NamedTuple):
    """A task of the class before the decision. decision.def explains the numbers."""

    comm: str
    pid: int
    prio: int
    position: int
    slice: int
    flags: int
    nr_allowed: int
    bw: int
    deadline: int
    budget: int
    replenish_at: int
    runtime: int
    relative: int
    period: int

    @property
    def name(self) -> str:
        return label(self.comm, self.pid, 0)

    def has(self, flag: Flag) -> bool:
        return bool(self.flags & flag)


class Level(NamedTuple):
    """How urgent the work of a CPU is."""

    of_cpu: int
    flags: int
    active: int
    prio: int
    nr_running: int
    deadline: int


@dataclass(slots=True)
class ClassDecision:
    """One decision: its record, whose numbers are those of the subject afterwards, and the rows before it."""

    time: int
    candidates: tuple[Task, ...]
    cpus: tuple[Level, ...]
    kind: str
    policy: str
    rule: str
    answer: int
    cpu: int
    to: int
    nr_rows: int
    nr_cpus: int
    flags: int
    call: int
    nr_queued: int
    active: int
    comm: str
    pid: int
    prio: int
    position: int
    slice: int
    clock: int
    deadline: int
    budget: int
    replenish_at: int
    used: int
    period_end: int

    group = subject_group = 0  # these classes know no groups

    @property
    def subject(self) -> str:
        if self.pid:
            return label(self.comm, self.pid, 0)
        return "the fair server" if self.policy == "fair_server" else "the class"

    @property
    def complete(self) -> bool:
        """False if rows are missing: events were lost, or not recorded."""
        return len(self.candidates) == self.nr_rows and len(self.cpus) == self.nr_cpus


FIELDS = ("act", *list(ClassDecision.__dataclass_fields__)[4:])
SHAPES = (Shape("class", FIELDS, ("act", "policy", "rule", "comm"),
                {"tasks": Row("task", Task), "cpus": Row("level", Level)},
                lambda time, _, rows, values: ClassDecision(time, rows[0], rows[1], *values)),)
KINDS = tuple(tree_names("ACT"))


def read(path: str | os.PathLike[str]) -> Iterator[ClassDecision]:
    """Every ClassDecision of the file @path. Raises DecisionError if it is no good file of decisions."""
    yield from open_file(path).records(SHAPES)


# --- text ---------------------------------------------------------------------------------------------------------


def _ms(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // MS}.{abs(ns) % MS:06}"


def answer(d: ClassDecision) -> str:
    """The answer in words."""
    if d.kind in ("select", "push", "pull"):
        return f"to CPU {d.to}" if d.kind != "select" or d.to != d.cpu else f"stays on {d.cpu}"
    return {"pick": ("nobody", "picked"), "preempt": ("waits", "takes over"), "tick": ("goes on", "turn is over"),
            "enter": ("", "queued"), "leave": ("", "leaves"), "yield": ("", "yields"), "throttle": ("", "throttled"),
            "replenish": ("", "may run"), "stop": ("", "stops")}.get(d.kind, ("no", "yes"))[bool(d.answer)]


def sentence(rule: str) -> str:
    """The sentence of @rule, which continues "because"; "" if this tree does not know the rule."""
    return tree_names("REASON").get(rule, "")


DSQ = {1 << 63: "no queue", 1 << 63 | 1: "the global queue", 1 << 63 | 2: "the local queue",
       (1 << 64) - 1: "its scheduler"}  # numbers of sched/ext.h, and of decision.def


def place(dsq: int) -> str:
    """Where a task of ext waits, in words."""
    return DSQ.get(dsq, f"queue {dsq:#x}")


def _slice(ns: int) -> str:
    return "endless" if ns < 0 else _ms(ns)


def _task(d: ClassDecision, task: Task) -> str:
    name = task.comm if task.has(Flag.SERVER) else task.name
    text = f" {'>' if task.pid == d.pid else ' '} {name:>18}  {task.prio:4}  {task.position:3}"
    if d.policy in ("deadline", "fair_server"):
        text += f" {_ms(task.deadline - d.clock):>13} {_ms(task.budget):>11} {task.bw / (1 << 20):>9.1%}"
    elif d.policy == "ext":
        text += f"  {task.bw:>6} {_ms(task.deadline):>17} {_slice(task.budget):>11}  {place(task.replenish_at)}"
    else:
        text += f"  {task.slice or '-':>5}"
    marks = [what for flag, what in ((Flag.RUNS, "runs"), (Flag.THROTTLED, "throttled")) if task.has(flag)]
    return text + f"  {', '.join(marks if task.has(Flag.QUEUED) or task.has(Flag.SERVER) else [*marks, 'not queued'])}"


def table(d: ClassDecision) -> list[str]:
    """The rows of the decision, as lines."""
    deadline = d.policy in ("deadline", "fair_server")
    ext = "  weight             vtime  slice left  waits in"
    numbers = "   deadline in      budget bandwidth" if deadline else ext if d.policy == "ext" else "  slice"
    lines = [f"   {'task':>18}  prio  nr.{numbers}"]
    lines += [_task(d, task).rstrip() for task in d.candidates]
    for cpu in d.cpus:
        work = "idles" if not cpu.nr_running else "runs fair tasks" if cpu.prio >= NO_REAL_TIME else \
            f"real-time task of priority {cpu.prio}"
        if cpu.deadline:
            work = f"deadline in {_ms(cpu.deadline - d.clock)}"
        allowed = "" if cpu.flags & 0x4 else ", not allowed"
        lines.append(f"   {'>' if cpu.of_cpu == d.to else ' '} CPU {cpu.of_cpu}: {work}{allowed}")
    if not d.complete:
        lines.append(f"   {d.nr_rows} tasks and {d.nr_cpus} CPUs were recorded, of which {len(d.candidates)} and "
                     f"{len(d.cpus)} are in the file")
    return lines


def conclusion(d: ClassDecision) -> str:
    """The answer and the rule as a sentence, and what became of the subject's numbers."""
    text = f"{d.subject}: {answer(d)}, because {sentence(d.rule) or 'of the rule ' + d.rule}."
    if d.policy in ("deadline", "fair_server") and d.kind in ("enter", "throttle", "replenish", "yield"):
        text += f" Afterwards: deadline in {_ms(d.deadline - d.clock)}, budget {_ms(d.budget)}"
        text += f", throttled for {_ms(d.replenish_at - d.clock)}." if d.replenish_at else "."
    elif d.policy == "ext" and d.kind in ("enter", "stop"):
        text += f" Afterwards: in {place(d.replenish_at)}, slice {_slice(d.budget)}."
    elif d.policy == "real_time":
        text += f" It ran {_ms(d.used)} in this period."
    return text

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge what SCHED_FIFO, SCHED_RR and SCHED_DEADLINE decided, from a file of decisions.

Real time is held against a model queue for each CPU: a list of tasks by priority, and by arrival among equals. The
model changes by POSIX's rules only: a task enters behind its equals; raised it goes behind its new equals, lowered
before them; preempted it keeps its place; a yield and the end of a slice send it behind. Every queue that a record
has must be the model's, so a task that moves without a reason is seen at the next record.

Deadlines are held against the constant bandwidth server in exact fractions: a wakeup keeps its deadline if what is
left of its budget fits the bandwidth until then (Abeni and Buttazzo 1998); if the deadline is shorter than the period,
it may not start anew before that ends (Abeni et al. 2015).

The fair server is such a server too, deferred as in Linux 6.12: it competes from its zero-laxity time on, with a new
period; where fair tasks had the budget before without it, a new period begins. Where it competes, EDF has to pick it.

Usage: judge_class.py FILE... [--hz N]    status 1: a decision is wrong; 2: not all could be judged
"""

import collections
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import class_reasons
from class_reasons import ALLOWED, MOVE, RUNS, SAVE, SUBJECT, WAKEUP
from judging import NOT_JUDGED, RIGHT, Finding, Judge, Run, Verdict, main, words_of

from fairground.decisions.class_decisions import ClassDecision, Level, Task
from fairground.decisions.fair_decisions import Decision

QUEUED, THROTTLED, SERVER = 0x800, 0x2000, 0x4000  # flags of tasks, beside those of class_reasons.py
STOP, DL, RT = 0, 1, 2          # ranks of classes
FAIR, IDLE = 100, 101           # priorities of what is less urgent than all real-time tasks
SERVER_STEP_NS = 1024           # the zero-laxity time of the fair server is met to this


def level(cpu: Level) -> int:
    """How urgent the work of a CPU is, as a priority."""
    if cpu.active & (1 << STOP | 1 << DL):
        return -1
    if cpu.prio < FAIR:
        return cpu.prio
    return FAIR if cpu.nr_running else IDLE


def best_cpus(prio: int, cpus: tuple[Level, ...]) -> list[int]:
    """The CPUs with the least urgent work that is less urgent than @prio, of those that are allowed."""
    usable = {cpu.of_cpu: level(cpu) for cpu in cpus if cpu.flags & ALLOWED}
    most = max(usable.values(), default=-1)
    return [cpu for cpu in usable if usable[cpu] == most] if most > prio else []


def queue(d: ClassDecision) -> list[Task]:
    return [task for task in d.candidates if task.flags & QUEUED]


def subject(d: ClassDecision) -> Task | None:
    return next((task for task in d.candidates if task.flags & SUBJECT), None)


def names(pids: list[int]) -> str:
    return ", ".join(map(str, pids)) or "nobody"


# --- real time ----------------------------------------------------------------------------------------------------


class RealTime:
    """Judges the real-time class of one CPU: the model queue, its places and its throttling."""

    def __init__(self, hz: int, runtime_us: int, period_us: int, slice_ms: int, nr_cpus: int,
                 turns: class_reasons.Turns, prompt: bool) -> None:
        """@nr_cpus: of the machine, those that left included; 0: none ever leaves. @turns: of the machine.
        @prompt: a CPU that was asked for a switch makes it before its next tick.
        """
        self.nr_cpus, self.turns, self.prompt = nr_cpus, turns, prompt
        self.over = 0  # the task whose turn ended at a tick, until the next pick; 0: none
        self.model: list[tuple[int, int]] | None = None  # (priority, pid), the first first
        self.throttled = False
        self.limit_ns = runtime_us * 1000 if 0 <= runtime_us < period_us else None
        self.full = max(1, slice_ms * hz // 1000)

    def index(self, pid: int) -> int | None:
        assert self.model is not None
        return next((i for i, (_, other) in enumerate(self.model) if other == pid), None)

    def insert(self, prio: int, pid: int, head: bool) -> int:
        """Where it is now."""
        assert self.model is not None
        at = sum(other < prio if head else other <= prio for other, _ in self.model)
        self.model.insert(at, (prio, pid))
        return at

    def to_tail(self, pid: int) -> int | None:
        at = self.index(pid)
        assert self.model is not None
        return None if at is None else self.insert(*self.model.pop(at), False)

    def judge(self, d: ClassDecision, left: dict[int, ClassDecision]) -> Verdict:
        """@left: by pid, the record of its leave, of whatever class."""
        if d.kind in ("throttle", "replenish"):
            return self.turn(d)
        if d.kind == "select":
            return self.select(d)
        if d.kind == "pick":
            self.over = 0
        if len(queue(d)) > 62 or not d.complete:
            self.model = None
            return NOT_JUDGED
        seen = [(task.prio, task.pid) for task in queue(d)]
        if self.model is None:
            self.model = seen
        if not seen and len(self.model) == 1 and d.kind == "enter" and d.call & SAVE and not d.call & MOVE:
            seen = self.model  # it is not counted, but its place is kept
        if seen != sorted(seen, key=lambda task: task[0]):
            return "the queue is not ordered by priority"
        if seen != self.model:
            right, self.model = self.model, seen
            return f"the queue has {names([p for _, p in seen])} and should have {names([p for _, p in right])}"
        return getattr(self, d.kind.replace("yield", "give_way"))(d, left)

    def placed(self, d: ClassDecision, at: int | None) -> Verdict:
        return RIGHT if d.position == at else f"its place is {d.position}, and should be {at}"

    def pick(self, d: ClassDecision, _: object) -> Verdict:
        assert self.model is not None
        if d.active & -d.active != 1 << RT:
            return "a class that is more urgent has a task"
        if self.throttled:
            return "the class is throttled"
        first = [pid for _, pid in self.model[:1]]
        return RIGHT if [d.pid] == first else f"{names(first)} is first"

    def preempt(self, d: ClassDecision, _: object) -> Verdict:
        curr = next((task for task in d.candidates if task.flags & RUNS), None)
        if not curr:
            return NOT_JUDGED
        if d.prio < curr.prio:
            return RIGHT if d.answer else "it is more urgent"
        if best_cpus(d.prio, d.cpus):
            return RIGHT if d.answer else "another CPU would take it, if only it were pushed"
        if d.answer and d.prio == curr.prio and curr.nr_allowed > 1 and d.rule == "makes_room":
            assert self.model is not None
            at = self.index(d.pid)
            return NOT_JUDGED if at is None else self.placed(d, self.insert(*self.model.pop(at), True))
        return "it is no more urgent, and has nowhere to go" if d.answer else RIGHT

    def tick(self, d: ClassDecision, _: object) -> Verdict:
        late = self.prompt and d.pid == self.over
        self.over = d.pid if d.answer or late else 0
        verdict = self.slice_used(d)
        return verdict or ("its turn ended at an earlier tick, but nobody asked for a switch" if late else verdict)

    def slice_used(self, d: ClassDecision) -> Verdict:
        row = subject(d)
        if not row or not row.flags & QUEUED:
            return NOT_JUDGED
        if row.slice > 1:
            return RIGHT if not d.answer and d.slice == row.slice - 1 else "its slice is not used up"
        if d.slice != self.full:
            return f"its new slice is {d.slice} ticks"
        assert self.model is not None
        others = sum(prio == row.prio for prio, _ in self.model) > 1
        if bool(d.answer) != others:
            return "its turn is over if and only if another of its priority waits"
        return self.placed(d, self.to_tail(d.pid)) if others else RIGHT

    def enter(self, d: ClassDecision, left: dict[int, ClassDecision]) -> Verdict:
        before = left.get(d.pid)
        at = self.index(d.pid)
        if at is not None:  # back again, and as urgent as before
            return self.placed(d, at) if d.call & SAVE and not d.call & MOVE else "it is queued already"
        changed = d.call & SAVE and before is not None and before.call & SAVE
        lowered = bool(changed and before and before.prio < d.prio)
        return self.placed(d, self.insert(d.prio, d.pid, lowered))

    def leave(self, d: ClassDecision, _: object) -> Verdict:
        at = self.index(d.pid)
        assert self.model is not None
        if at is None:
            return "it was not queued"
        if d.call & SAVE and not d.call & MOVE:
            return RIGHT  # its place is kept for it
        del self.model[at]
        return "it is still queued" if d.flags & QUEUED else RIGHT

    def give_way(self, d: ClassDecision, _: object) -> Verdict:
        return self.placed(d, self.to_tail(d.pid))

    def turn(self, d: ClassDecision) -> Verdict:
        self.throttled = d.kind == "throttle"
        if self.limit_ns is None or d.rule == "cpu_leaves":
            return NOT_JUDGED
        if (d.used > self.limit_ns) if self.throttled else (d.used < self.limit_ns):
            return RIGHT
        return f"it used {d.used} of {self.limit_ns} ns"

    def movable(self, d: ClassDecision, enough: int) -> Verdict:
        """No task before the subject could have gone instead, as it may use @enough CPUs in service."""
        enough += max(self.nr_cpus - len(d.cpus), 0)  # who may use these may have nowhere else to go
        for task in queue(d):
            if task.pid == d.pid:
                return RIGHT if not task.flags & RUNS else "it runs"
            if not task.flags & RUNS and task.nr_allowed >= enough:
                return f"{task.name} is before it, and waits too"
        return "it is not queued"

    def push(self, d: ClassDecision, _: object) -> Verdict:
        may = self.turns.nearest(d, best_cpus(d.prio, d.cpus))
        if d.to not in may:
            return f"of the CPUs with the least urgent work {names(may)} is right"
        return self.movable(d, 2)

    def pull(self, d: ClassDecision, _: object) -> Verdict:
        there = next((cpu for cpu in d.cpus if cpu.of_cpu == d.to), None)
        if there and (not there.flags & ALLOWED or level(there) <= d.prio):
            return "it is not more urgent than the work there"
        return self.movable(d, len(d.cpus))

    def select(self, d: ClassDecision) -> Verdict:
        if not any(cpu.flags & ALLOWED for cpu in d.cpus) or not d.complete:
            return NOT_JUDGED
        chosen = next((cpu for cpu in d.cpus if cpu.of_cpu == d.to), None)
        if not chosen or not chosen.flags & ALLOWED:
            return "it may not run there"
        may = best_cpus(d.prio, d.cpus)
        if d.rule == "least_urgent_there":
            near = self.turns.nearest(d, may)
            return RIGHT if d.to in near else f"of the CPUs with the least urgent work {names(near)} is right"
        if d.rule == "none_less_urgent" and may:
            return f"the work of CPUs {names(may)} is less urgent"
        return class_reasons.judge_stay(d)


# --- deadline -----------------------------------------------------------------------------------------------------


class Server:
    """The numbers of a constant bandwidth server, and what may become of them."""

    def __init__(self, row: Task) -> None:
        self.q, self.d, self.p = row.runtime, row.relative, row.period
        self.deadline, self.budget, self.until = row.deadline, row.budget, row.replenish_at

    def start(self, now: int) -> None:
        self.deadline, self.budget, self.until = now + self.d, self.q, 0

    def next_period(self) -> int:
        return self.deadline - self.d + self.p

    def replenish(self, now: int) -> None:
        self.until = 0
        while self.budget <= 0:
            self.budget += self.q
            self.deadline += self.p
        if self.deadline < now:
            self.start(now)

    def exhaust(self, now: int) -> None:
        self.budget, self.until = min(self.budget, 0), self.next_period()
        if self.until <= now:
            self.replenish(now)

    def wake(self, now: int) -> None:
        if not self.deadline and not self.budget:
            self.start(now)
            return
        if self.until > now:
            return
        if self.until:
            self.replenish(self.until)
        late, rest = self.deadline < now, self.deadline - now
        if not late and self.budget * self.d <= rest * self.q:
            return
        if self.d == self.p or self.next_period() <= now:
            self.start(now)
            return
        self.budget = 0 if late else int(Fraction(rest * self.q, self.d))
        if not self.budget:
            self.until = self.next_period()

    def numbers(self) -> tuple[int, int, int]:
        return self.deadline, self.budget, self.until


class Deadline:
    """Judges the deadline class."""

    def __init__(self, turns: class_reasons.Turns) -> None:
        self.turns = turns

    def judge(self, d: ClassDecision) -> Verdict:
        row = subject(d)
        if not d.complete or len(queue(d)) > 62:
            return NOT_JUDGED
        if any(bool(task.flags & THROTTLED) != bool(task.replenish_at) for task in queue(d)):
            return "a task is throttled with no end, or has one without"
        if d.kind == "pick":
            return self.pick(d)
        if d.policy == "fair_server":
            return self.reserve(d)
        if not row:
            return "there is no subject"
        if d.kind == "preempt":
            return self.preempt(d, row)
        if d.kind in ("push", "pull", "select"):
            return self.move(d, row)
        return self.serve(d, row)

    def pick(self, d: ClassDecision) -> Verdict:
        if d.active & -d.active != 1 << DL:
            return "a class that is more urgent has a task"
        ready = {task.pid: task.deadline for task in queue(d) if not task.flags & THROTTLED}
        servers = [task.deadline for task in d.candidates if task.flags & SERVER and not task.flags & THROTTLED]
        if d.policy == "fair_server":
            if not servers:
                return "the fair server does not compete"
            earlier = [deadline for deadline in ready.values() if deadline <= servers[0]]
            return "a task has a deadline as early as the fair server's" if earlier else RIGHT
        if not d.pid:
            return RIGHT if not ready and not servers else "somebody is ready"
        if d.pid not in ready:
            return "it is throttled, or not queued"
        earliest = min(ready.values())
        if servers and servers[0] < earliest:
            return f"the deadline of the fair server is {earliest - servers[0]} ns earlier"
        return RIGHT if ready[d.pid] == earliest else f"the earliest deadline is {ready[d.pid] - earliest} ns earlier"

    def reserve(self, d: ClassDecision) -> Verdict:
        """What becomes of the fair server. Idle time, of which a record knows nothing, may use up its budget."""
        row = next((task for task in d.candidates if task.flags & SERVER), None)
        if not row:
            return NOT_JUDGED
        competed, competes = not row.flags & THROTTLED, not d.flags & THROTTLED
        server = Server(row)
        if d.kind == "enter":
            if row.budget != d.budget and row.deadline == d.deadline:
                return RIGHT if 0 <= d.budget < row.budget else "its budget grew"
            server.wake(d.clock)
        elif d.kind == "leave":
            if competes:
                return "it competes for nobody"
        elif row.budget > 0 and d.kind == "throttle":
            return f"it has {row.budget} ns left"
        elif d.rule == "fair_ran":
            server.start(d.clock)
            if competed or competes:
                return "it competed, or it competes"
        elif d.kind == "throttle":
            server.exhaust(d.clock)
            if not competed:
                return "it did not compete"
        elif d.kind == "replenish":
            due = row.replenish_at or row.deadline - max(row.budget, 0) - SERVER_STEP_NS
            if competed or not competes or d.clock < due:
                return f"it may compete {due - d.clock} ns later"
            if row.budget > 0:
                server.wake(d.clock)
            else:
                server.replenish(d.clock)
        return self.compared(d, server)

    def later(self, d: ClassDecision, deadline: int) -> list[int]:
        """The CPUs whose work is the least urgent, if that is less urgent than @deadline: those without a deadline
        task, whatever they do, before all others."""
        def key(cpu: Level) -> tuple[int, int]:
            rank = (cpu.active & -cpu.active).bit_length() - 1 if cpu.active else 5
            return min(rank, DL + 1), cpu.deadline if rank == DL else 0

        usable = {cpu.of_cpu: key(cpu) for cpu in d.cpus if cpu.flags & ALLOWED}
        most = max(usable.values(), default=(STOP, 0))
        return [cpu for cpu in usable if usable[cpu] == most] if most > (DL, deadline) else []

    def preempt(self, d: ClassDecision, row: Task) -> Verdict:
        curr = next((task for task in d.candidates if task.flags & RUNS), None)
        if row.flags & THROTTLED:
            return RIGHT if not d.answer else "it is throttled"
        if not curr:
            return NOT_JUDGED
        earlier = bool(curr.flags & THROTTLED) or row.deadline < curr.deadline
        right = earlier or bool(self.later(d, row.deadline))
        return RIGHT if right == bool(d.answer) else f"its deadline is {curr.deadline - row.deadline} ns earlier"

    def move(self, d: ClassDecision, row: Task) -> Verdict:
        if d.kind == "select":
            server = Server(row)
            server.wake(d.clock)
            may = self.later(d, server.deadline)
            if d.rule == "none_less_urgent":
                return RIGHT if not may else f"the work of CPUs {names(may)} is less urgent"
            near = self.turns.nearest(d, may)
            if d.rule == "least_urgent_there":
                return RIGHT if d.to in near else f"of the CPUs with the least urgent work {names(near)} is right"
            return class_reasons.judge_stay(d)
        if row.flags & (THROTTLED | RUNS):
            return "it does not wait for a CPU"
        if d.kind == "push":
            may = self.turns.nearest(d, self.later(d, row.deadline))
            return RIGHT if d.to in may else f"right are CPUs {names(may)}"
        there = next((cpu for cpu in d.cpus if cpu.of_cpu == d.to), None)
        if there and there.active & 1 << DL and there.deadline <= row.deadline:
            return "it is not more urgent than the work there"
        return RIGHT

    def serve(self, d: ClassDecision, row: Task) -> Verdict:
        server = Server(row)
        if d.kind == "enter" and (d.call & WAKEUP and not d.call & SAVE or not (row.deadline or row.budget)):
            server.wake(d.clock)
        elif d.kind in ("throttle", "yield"):
            if d.kind == "throttle" and row.budget > 0:
                return f"it has {row.budget} ns left"
            if not row.flags & THROTTLED:
                server.exhaust(d.clock)
        elif d.kind == "replenish":
            if row.replenish_at > d.clock:
                return f"it is {row.replenish_at - d.clock} ns too early"
            server.replenish(d.clock)
        return self.compared(d, server)

    def compared(self, d: ClassDecision, server: Server) -> Verdict:
        if server.numbers() == (d.deadline, d.budget, d.replenish_at):
            return RIGHT
        return f"deadline, budget and end of throttling should be {server.numbers()}"


# --- all ----------------------------------------------------------------------------------------------------------


class Court:
    """The judges of a whole run."""

    def __init__(self, hz: int, runtime_us: int, period_us: int, slice_ms: int, nr_cpus: int = 0,
                 flat: bool = False, prompt: bool = False) -> None:
        """@flat: each CPU is as near as any other."""
        self.turns = class_reasons.Turns(flat)
        self.real_time: dict[int, RealTime] = collections.defaultdict(
            lambda: RealTime(hz, runtime_us, period_us, slice_ms, nr_cpus, self.turns, prompt))
        self.deadline = Deadline(self.turns)
        self.left: dict[int, ClassDecision] = {}

    def judge(self, d: ClassDecision) -> Verdict:
        """Why the decision is wrong; "" if it is right; None if no rule covers it."""
        urgent = d.policy in ("deadline", "fair_server")
        if d.rule == "cpu_leaves" or not d.complete:
            self.turns.forget()
        real_time = self.real_time[d.cpu]
        verdict = self.deadline.judge(d) if urgent else real_time.judge(d, self.left)
        verdict = verdict or class_reasons.judge_rest(d, real_time.limit_ns) or verdict
        if not d.pid or d.policy == "fair_server":
            return verdict
        if d.kind == "leave":
            self.left[d.pid] = d
        elif d.kind == "enter":
            self.left.pop(d.pid, None)
        return verdict


class ClassJudge(Judge):
    """Judges what SCHED_FIFO, SCHED_RR and SCHED_DEADLINE decided."""

    kinds = (ClassDecision, Decision)
    numbers = {"rt_runtime_us": 950_000, "rt_period_us": 1_000_000, "rr_timeslice_ms": 100}

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        runtime_us, period_us, slice_ms = (run.options.get(name, default) for name, default in self.numbers.items())
        flat = class_reasons.is_flat(run.header, run.cpus)
        self.court = Court(run.hz, runtime_us, period_us, slice_ms, run.cpus, flat)
        self.nr_home = run.cpus - int(run.header.get("isolated", 0))  # the CPUs from here on are isolated

    def within_reach(self, d: ClassDecision) -> ClassDecision:
        """@d without the CPUs to which the class moves nothing from that of @d: one is isolated, the other not."""
        if d.rule in ("only_allowed", "cpu_leaves"):
            return d
        apart = [(cpu.of_cpu < self.nr_home) != (d.cpu < self.nr_home) for cpu in d.cpus]
        return replace(d, cpus=tuple(cpu._replace(flags=cpu.flags & ~ALLOWED) if far else cpu
                                     for cpu, far in zip(d.cpus, apart, strict=True)))

    def judge(self, d: ClassDecision | Decision) -> Iterator[Finding]:
        if isinstance(d, ClassDecision) and d.policy != "ext":  # tests/oracle/dispatch.c judges that class
            yield (d.policy, d.kind), words_of(d), self.court.judge(self.within_reach(d) if d.cpus else d)
        elif d.kind == "leave" and isinstance(d, Decision):
            self.court.left.pop(d.pid, None)  # it was a fair task meanwhile


if __name__ == "__main__":
    sys.exit(main(__doc__, ClassJudge))

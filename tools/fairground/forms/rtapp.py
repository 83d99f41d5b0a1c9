# SPDX-License-Identifier: GPL-2.0-only
"""The tasks of a trace as a workload file of rt-app, which the simulator reads, too (docs/replay.md).

rt-app counts in microseconds. What a step loses or gains by that, the next one of its kind makes good.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

from ..trace.behaviour import Behaviour, Step, Task, spread

US = 1000
FIRST_NICE, NICE_0, LAST_PRIORITY, REAL_TIME = 100, 120, 139, 99
LONGEST_NAME = 9     # of a task, beside the number that tells it from others
STEPS_OF_A_PHASE = 200
PINNED = re.compile(r"/(\d+)(?:$|:)")  # in the name of a kernel's thread: its CPU
REGULAR = 4          # sleepers whose wakeups are so much more regular than their sleeps have a timer that goes on

Phase = dict[str, object]


def label(task: Task) -> str:
    """The name of @task in the file."""
    return f"{task.comm[:LONGEST_NAME - len(str(task.number))]}-{task.number}"


def number_of(comm: str) -> int | None:
    """The number of the task that the simulator calls @comm: a label, and what it adds."""
    found = re.fullmatch(r".*-(\d+)-\d+", comm)
    return int(found[1]) if found else None


def policy(priority: int | None) -> Phase:
    """The keys for a task with the kernel's @priority."""
    if priority is None:
        priority = NICE_0
    if priority < FIRST_NICE:
        return {"policy": "SCHED_FIFO", "priority": min(99, REAL_TIME - priority)}
    return {"policy": "SCHED_OTHER", "priority": min(priority, LAST_PRIORITY) - NICE_0}


def has_timer(task: Task, begin: int) -> bool:
    """Does @task sleep until a time that does not depend on when it slept? So it is if the distances of its wakeups are
    more regular than its sleeps."""
    sleeps = [step for step in task.steps if step.kind == "sleep"]
    if len(sleeps) < REGULAR:
        return False
    distances = [b.at - a.at for a, b in zip(sleeps, sleeps[1:])]
    return REGULAR * spread(distances) < spread([step.value for step in sleeps[1:]])


class _Rounder:
    """Whole microseconds of a sum of nanoseconds."""

    def __init__(self) -> None:
        self.owed = 0

    def us(self, ns: int) -> int:
        self.owed += ns
        whole = max(0, (self.owed + US // 2) // US)
        self.owed -= whole * US
        return whole


class _Writer:
    """Makes the phases of a task."""

    def __init__(self, of: Behaviour, task: Task, timer: bool) -> None:
        self.of, self.task, self.timer = of, task, timer
        self.phases: list[Phase] = [{"loop": 1}]
        self.run, self.sleep = _Rounder(), _Rounder()
        self.last_wakeup = task.begin if task.begin is not None else of.begin
        self.events = 0

    def add(self, kind: str, value: object) -> None:
        if len(self.phases[-1]) > STEPS_OF_A_PHASE:
            self.phases.append({"loop": 1})
        self.phases[-1][f"{kind}{self.events}"] = value
        self.events += 1

    def step(self, step: Step) -> None:
        if step.kind == "run":
            if us := self.run.us(step.value):
                self.add("run", us)
        elif step.kind == "sleep" and self.timer:
            if us := self.sleep.us(step.at - self.last_wakeup):
                self.add("timer", {"ref": "unique", "period": us, "mode": "absolute"})
            self.last_wakeup = step.at
        elif step.kind == "sleep":
            if us := self.sleep.us(step.value):
                self.add("sleep", us)
        elif step.kind == "take":
            self.add("sem_wait", label(self.task))
        elif step.kind == "post":
            self.add("sem_post", label(self.of.tasks[step.value]))
        elif step.kind == "fork":
            self.add("fork", label(self.of.tasks[step.value]))
        elif step.kind == "priority":
            self.phases.append({"loop": 1, **policy(step.value)})


def task_object(of: Behaviour, task: Task, timer: bool, lead: int) -> Phase:
    writer = _Writer(of, task, timer)
    for step in task.steps:
        writer.step(step)
    if task.runs_on:
        writer.add("run", (of.end - of.begin) // US + 1)
    found: Phase = {"loop": 1, **policy(task.priority)}
    if task.begin is None:
        found["instance"] = 0
    elif delay := (task.begin - of.begin + lead) // US:
        found["delay"] = delay
    pinned = PINNED.search(task.comm)
    if pinned and int(pinned[1]) < of.cpus:
        found["cpus"] = [int(pinned[1])]
    found["phases"] = {f"p{nr}": phase for nr, phase in enumerate(writer.phases) if len(phase) > 1}
    return found


def notes(of: Behaviour, timers: set[int]) -> Iterator[str]:
    """What was inferred, a sentence each."""
    ended = ", ".join(f"{nr} by {what}" for what, nr in of.ends.most_common())
    yield f"{len(of.tasks)} tasks, {of.cpus} CPUs, {(of.end - of.begin) / 1e6:.3f} ms; sleeps ended: {ended or 'none'}."
    steps = Counter(step.kind for task in of.tasks for step in task.steps)
    if steps["take"]:
        yield (f"{steps['take']} sleeps that a task ended wait for a semaphore that the waker posts: a wakeup that "
               "comes early is kept.")
    if not of.tells_interrupts:
        yield ("The file does not tell a timer's wakeup from that of the task that ran there: a task whose sleeps are "
               "all alike is taken to have a timer.")
    if timers:
        yield f"{len(timers)} tasks wake up at regular times: they have a timer that goes on while they run late."
    if steps["sleep"]:
        yield "All other sleeps take as long as they took, whenever they begin."
    if any((task.priority or NICE_0) < FIRST_NICE for task in of.tasks):
        yield "Real-time tasks are SCHED_FIFO: a trace does not tell SCHED_RR or SCHED_DEADLINE from it."
    yield ("Not recorded, so not there: affinities (only a kernel's thread NAME/N is kept on CPU N), groups, locks, "
           "whether a waker was about to sleep, and what the caches cost.")


def workload(of: Behaviour, open_loop: bool | None = None, lead: int = 0) -> tuple[str, list[str]]:
    """The text of the file, and the notes on it. @open_loop: all sleeps end at the recorded times, or none does; None:
    has_timer() decides. @lead: ns before the trace begins."""
    timers = {task.number for task in of.tasks
              if (has_timer(task, of.begin) if open_loop is None else open_loop)}
    told = list(notes(of, timers))
    tasks = {label(task): task_object(of, task, task.number in timers, lead) for task in of.tasks if task.steps or
             task.runs_on}
    head = "".join(f" * {line}\n" for line in [*of.about.replace("*/", "* /").split("\n"), *told] if line)
    seconds = max(1, -(-(of.end - of.begin) // 10**9))
    body = json.dumps({"global": {"duration": seconds, "default_policy": "SCHED_OTHER"}, "tasks": tasks}, indent=1)
    return f"/*\n{head} */\n{body}\n", told

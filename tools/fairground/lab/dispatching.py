# SPDX-License-Identifier: GPL-2.0-only
"""Runs under a scheduler of the student's own for sched_ext: by the trace of the run, did each CPU switch to the task
that the rules say? The judge is tests/model/judge_dispatch.py.
"""

import pathlib
import re
import sys
from typing import Any

from ..base.errors import DAMAGE, FileError
from ..base.tree import ROOT
from ..machine.image import event_values
from ..trace.timeline import SLEEPS
from ..trace.tracefile import TraceFile
from . import box
from .explain import Findings
from .spec import Lab, Run

sys.path.insert(0, str(ROOT / "tests" / "model"))
import judge_dispatch

FIRST_TIME = 2**64 - 50_000_000  # of the queues in simulated runs: soon vtimes pass 2^64
ENDS = 0x30  # bits of prev_state: the task is dead
THROWN_OUT = re.compile(r"sched_ext: (?:BPF scheduler \"[^\"]*\" (disabled.*)|\w+: (.+?)(?:; all tasks are .*)?)$",
                        re.MULTILINE)


def program(lab: Lab, suffix: str) -> str:
    """The object of the student's scheduler, in a workshop's tree: for the simulator or the machine."""
    return f"build/scx/{pathlib.PurePath(lab.scx).name.removesuffix('.bpf.c')}.{suffix}"


def words(lab: Lab, run: Run) -> list[str]:
    """Those that make the simulator load it."""
    return ["--scx", f"{program(lab, 'so')},cpus_per_llc={run.options['cpus_per_llc']},first_time={FIRST_TIME}"]


def view(lab: Lab, tree: pathlib.Path) -> box.View:
    """The student's scheduler is a library that the simulator opens."""
    library = program(lab, "so")
    return box.View((library,), box.libraries(tree / library), opens=True, loads=True)


def thrown_out(text: str) -> str:
    """Why the scheduler decided no more from some moment on, by what simulator or machine printed; "" if it did."""
    found = THROWN_OUT.findall(text)
    if not found:
        return ""
    why = next((reason for _, reason in found if reason), found[0][0])
    return f"your scheduler was thrown out: {why[:300]}"


def _events(path: pathlib.Path) -> tuple[list[judge_dispatch.Event], dict[int, str]]:
    """(the switches and wakeups in the trace @path, the last name of each task)"""
    events: list[judge_dispatch.Event] = []
    names: dict[int, str] = {}
    for event in TraceFile(path).events():
        kind = event.format.name
        if kind not in ("sched_switch", "sched_wakeup", "sched_wakeup_new"):
            continue
        row = event_values(event)
        if kind == "sched_switch":
            state = row["prev_state"]
            names[row["prev_pid"]], names[row["next_pid"]] = row["prev_comm"], row["next_comm"]
            events.append(judge_dispatch.Switch(event.time, event.cpu, row["prev_pid"], not state & SLEEPS,
                                                row["next_pid"], row["next_prio"], bool(state & ENDS)))
        else:
            names.setdefault(row["pid"], row["comm"])
            events.append(judge_dispatch.Wakeup(event.time, row["target_cpu"], row["pid"], row["prio"],
                                                kind == "sched_wakeup_new", event.cpu))
    return events, names


def judge(path: pathlib.Path, hz: int, options: dict[str, Any]) -> Findings:
    """Judge each switch in the trace @path. @options are the run's: `cpus_per_llc`; `near`, in ns, of the judge;
    `programs`, whose first task is the first to be judged; `pinned`, the one CPU that tasks of a name may use;
    `shares`, the tasks that get their shares by weight; `end`, in ns, of the run.
    """
    findings = Findings()
    try:
        events, names = _events(path)
    except (FileError, *DAMAGE, TypeError) as error:
        findings.broken = str(error)
        return findings
    programs = options.get("programs", names.values())
    first = min((pid for pid, name in names.items() if pid and name in programs), default=1)
    court = judge_dispatch.Court(options["cpus_per_llc"], hz, options.get("near", 100), names, first,
                                 options.get("pinned"))
    nr = 0
    for nr, (event, verdict) in enumerate(court.hear(events, options.get("end", 0)), 1):
        findings.count(nr, event.time, verdict, lambda said: (f"CPU {event.cpu}: {said}", []))
    wrong = court.shares(options["shares"]) if "shares" in options else ""
    if wrong:
        findings.count(nr + 1, findings.last_ns, wrong, lambda said: (said, []))
    return findings

# SPDX-License-Identifier: GPL-2.0-only
"""The kernel records its decisions as the simulator does, and `fairground decisions` reads them."""

import os
import subprocess
import sys

from tests.e2e.conftest import ROOT, V1, settings
from fairground.decisions import class_decisions
from fairground.decisions.decision_file import open_file
from fairground.decisions.decision_kinds import SHAPES
from fairground.decisions.fair_decisions import KINDS, Decision, tree_names
from fairground.machine.image import event_values
from fairground.machine.machine import Machine
from fairground.trace.trace import convert, with_tracing
from fairground.trace.tracefile import TraceFile

from asking import ask

REAL_TIME_MAX = 99  # priorities up to this one are not fair


def record(tmp_path, cmd, events, **how):
    """The path of a trace.dat of @cmd."""
    ram, out = str(tmp_path / "ram"), str(tmp_path / "decisions.dat")
    with Machine(with_tracing(settings(cmd, icount=True, **how), ram, events)) as machine:
        outcome = machine.run()
    assert outcome.status == 0, outcome.console
    convert(ram, out)
    return out


def fairground(*words):
    """(status, stdout, stderr) of fairground decisions."""
    done = subprocess.run([sys.executable, "-m", "fairground", "decisions", *words], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")}, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_kernel_says_why_it_switches(tmp_path):
    """Each fair task that is switched in was picked directly before, by a rule with a name, among all that waited."""
    path = record(tmp_path, "hog -q -N 0,5 -t 100ms & hack -g 1 -l 10; wait", "decision:*,sched:sched_switch", cpus=2,
                  sched="eevdf")
    picked, switches = {}, []
    for event in TraceFile(path).events({"sched_decision_pick", "sched_switch"}):
        values = event_values(event)
        if event.format.name == "sched_decision_pick":
            picked[event.cpu] = values["pid"]
        elif values["next_pid"] and values["next_prio"] > REAL_TIME_MAX:
            switches.append((picked.get(event.cpu), values["next_pid"]))
    assert len(switches) > 50 and all(pick == task for pick, task in switches)
    file = open_file(path)
    every = list(file.records(SHAPES))
    found = [d for d in every if isinstance(d, Decision)]
    assert (file.lost, file.unknown, file.provenance.cpus) == (0, 0, 2) and all(d.complete for d in found)
    assert {d.kind for d in found} == set(KINDS) and {d.policy for d in found} == {"eevdf"}
    assert {d.rule for d in found} <= set(tree_names("RULE")) and len({d.rule for d in found}) > 8
    assert max(len(d.candidates) for d in found) > 5
    status, out, err = fairground(path, "--task", "hog", "--kind", "pick", "--full")
    assert (status, err) == (0, "") and "picked: hog-" in out and "because of the eligible" in out
    status, out, _ = fairground("--diff", path, path, "--kinds", "all")
    assert status == 0 and f"{len(every)} decisions agree" in out


def test_the_kernel_says_where_tasks_wake_up(tmp_path):
    """The judge of tests/model finds the same CPUs. Others work on while placement looks: those that became free, or
    are free no longer, are marked, but not all that they changed.
    """
    path = record(tmp_path, "hackbench -g 1 -l 20 > /dev/null; hog -q -n 5 -t 50ms",
                  "decision:sched_decision_select,decision:sched_decision_cpu", cpus=4)
    answer = ask("judge_cpu", path)
    right, _, wrong = answer.sums()
    assert right > 500 and wrong < right / 200, answer


def test_the_kernel_says_how_it_balances(tmp_path):
    """The judge of tests/model makes each step again from the record, and finds the same."""
    load = "for n in 1 2 3 4 5 6 7; do burst -r 1ms -s $((n))ms -n 40 & done; hog -q -n 2 -t 150ms; wait"
    path = record(tmp_path, load,
                  ",".join(f"decision:sched_decision_{kind}" for kind in ("balance", "runqueue", "part", "movable")),
                  cpus=4, append="topology=1x2x2x1")
    answer = ask("judge_balance", path)
    right, _, wrong = answer.sums()
    assert right > 500 and not wrong, answer


def test_the_kernel_says_what_real_time_and_deadline_tasks_do(tmp_path):
    """The judge of tests/model holds every record against a model queue and a bandwidth server in fractions. Only where
    other CPUs are looked at, without their locks, may one have changed before its row was made.
    """
    load = """chrt -f 50 burst -r 2ms -s 7ms -n 15 & chrt -r 10 burst -r 3ms -s 5ms -n 15 &
              chrt -r 10 burst -r 9ms -s 6ms -n 8 & chrt -f 20 burst -r 1ms -s 3ms -n 30 &
              chrt -d -T 3000000 -P 10000000 0 sh -c 'while :; do :; done' & t=$!
              chrt -r 5 hog -q -n 3 -t 300ms; kill $t; wait"""
    path = record(tmp_path, load, ",".join(f"decision:sched_decision_{kind}" for kind in ("class", "task", "level")),
                  cpus=2)
    answer = ask("judge_class", path)
    right, unjudged, wrong = ({key: row[place] for key, row in answer.table.items()} for place in range(3))
    assert min(right[of, "pick"] for of in ("fifo", "rr", "deadline")) > 20, answer
    said = set(class_decisions.KINDS) - {"yield", "stop"}  # how a task stops only the class ext says
    assert {act for _, act in right} >= said and sum(unjudged.values()) == 0
    elsewhere = {key for key in right if key[1] in ("select", "push", "pull")}
    assert sum(wrong[key] for key in wrong if key not in elsewhere) == 0, answer
    assert sum(wrong[key] for key in elsewhere) <= sum(right[key] for key in elsewhere) / 20, answer
    status, out, err = fairground(path, "--policy", "deadline", "--kind", "throttle", "--full", "--limit", "1")
    assert (status, err) == (0, "") and "because it ran for its budget" in out


def test_decisions_that_were_overwritten(tmp_path):
    """Rings of 64 KiB keep the newest. What is left can be read, but not compared."""
    path = record(tmp_path, "hack -g 1 -l 50", "decision:*", cpus=1, append="trace_buf_size=64")
    file = open_file(path)
    found = list(file.records(SHAPES))
    assert file.lost and len(found) > 100
    status, out, err = fairground(path, "--stats")
    assert status == 0 and out and f"{file.lost} events were lost" in err
    status, out, err = fairground("--diff", path, path)
    assert (status, out) == (2, "") and f"{file.lost} events were lost" in err and "two runs can be compared" in err
    answer = ask("judge", path)  # each record tells all that it is about
    assert answer.status == 2 and answer.sums()[0] > 100 and f"{file.lost} events were lost" in answer.err
    answer = ask("judge_averages", path)  # each rests on what was before
    assert answer.status == 2 and answer.sums()[0] == answer.sums()[2] == 0 and "events were lost" in answer.err


def test_the_kernel_says_what_becomes_of_quotas(tmp_path):
    """The ledger of tests/model, from what the group's queues used, knows each movement of runtime to the ns."""
    load = (V1 + "mkdir g; echo 6000 > g/cpu.cfs_quota_us; echo 20000 > g/cpu.cfs_period_us; "
            "echo 3000 > g/cpu.cfs_burst_us; (echo 0 > g/tasks; burst -r 1ms -s 3ms -n 20 > /dev/null & "
            "exec hog -q -n 2 -t 150ms); wait")
    path = record(tmp_path, load, ",".join(f"decision:sched_decision_{kind}" for kind in (
        "charge", "candidate", "quota", "pool")), cpus=2)
    answer = ask("judge_quota", path)
    assert answer.status == 0, answer
    kinds = ("charge", "fetch", "throttle", "pay", "unthrottle", "refill")
    assert all(answer.table["quota", kind][0] >= 5 for kind in kinds)

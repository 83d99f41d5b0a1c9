# SPDX-License-Identifier: GPL-2.0-only
"""Swapping the fair policy of a running machine, from outside: the storm, its trace, bad names, the boot
parameter."""

import bisect
import glob
import os
import re
import statistics
import subprocess

import pytest

from tests.e2e.conftest import BUILD, ROOT, settings
from fairground.machine.image import Image, event_values, memory_file
from fairground.trace.latency import Latencies
from fairground.machine.machine import Machine, run_batch
from fairground.base.settings import SCHEDULERS
from fairground.trace.timeline import EVENTS
from fairground.trace.trace import with_tracing

FAIR_CLASS = "/sys/kernel/debug/sched/fair_class"
BOUND_NS = 10_000_000
SWAPS = 250
ROUNDS = 5


@pytest.fixture(scope="module")
def storm(tmp_path_factory):
    """A storm on eight CPUs with its trace: (console, the events of scheduling, the swaps' fields)."""
    ram = str(tmp_path_factory.mktemp("storm") / "ram")
    events = ",".join(f"sched:{name}" for name in (*EVENTS, "sched_fair_swap", "sched_process_exit"))
    how = settings(f"swapstorm -n {SWAPS}", cpus=8, icount=True, hz=1000, mem=512)
    with Machine(with_tracing(how, ram, events)) as machine:
        outcome = machine.run()
    assert outcome.status == 0, outcome.console
    found = list(Image(memory_file(ram)).events())
    return outcome.console, found, [event_values(e) for e in found if e.format.name == "sched_fair_swap"]


def marks_of(events):
    """When each round begins and ends."""
    return [e.time for e in events if e.format.name == "print"]


def test_nobody_is_lost(storm):
    console, _, _ = storm
    swaps, refused, started, ended = map(int, re.search(
        r"(\d+) swaps among \d+ policies, (\d+) bad names refused, (\d+) tasks started, (\d+) ended", console).groups())
    assert swaps == SWAPS and refused == SWAPS // 10 and started == ended > SWAPS
    assert console.count("  ok ") == 5


@pytest.mark.nightly("a task that a swap loses when it is late")
def test_a_late_task_is_not_lost(boot):
    """Beside hogs, tasks wait for longer than an exit status could tell. The storm is not alone, so its run times are
    not those of the CPUs."""
    console = boot("hog -n 10 -t 2s > /dev/null & swapstorm -n 1500 -b 5000", cpus=1, icount=True).console
    assert "  ok   every task came to its end" in console, console
    assert float(re.search(r"new tasks (\d+\.\d+)", console)[1]) > 12.8


def test_each_swap_is_one_event(storm):
    """The swaps start at the boot policy, each continues where the one before ended, and the last one returns. Between
    the first mark and the last the trace has as many as were made."""
    _, events, swaps = storm
    names = [SCHEDULERS[0]] + [swap["to"] for swap in swaps]
    assert [swap["from"] for swap in swaps] == names[:-1]
    assert all(a != b for a, b in zip(names, names[1:])) and set(names) == set(SCHEDULERS)
    assert names[-1] == SCHEDULERS[0]
    marks = marks_of(events)
    made = [event_values(e) for e in events if e.format.name == "sched_fair_swap" and marks[0] < e.time < marks[-1]]
    assert len(marks) == 2 * ROUNDS and len(made) == SWAPS
    assert max(swap["nr_queued"] for swap in made) >= 16


def test_nobody_stalls(storm):
    """Every wait of every task, also of those that lived for some microseconds only. The longest of one round is an
    extreme value that depends on its phase; so the bound is for their median, and twice the bound for each."""
    found, starts = Latencies(), set()
    for event in storm[1]:
        if event.format.name in EVENTS:
            found.add(event)
        if event.format.name == "sched_wakeup_new":
            starts.add(event_values(event)["pid"])
    assert len(found.waits) > 5000
    starts_of_rounds = [0, *marks_of(storm[1])[2::2]]
    worst: dict[int, int] = {}
    for wait in found.waits:
        nr = bisect.bisect(starts_of_rounds, wait.start)
        worst[nr] = max(worst.get(nr, 0), wait.end - wait.start)
    assert len(worst) == ROUNDS and max(worst.values()) <= 2 * BOUND_NS, worst
    assert statistics.median(worst.values()) <= BOUND_NS, worst
    exits = {event_values(e)["pid"] for e in storm[1] if e.format.name == "sched_process_exit"}
    assert len(starts & exits) > SWAPS and starts & exits <= set(found.tasks)


def test_a_bound_that_is_too_low_is_noticed(boot):
    outcome = boot("swapstorm -n 20 -b 1", cpus=4, icount=True, hz=250)
    assert outcome.status == 1 and "FAIL nobody waited longer than the bound" in outcome.console


def test_bad_names_change_nothing(guest):
    names = ("nosuch", "CFS", "cfs2", "cfs eevdf", "x" * 300, "''")
    tries = "; ".join(f"echo {name} > {FAIR_CLASS}" for name in names)
    text = guest(f"cat {FAIR_CLASS}; echo bore-cfs > {FAIR_CLASS}; ({tries}) 2>&1; cat {FAIR_CLASS}", cpus=2)
    assert text.count("Invalid argument") == len(names)
    shown = re.findall(r"^.*\[.+\].*$", text, re.MULTILINE)
    lists = [line for line in shown if "bore-cfs" in line and "CPU" not in line]
    assert sorted(lists[-2].split()) == sorted(f"[{name}]" if name == "cfs" else name for name in SCHEDULERS)
    assert sorted(lists[-1].split()) == sorted(f"[{name}]" if name == "bore-cfs" else name for name in SCHEDULERS)


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_the_boot_parameter_chooses(guest, sched):
    assert f"[{sched}]" in guest(f"cat {FAIR_CLASS}", cpus=1, sched=sched)


def test_an_unknown_policy_at_boot_is_named_and_the_default_is_used(guest):
    text = guest("cat /sys/kernel/debug/sched/fair_class", cpus=1, append="sched=nosuch")
    assert "sched=nosuch: there is no such policy, using the default" in text and "[cfs]" in text


def test_a_storm_of_features_loses_nobody():
    """Swaps of the policy and of the shared wake queue together, on two caches of four CPUs; then the features alone
    under jobs, so that CPUs idle and pull."""
    toggles = "SWQUEUE SHARED_RUNQ NO_SWQUEUE SHARED_RUNQ_STEAL SIS_NODE NO_SHARED_RUNQ NO_SIS_NODE SHARED_RUNQ"
    how = settings("echo 1 > /proc/sys/kernel/sched_schedstats; swapstorm -f -n 100 -b 20; cd /sys/kernel/debug/sched; "
                   "jobpool -n 12 -t 150ms > /tmp/jobs & "
                   f"for i in $(seq 10); do for f in {toggles}; do echo $f > features; sleep 0.002; done; done; "
                   "wait; cat /tmp/jobs debug", cpus=8, icount=True, hz=1000, mem=512, append="llc=4")
    outcome = run_batch(how)
    assert outcome.status == 0, outcome.console
    assert "100 features toggled" in outcome.console and outcome.console.count("  ok ") == 5
    assert int(re.search(r"(\d+) jobs ended", outcome.console)[1]) > 10
    linked, pulled = (sum(map(int, re.findall(rf"\.shared_{name} +: (\d+)", outcome.console)))
                      for name in ("linked", "pulled"))
    assert linked > pulled > 0


@pytest.mark.nightly("an example policy that loses a task")
def test_policies_written_as_examples_are_swapped_in_under_load():
    """A kernel with examples/policies/*.c: each is one file, and nothing else knows of them.

    How long anybody waits is not asked here: a lottery promises no bound.
    """
    files = sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "examples/policies/*.c")))
    build = os.path.join(os.path.relpath(BUILD, ROOT), "with-examples")
    done = subprocess.run(["make", "run", f"B={build}", f"POLICIES={' '.join(files)}", "SMP=4", "HZ=1000", "ICOUNT=1",
                           f"CMD=cat {FAIR_CLASS}; swapstorm -n 200"], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, env={**os.environ, "KVM": "0"})
    names = re.search(r"^\[cfs\] .*$", done.stdout, re.MULTILINE)
    assert names, done.stdout + done.stderr
    for path in files:
        assert os.path.basename(path)[:-2].replace("_", "-") in names[0].split()
    assert f"200 swaps among {len(SCHEDULERS) + len(files)} policies" in done.stdout
    for held in ("every swap happened", "every task came to its end", "CPUs: run and idle time",
                 "tasks: their run times"):
        assert f"  ok   {held}" in done.stdout, done.stdout

# SPDX-License-Identifier: GPL-2.0-only
"""A run is a function of its command line: the same bytes again, and other bytes for another seed."""

import itertools
import json
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT
from fairground.base.settings import SCHEDULERS
from fairground.machine.image import event_values
from fairground.trace.tracefile import TraceFile

BUSY = "--cpus 8 --time 300ms pipes:groups=2 bursts:n=6,run=100us-3ms,sleep=1ms-5ms forks:n=2 hogs:n=3,nice=2".split()


def outputs(directory, *words):
    """Everything that schedsim writes."""
    names = [directory / "r.json", directory / "t.dat"]
    done = subprocess.run([f"{BUILD}/schedsim", "--json", names[0], "--trace", names[1], *words], cwd=ROOT,
                          capture_output=True, check=True)
    return [done.stdout] + [name.read_bytes() for name in names]


def test_same_seed_same_bytes(tmp_path):
    assert outputs(tmp_path, "--seed", "7", *BUSY) == outputs(tmp_path, "--seed", "7", *BUSY)


def test_another_seed_another_run(tmp_path):
    first, second = outputs(tmp_path, "--seed", "7", *BUSY), outputs(tmp_path, "--seed", "8", *BUSY)
    assert all(a != b for a, b in zip(first, second))


def test_checking_and_recording_change_nothing(sim):
    """Invariant checks, traces and the tables of several policies see the same run."""
    words = "--cpus 4 --time 200ms pipes bursts:n=6,run=100us-3ms"
    plain, checked = sim(words), sim("--check " + words)
    assert plain.result() == checked.result()
    both = sim("--sched all " + words)
    assert both.result(plain.result()["sched"]) == plain.result()


# --- runs that vary --------------------------------------------------------------------------------------------------

HOGS = "--cpus 1 --time 200ms hogs:n=3".split()
TICK_NS = 4_000_000


def switches(directory, *words):
    """(time, name of the event, pid) of all switches and starts."""
    path = directory / "t.dat"
    subprocess.run([f"{BUILD}/schedsim", "--trace", path, *words], cwd=ROOT, capture_output=True, check=True)
    events = TraceFile(str(path)).events(("sched_switch", "sched_wakeup_new", "sched_wakeup"))
    return [(event.time, event.format.name, event_values(event)) for event in events]


def test_runs_vary_where_another_seed_changes_nothing(tmp_path):
    """Hogs draw nothing, so a seed alone changes nothing; in nature no two runs are equal."""
    told = [switches(tmp_path, "--seed", seed, *HOGS) for seed in "12"]
    varied = [switches(tmp_path, "--vary", vary, *HOGS) for vary in "1231"]
    assert told[0] == told[1]
    assert varied[0] == varied[3] and len({str(run) for run in varied}) == 3 and told[0] not in varied


def test_ticks_and_starts_have_a_phase_of_their_own(tmp_path):
    phases = set()
    for vary in "123":
        events = switches(tmp_path, "--vary", vary, *HOGS)
        starts = [time for time, name, _ in events if name == "sched_wakeup_new"]
        assert len(set(starts)) == 3 and max(starts) < TICK_NS
        late = {time % TICK_NS for time, name, _ in events if name == "sched_switch" and time > 2 * TICK_NS}
        assert len(late) == 1
        phases |= late
    assert len(phases) == 3


def test_tasks_start_on_any_cpu_and_sleeps_end_a_little_late(tmp_path):
    words = "--cpus 8 --time 100ms bursts:n=8,run=10us,sleep=1ms".split()
    events = switches(tmp_path, "--vary", "1", *words)
    asleep, lengths = {}, set()
    for time, name, values in events:
        if name == "sched_switch":
            asleep[values["prev_pid"]] = time
        elif name == "sched_wakeup" and values["pid"] in asleep:
            lengths.add(time - asleep[values["pid"]] - 1_000_000)
    assert len(lengths) > 10 and min(lengths) >= 0 and max(lengths) < 100
    assert {length for length in lengths if length} and lengths != {0}


def test_costs_vary_by_a_twentieth(sim):
    found = set()
    for vary in range(1, 9):
        one = sim(f"--vary {vary} --time 1s --cost-tick 100us hogs:n=1").result()
        found.add(one["overhead_ns"] / one["ticks"] / 1000)
    assert len(found) == 8 and min(found) >= 95 and max(found) <= 105 and max(found) - min(found) > 2


def test_the_first_cpu_of_a_tick_varies(tmp_path):
    """Without variation CPU 0 is always the first to switch at a tick that ends the turns of all."""
    words = "--cpus 4 --time 200ms hogs:n=2,cpus=0 hogs:n=2,cpus=1 hogs:n=2,cpus=2 hogs:n=2,cpus=3".split()

    def first(*more):
        path = tmp_path / "t.dat"
        subprocess.run([f"{BUILD}/schedsim", "--decisions", path.with_suffix(".json"), *more, *words], cwd=ROOT,
                       capture_output=True, check=True)
        ticks = {}
        for line in path.with_suffix(".json").read_text().splitlines():
            one = json.loads(line)
            if one.get("kind") == "tick" and one["time"] > TICK_NS:
                ticks.setdefault(one["time"], one["cpu"])
        return set(ticks.values())

    assert first() == {0} and first("--vary", "1") == {0, 1, 2, 3}


def test_a_swap_leaves_the_past_as_it_was(tmp_path):
    """Another policy from 30 ms on: another future of the same past. The same policy: the same run."""
    def events(*words):
        outputs(tmp_path, "--sched", "eevdf", *words, "--cpus", "2", "--time", "60ms", *BUSY[4:])
        return [(event.time, event.format.name, tuple(event_values(event).values()))
                for event in TraceFile(tmp_path / "t.dat").events()]
    plain, same, other = events(), events("--swap", "30ms/eevdf"), events("--swap", "30ms/cfs")
    past = [event for event in plain if event[0] < 30_000_000]
    assert plain == same and other != plain and other[:len(past)] == past and len(plain) > len(past) > 300


@pytest.mark.parametrize("first, then", itertools.permutations(SCHEDULERS, 2))
def test_recording_decisions_changes_nothing_after_a_swap(traced_alike, first, then):
    """Queued tasks enter the new policy one after the other, and each arrival is recorded."""
    traced_alike(f"--sched {first} --swap 12000001ns/{then} --cpus 2 --time 1s hogs:n=4 hogs:n=2,nice=5 "
                 "bursts:n=3,run=2ms,sleep=10ms")

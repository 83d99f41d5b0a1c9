# SPDX-License-Identifier: GPL-2.0-only
"""`fairground replay`: runs whose programs are known come back from their traces, and what did not is no verdict."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.base.settings import SCHEDULERS
from fairground.study.replay import Fare, alike, recorded_policy, score
from fairground.trace.behaviour import behaviour
from fairground.trace.tracefile import TraceFile
from tests.conftest import BUILD, ROOT
from tests.sim.conftest import MS

MIXES = {
    "hogs": ("--cpus", "1", "hogs:n=2", "hogs:n=1,nice=5"),
    "sleepers": ("--cpus", "1", "hogs:n=2", "bursts:n=3,run=1ms-3ms,sleep=5ms-15ms"),
    "messages": ("--cpus", "2", "messages:n=2,workers=4,run=1ms-5ms"),
    "pipes": ("--cpus", "1", "pipes:groups=1"),
    "forks": ("--cpus", "1", "forks:n=2", "hogs:n=1"),
    "real time": ("--cpus", "1", "periodic:n=2", "hogs:n=2"),
    "jobs": ("--cpus", "2", "jobs:n=3,run=2ms-20ms"),
}


def record(path, *words, time="200ms"):
    subprocess.run([f"{BUILD}/schedsim", "--time", time, "--trace", path, *words], check=True, cwd=ROOT,
                   stdout=subprocess.DEVNULL)
    return str(path)


def replay(*words, status=0):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "replay", *map(str, words)], cwd=ROOT,
                          capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if not status else done.stdout + done.stderr


def replayed(*words, status=0):
    text = replay("--json", *words, status=status)
    return json.loads(text[:text.rindex("}") + 1])


def steps(path, comm):
    """The steps of the first task called @comm in the trace @path."""
    return next(task for task in behaviour(TraceFile(path)).tasks if task.comm.startswith(comm)).steps


@pytest.mark.parametrize("sched,mix", [*(("eevdf", mix) for mix in MIXES),
                                       *((sched, "sleepers") for sched in SCHEDULERS)])
def test_a_simulated_run_comes_back(tmp_path, sched, mix):
    path = record(tmp_path / "run.dat", "--sched", sched, *MIXES[mix])
    found = replayed(path, "--sched", sched)
    assert found["score"] > 0.98, found


def test_a_burst_is_its_run_and_its_sleep(tmp_path):
    path = record(tmp_path / "run.dat", "--cpus", "1", "hogs:n=1", "bursts:n=1,run=2ms,sleep=10ms")
    of_burst = steps(path, "burst")
    assert [step.kind for step in of_burst[:4]] == ["run", "sleep"] * 2
    for step in of_burst[:-1]:
        assert step.value == pytest.approx({"run": 2 * MS, "sleep": 10 * MS}[step.kind], abs=2)


def test_one_that_is_woken_by_a_task_waits_for_it(tmp_path):
    path = record(tmp_path / "run.dat", "--cpus", "2", "pingpong:n=1,run=5us", time="1ms")
    one, other = behaviour(TraceFile(path)).tasks
    assert {step.kind for step in one.steps + other.steps} == {"run", "take", "post"}
    for a, b in ((one, other), (other, one)):
        assert {step.value for step in a.steps if step.kind == "post"} == {b.number}
        assert {step.value for step in a.steps[1:-1] if step.kind == "run"} == {5000}  # ns


def test_another_policy_does_not_meet_the_record(tmp_path):
    path = record(tmp_path / "run.dat", "--sched", "eevdf", *MIXES["sleepers"])
    right, wrong = (replayed(path, "--recorded", sched, "--least", "0", "--sched", sched)["score"]
                    for sched in ("eevdf", "cfs"))
    assert wrong < 0.97 < right


def test_below_the_least_score_there_is_no_verdict(tmp_path):
    path = record(tmp_path / "run.dat", "--sched", "eevdf", *MIXES["sleepers"])
    assert "No verdict on other policies" in replay(path, "--recorded", "cfs", "--least", "0.99", status=1)


def test_what_another_policy_would_do_is_what_it_does(tmp_path):
    """The workload of a run under cfs, replayed under eevdf, waits as the same programs do under eevdf."""
    words = "--cpus", "1", "hogs:n=2", "bursts:n=1,run=2ms,sleep=10ms"
    cfs, eevdf = (record(tmp_path / f"{sched}.dat", "--sched", sched, *words, time="2s") for sched in ("cfs", "eevdf"))
    waits = {row["sched"]: row["median"] for row in replayed(cfs, "--sched", "eevdf", "--seeds", "1..3")["under"]
             if row["metric"] == "wait"}
    own = sum(row["wait_ns"] for row in replayed(eevdf, "--sched", "eevdf")["rows"]) / 1e6
    assert waits["eevdf"] == pytest.approx(own, rel=0.03)
    assert waits["cfs"] != pytest.approx(own, rel=0.03)


def test_programs_for_sched_ext_are_policies_too(tmp_path):
    """Slices of 5 ms make more turns than those of 50 ms."""
    path = record(tmp_path / "run.dat", *MIXES["hogs"], time="1s")
    long, short = (f"scx:fifo,slice_ns={ms}000000" for ms in (50, 5))
    found = replayed(path, "--sched", f"{long},eevdf,{short}", "--seeds", "1..2")["under"]
    turns = {row["sched"]: row["median"] for row in found if row["metric"] == "turns"}
    assert set(turns) == {"cfs", "eevdf", long, short} and turns[long] < turns[short]


def test_open_sleeps_end_when_they_did_and_closed_ones_last_as_long(tmp_path):
    """A job each 10 ms that runs late: with a timer it makes up for it, with a sleep the delay stays."""
    path = record(tmp_path / "run.dat", "--cpus", "1", "periodic:n=1,policy=normal,run=2ms", "hogs:n=3", time="1s")
    told = replay(path, "--sched", "cfs", "--out", tmp_path / "guess.json")
    assert "1 tasks wake up at regular times" in told
    for loop in ("open", "closed"):
        replay(path, "--sched", "cfs", f"--{loop}", "--out", tmp_path / f"{loop}.json", "--least", "0")
    kinds = {loop: {re.sub(r"\d", "", key) for key in re.findall(r'"(sleep\d+|timer\d+)"',
                                                                (tmp_path / f"{loop}.json").read_text())}
             for loop in ("guess", "open", "closed")}
    assert kinds == {"guess": {"timer"}, "open": {"timer"}, "closed": {"sleep"}}


def test_the_workload_is_strict_rt_app(tmp_path, sim):
    path = record(tmp_path / "run.dat", *MIXES["forks"])
    replay(path, "--sched", "cfs", "--out", tmp_path / "run.json")
    done = sim("--strict", "--time", "200ms", str(tmp_path / "run.json"))
    assert not done.status and not done.err


def test_a_trace_of_linux_that_tells_no_interrupts(tmp_path):
    """bursts of 711 us among three hogs, by perf: their sleeps end by timers, whatever runs there at that moment."""
    path = tmp_path / "linux.data"
    with open(path, "wb") as out:
        subprocess.run(["xz", "-dc", "tests/tools/linux-6.12.data.xz"], check=True, cwd=ROOT, stdout=out)
    found = replayed(path, "--sched", "eevdf", "--machine=--topology 2x1")
    assert found["sched"] == "eevdf" and found["score"] > 0.9
    assert any("does not tell a timer's wakeup" in note for note in found["notes"])
    bursts = [task for task in behaviour(TraceFile(path)).tasks
              if task.comm == "mix" and sum(step.kind == "sleep" for step in task.steps) > 20]
    assert len(bursts) == 2


def test_scores_count_what_differs():
    one = Fare(cpu=10, turns=2, wait=5, starts=[0, 10], sums=[0, 5, 10])
    assert score(one, one, 20) == (1, 1, 1, 1)
    late = Fare(cpu=10, turns=1, wait=10, starts=[10], sums=[0, 10])
    assert score(one, late, 20)[:3] == (1, 0.5, 0.5)
    assert 0.6 < score(one, late, 20).timeline < 0.9
    assert score(one, Fare(sums=[0]), 20)[:3] == (0, 0, 0.5)
    assert (alike(0, 0), alike(1, 2), alike(1, 2, 10)) == (1, 0.5, 0.9)


def test_who_recorded_it_is_read_from_the_trace():
    assert recorded_policy("Fairground 12345678: bore; SMP=2 HZ=250 SEED=1 MEM=256 CPU=max") == "bore"
    assert recorded_policy("Linux (none) 6.1.0-50-cloud-amd64 x86_64") == "cfs"
    assert recorded_policy("Linux 6.12.117+deb12-cloud-amd64, recorded by perf 6.1.187: perf sched record") == "eevdf"
    assert recorded_policy("") is None


@pytest.mark.parametrize("release,timer", [("6.12.117", False), ("7.0.9", False), ("7.1.0", True), ("10.0.1", True)])
def test_turns_end_by_a_timer_where_the_recorded_linux_has_one(tmp_path, release, timer):
    """A run of the simulator, once with the timer and once without, whose trace says that it is of Linux."""
    for feature in ("HRTICK", "NO_HRTICK"):
        path = tmp_path / f"{feature}.dat"
        data = Path(record(path, "--sched", "eevdf", "--features", feature, *MIXES["hogs"])).read_bytes()
        (said,) = re.findall(rb"\x09\x00.{4}(schedsim [\w-]+: eevdf)", data, re.DOTALL)
        at = data.index(said) - 6  # of the option: two bytes that say its kind, 9 for version and 5 for uname
        data = data[:at] + b"\5" + data[at + 1:]
        path.write_bytes(data.replace(said, f"Linux {release}-x".encode().ljust(len(said)), 1))
        found = replayed(path, "--seeds", "1..1", "--least", "0", "--sched", "cfs")
        assert any("A timer ends every turn" in note for note in found["notes"]) == timer
        assert (found["score"] > 0.98) == ((feature == "HRTICK") == timer)
        told = replayed(path, "--seeds", "1..1", "--sched", "cfs", f"--machine=--features {feature}")
        assert told["score"] > 0.98 and not any("A timer ends every turn" in note for note in told["notes"])


def test_what_cannot_be_replayed_is_a_sentence(tmp_path):
    path = record(tmp_path / "run.dat", *MIXES["hogs"])
    assert "one of cfs" in replay(path, "--sched", "cfq", status=2)
    assert "not a trace.dat" in replay("README.md", status=2)
    assert "--out" in replay(path, "--out", tmp_path / "none" / "x.json", status=2)
    assert "--seeds" in replay(path, "--seeds", "5..1", status=2)
    bare = tmp_path / "bare.dat"
    bare.write_bytes(_without(path, b"sched_wakeup_new", b"sched_waking"))
    assert "knows no event" in replay(bare, status=2)


def _without(path, *names):
    """The trace @path in which the events @names are called otherwise."""
    with open(path, "rb") as f:
        data = f.read()
    for name in (b"sched_wakeup", *names):
        data = data.replace(b"name: " + name, b"name: " + name.replace(b"sched_wak", b"sched_sle"))
    return data

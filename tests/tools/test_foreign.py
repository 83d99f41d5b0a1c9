# SPDX-License-Identifier: GPL-2.0-only
"""Traces of machines of other kinds, and what a trace does not tell: nothing of that is a zero."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import foreign
from fairground.machine.image import event_values
from fairground.trace.timeline import Timeline
from fairground.trace.tracefile import TraceFile

ROOT = Path(__file__).resolve().parents[2]
LINUX = ROOT / "tests/sim/linux-6.1.dat"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
MACHINES = [("<", 4), (">", 4), (">", 8)]

pytestmark = pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")


def command(*words):
    done = subprocess.run([PYTHON, "-m", "fairground", *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
    assert done.returncode == 0, done.stderr
    return done


def rows(*words):
    return json.loads(command(*words, "--json").stdout)["rows"]


def report(path):
    """The events that trace-cmd prints of @path. Of a long of 32 bits it writes hexadecimal digits."""
    text = subprocess.run(["trace-cmd", "report", "-t", "-R", path], capture_output=True, text=True, check=True).stdout
    return [re.sub("0x[0-9a-f]+", lambda found: str(int(found[0], 16)), line) for line in text.splitlines()
            if re.search(r"\[\d+\]", line)]


@pytest.mark.parametrize("order, long", MACHINES)
def test_another_machines_trace_has_the_same_events(order, long, tmp_path):
    """trace-cmd is the judge of the file, and each of our readers finds in it what it finds in the one of x86-64."""
    path = tmp_path / "foreign.dat"
    path.write_bytes(foreign.trace_dat(LINUX, order, long))
    assert len(report(path)) > 400 and report(path) == report(LINUX)
    one, other = TraceFile(LINUX), TraceFile(path)
    assert one.spans() == other.spans()
    assert [(a[:2], a.format.name, a.pid, event_values(a)) for a in one.events()] == [
        (b[:2], b.format.name, b.pid, event_values(b)) for b in other.events()]
    for words in (["latency", "--pids"], ["timehist"], ["timehist", "--summary"], ["map"], ["stat", "--per-thread"]):
        assert rows(*words, LINUX) == rows(*words, path), words
    assert Timeline(LINUX).runs == Timeline(path).runs and Timeline(LINUX).waits == Timeline(path).waits


@pytest.mark.parametrize("order, long", [("<", 8), *MACHINES])
def test_gaps_without_a_number_are_at_least_so_many_events(order, long, tmp_path):
    path = tmp_path / "gaps.dat"
    path.write_bytes(foreign.trace_dat(LINUX, order, long, lost={0: None, 1: 5}))
    assert TraceFile(path).lost() == 6 and TraceFile(path).lost().at_least
    assert "at least 6 events were lost before" in command("latency", path).stderr
    path.write_bytes(foreign.trace_dat(LINUX, order, long, lost={0: 2, 1: 5}))
    said = command("timehist", path).stderr
    assert "7 events were lost before" in said and "least" not in said


def test_a_machine_of_no_kind_is_one_sentence(tmp_path):
    path = tmp_path / "x.dat"
    for mark in (b"\2\x08", b"\0\x10"):
        data = foreign.trace_dat(LINUX)
        path.write_bytes(data[:12] + mark + data[14:])
        done = subprocess.run([PYTHON, "-m", "fairground", "latency", path], capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "neither 32 nor 64 bits" in done.stderr


@pytest.fixture
def unwoken(tmp_path):
    """The trace without the events that tell of wakeups, which its list of formats still has."""
    path = tmp_path / "unwoken.dat"
    path.write_bytes(foreign.trace_dat(LINUX, keep=lambda event: event.format.name not in (
        "sched_wakeup", "sched_wakeup_new", "sched_waking")))
    return path


def test_waits_whose_begin_is_not_recorded_are_unknown(unwoken):
    """No number is made up: text and object say -, null, and how many waits are unknown; the turns are the same."""
    full = {row["pid"]: row for row in rows("latency", "--pids", LINUX)}
    done, told = command("latency", "--pids", unwoken), {row["pid"]: row for row in rows("latency", "--pids", unwoken)}
    unknown = Timeline(unwoken).unknown
    assert unknown > 40 and f"no sched_wakeup: waits after a sleep are unknown, {unknown} of them" in done.stderr
    never = [pid for pid, row in told.items() if not row["switches"]]
    assert len(never) > 3 and all(told[pid][name] is None for pid in never
                                  for name in ("average_ns", "longest_ns", "longest_start_ns", "longest_end_ns"))
    assert all(told[pid]["turns"] == full[pid]["turns"] and told[pid]["run_ns"] == full[pid]["run_ns"] for pid in never)
    assert len(re.findall(r"avg: +- ms \| max: +- ms \| max start: +- s \| max end: +- s$", done.stdout,
                          re.MULTILINE)) == len(never)
    assert not command("latency", LINUX).stderr and Timeline(LINUX).unknown == 0
    turns = rows("timehist", unwoken)
    assert sum(row["delay_ns"] is None for row in turns) > unknown - 5
    before = [(row["time_ns"], row["pid"], row["run_ns"]) for row in rows("timehist", LINUX)]
    assert [(row["time_ns"], row["pid"], row["run_ns"]) for row in turns] == before


@pytest.mark.parametrize("kind", ["running_waiting", "latency", "dat2graph2"])
def test_a_picture_says_what_it_cannot_know(kind, unwoken, tmp_path):
    out = tmp_path / "x.svg"
    done = command("graph", kind, unwoken, "-o", out, *["--all"] * (kind == "latency"))
    assert "waits after a sleep are unknown" in done.stderr
    assert "waits after a sleep are unknown" in " ".join(out.read_text(encoding="utf-8").split())


def test_who_names_no_task_is_not_told_of_a_name(unwoken, tmp_path):
    done = subprocess.run([PYTHON, "-m", "fairground", "graph", "latency", unwoken, "-o", tmp_path / "x.svg"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
    assert done.returncode == 2 and done.stderr.endswith(": no task was woken, waited and then ran there\n")

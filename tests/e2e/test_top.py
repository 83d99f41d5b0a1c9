# SPDX-License-Identifier: GPL-2.0-only
"""`fairground top`: what it sees while the machine runs adds up to what the trace of the same run says afterwards."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("B", "build")

from fairground.trace.timeline import Timeline
from fairground.trace.top import fitted


def top(directory, *words):
    """How it ended, and its lines of JSON."""
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "top", "--json", "--kvm", "0",
                           "--timeout", "200", "--out", directory / "run.dat", *words], capture_output=True, text=True,
                          check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": "tools"})
    return done, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    directory = tmp_path_factory.mktemp("top")
    done, lines = top(directory, "--smp", "2", "--icount", "1", "--delay", "0.05", "--cmd",
                      "hog -N 0,5,10 -t 1s; hack -g 1 -l 20; exit 7")
    assert done.returncode == 7 == lines[-1]["status"], done.stderr
    *parts, whole = lines
    return parts, whole["whole"], Timeline(directory / "run.dat")


@pytest.mark.nightly("parts of top that do not add up")
def test_parts_follow_each_other_and_add_up(seen):
    parts, whole, _ = seen
    assert len(parts) > 3 and whole["lost"] == 0
    assert [part["start_ns"] for part in parts[1:]] == [part["end_ns"] for part in parts[:-1]]
    assert (whole["start_ns"], whole["end_ns"]) == (parts[0]["start_ns"], parts[-1]["end_ns"])
    for name in ("ran_ns", "waited_ns", "switches"):
        sums = Counter()
        for part in parts:
            sums.update({task["pid"]: task[name] for task in part["tasks"]})
        assert {task["pid"]: task[name] for task in whole["tasks"]} == dict(sums)
    for part in parts:
        length = part["end_ns"] - part["start_ns"]
        assert all(0 <= cpu["busy_ns"] <= length for cpu in part["cpus"])
        assert sum(cpu["busy_ns"] for cpu in part["cpus"]) == sum(task["ran_ns"] for task in part["tasks"])


def test_the_whole_is_what_the_trace_says(seen):
    _, whole, line = seen
    ran, waited, switches = Counter(), Counter(), Counter()
    for pid, start, end in zip(line.runs.pid, line.runs.start, line.runs.end):
        # The first task of each CPU had run since before the first event.
        ran[pid] += end - start if start > line.begin else 0
        switches[pid] += start > line.begin
    for pid, start, end in zip(line.waits.pid, line.waits.start, line.waits.end):
        waited[pid] += end - start
    tasks = {task["pid"]: task for task in whole["tasks"]}
    assert len(tasks) > 40 and whole["end_ns"] == line.end
    for pid, task in tasks.items():
        assert (task["ran_ns"], task["waited_ns"]) == (ran[pid], waited[pid]), task
        assert task["switches"] == switches[pid], task
        assert f"{task['name']}-{pid}" == line.label(pid)


def test_hogs_are_seen_as_they_see_themselves(seen):
    """Two CPUs for the weights 1024, 335 and 110: more than one CPU's time for none."""
    parts, whole, _ = seen
    console = Path(BUILD, "top-console.log").read_text(encoding="utf-8")
    rows = re.findall(r"^ +(\d+) +\d+ +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+ ", console, re.MULTILINE)
    ran = {task["pid"]: task["ran_ns"] / 1e6 for task in whole["tasks"]}
    assert len(rows) == 3 and all(ran[int(pid)] == pytest.approx(float(ms), rel=0.01, abs=1) for pid, ms in rows)
    assert any(cpu["queued"] for part in parts for cpu in part["cpus"])
    assert any(cpu["runs"] in ran for part in parts for cpu in part["cpus"])


def test_what_the_writer_overtook_is_counted(tmp_path):
    """Rings of two pages, and one look at the end."""
    done, lines = top(tmp_path, "--smp", "2", "--icount", "1", "--delay", "3600", "--append", "trace_buf_size=8",
                      "--cmd", "hack -g 1 -l 50 >/dev/null")
    assert done.returncode == 0 and lines[-1]["whole"]["lost"] > 1000, done.stderr


@pytest.mark.parametrize("delay", ["0.01", "0.011", "0.012", "0.013"])
def test_it_may_look_before_the_rings_are_there(tmp_path, delay):
    done, lines = top(tmp_path, "--smp", "2", "--icount", "1", "--delay", delay, "--cmd", "true")
    assert done.returncode == 0 and "whole" in lines[-1], done.stderr


def test_bad_requests_are_a_sentence(tmp_path):
    done, _ = top(tmp_path, "--delay", "0", "--cmd", "true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "seconds from 0.01" in done.stderr


# --- a machine that another program started ---


def fairground(*words, terminal=None):
    return subprocess.Popen([sys.executable, "-m", "fairground", "--build", BUILD, *map(str, words)], cwd=ROOT,
                            stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": "tools"})


def ended(process):
    out, err = process.communicate(timeout=400)
    return process.returncode, out, err


@pytest.mark.nightly("a second reader that disturbs the first")
def test_two_look_at_a_machine_of_another_program(tmp_path):
    """Both see the whole run, as the hogs see themselves, and end with the machine, whose file is gone then."""
    memory = tmp_path / "machine"
    keyboard, terminal = os.openpty()
    machine = fairground("run", "--smp", "2", "--icount", "1", "--kvm", "0", "--monitor", memory, terminal=terminal)
    os.write(keyboard, b"\n")  # instead of the demonstration, the shell, which has a machine of its own
    while "Ctrl-A X ends the machine" not in machine.stdout.readline():
        assert machine.poll() is None
    watchers = [fairground("top", "--json", "--delay", "0.05", "--attach", memory) for _ in range(2)]
    assert all(watcher.stdout.readline() for watcher in watchers)  # both look before the hogs begin
    os.write(keyboard, b"hog -N 0,5,10 -t 1s; exit 7\n")
    status, console, _ = ended(machine)
    rows = re.findall(r"^ +(\d+) +\d+ +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+ ", console, re.MULTILINE)[-3:]
    assert status == 7 and not memory.exists()
    found = []
    for watcher in watchers:
        status, out, err = ended(watcher)
        assert status == 0 and not err, err
        *parts, whole = map(json.loads, out.splitlines())
        assert len(parts) > 1 and whole["status"] is None and whole["whole"]["lost"] == 0
        found.append({task["pid"]: task["ran_ns"] for task in whole["whole"]["tasks"]})
        assert all(found[-1][int(pid)] / 1e6 == pytest.approx(float(ms), rel=0.01, abs=1) for pid, ms in rows)
    assert found[0] == found[1]


def test_who_has_seen_enough_gets_the_whole(tmp_path):
    memory = tmp_path / "machine"
    machine = fairground("run", "--smp", "1", "--icount", "1", "--kvm", "0", "--timeout", "300", "--monitor", memory,
                         "--cmd", "hog -n 2 -t 30s")
    try:
        while not memory.exists():
            assert machine.poll() is None
            time.sleep(0.01)
        watcher = fairground("top", "--delay", "0.2", "--attach", memory)
        for line in watcher.stdout:
            if "hog-" in line:
                break
        watcher.send_signal(signal.SIGINT)
        status, out, err = ended(watcher)
        assert status == 130 and "The whole run:" in out and not err, err
    finally:
        machine.terminate()
        ended(machine)
    assert not memory.exists()


@pytest.mark.parametrize("words, message", [
    (("top", "--attach", "{none}"), "No such file"), (("top", "--attach", __file__), "not the memory of a machine"),
    (("top", "--attach", "{none}", "--cmd", "true"), "--attach only looks"),
    (("run", "--monitor", __file__, "--cmd", "true"), "this exists"),
    (("run", "--monitor", "{none}/x", "--cmd", "true"), "No such file")])
def test_what_cannot_be_looked_at_is_a_sentence(words, message, tmp_path):
    status, out, err = ended(fairground(*(word.format(none=tmp_path / "none") for word in words)))
    assert status == 2 and message in err and err.count("\n") == 1 and not out


def test_the_screen_fits_the_terminal(monkeypatch):
    """A line that is too long would take two, and the first ones would leave the screen."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "5")
    shown = fitted("\n".join("x" * 100 for _ in range(30))).split("\n")
    assert shown == ["x" * 40 + "\x1b[K"] * 4 + [""]

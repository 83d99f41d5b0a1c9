# SPDX-License-Identifier: GPL-2.0-only
"""make profile: instructions by function are those that the guest's own clock counts, and repeat to the last one."""

import json
import os
import re
import subprocess
import sys

import pytest

BUILD = os.environ.get("B", "build")
ROUNDS = "--cmd", "pingpong -l 2000 futex", "--less", "pingpong -l 1000 futex", "--per", "1000"


def fairground(*words, **env):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, *words], text=True, check=False,
                          capture_output=True, env={**os.environ, "PYTHONPATH": "tools", **env})


def profile(*words):
    done = fairground("profile", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def functions(found):
    return {row["place"]: row for row in found["rows"]}


def test_the_guests_clock_counts_the_same():
    done = fairground("run", "--smp", "1", "--icount", "1", "--cmd", "pingpong -l 2000 futex")
    ns = int(re.search(r"(\d+) ns per round trip", done.stdout)[1])
    found = profile("--smp", "1", *ROUNDS)
    assert sum(row["instructions"] for row in found["rows"]) == pytest.approx(ns, rel=0.01)
    by = functions(found)
    for name, calls in ("sched_wake", 2), ("sched_switch_begin", 2), ("x86_syscall_entry", 4):
        assert by[name]["calls"] == pytest.approx(calls, abs=0.05), name
    assert by["[programs]"]["calls"] is None and by["[programs]"]["instructions"] > 50
    assert (found["less"], found["per"], found["topology"]) == (ROUNDS[3], 1000, "1")
    assert profile("--smp", "1", *ROUNDS)["rows"] == found["rows"]


def test_two_cpus_and_another_policy():
    by = functions(profile("--smp", "2", "--sched", "eevdf", "--cmd", "pingpong -l 500 -a 0-1 futex"))
    assert by["eevdf_pick" if "eevdf_pick" in by else "fair_pick"]["calls"] > 500


def test_files_and_directories_hold_the_same_instructions():
    all_of = {}
    for by in "file", "directory":
        rows = functions(profile("--smp", "1", *ROUNDS, "--by", by))
        assert all(row["calls"] is None for row in rows.values())
        all_of[by] = sum(row["instructions"] for row in rows.values())
        assert rows["sched/fair/core" if by == "directory" else "sched/core/wake.c"]["instructions"] > 100
    assert all_of["file"] == pytest.approx(all_of["directory"], abs=0.01)


def test_the_table_adds_up():
    done = fairground("profile", "--smp", "1", *ROUNDS)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0].startswith("pingpong -l 2000 futex, less pingpong -l 1000 futex, each of 1,000:")
    counts = [float(line.split()[0].replace(",", "")) for line in lines[2:]]
    assert lines[-1].split()[1] == "100.0%" and sum(counts[:-1]) == pytest.approx(counts[-1], abs=0.1 * len(counts))


@pytest.mark.parametrize("words, env, status, says", [
    ((), {}, 2, "profile needs a command"),
    (("--cmd", "true", "--per", "0"), {}, 2, "--per 0: a positive number is expected"),
    (("--smp", "1", "--cmd", "exit 3"), {}, 1, "ended with status 3"),
    (("--smp", "1", "--cmd", "true", "--less", "hog -t 10ms"), {}, 2, "has no more instructions than hog -t 10ms"),
    (("--smp", "1", "--cmd", "true"), {"CC": "/nonexistent/cc"}, 125, "/nonexistent/cc does not start")])
def test_what_cannot_be_counted_is_said(words, env, status, says):
    done = fairground("profile", *words, **env)
    assert done.returncode == status and says in done.stderr.splitlines()[-1], done.stderr
    assert "Traceback" not in done.stderr and not done.stdout

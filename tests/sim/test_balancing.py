# SPDX-License-Identifier: GPL-2.0-only
"""Balancing passes: recorded in both forms, printed, filtered and counted."""

import json
import os
import subprocess
import sys

import pytest

from tests.sim.conftest import ROOT

from fairground.decisions.balancing import read
from fairground.machine.image import event_values
from fairground.trace.tracefile import TraceFile

BUSY = ["hogs:n=3", "bursts:n=9,run=1ms-3ms,sleep=1ms-9ms", "hogs:n=2,cpus=0-1"]
CACHES = "--topology llcs=2,cores=2 --time 400ms"


def balancing(path, *words):
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools"))
    return subprocess.run([sys.executable, "-m", "fairground", "decisions", str(path), "--kind", "balance", *words],
                          env=env, capture_output=True, text=True, check=False)


@pytest.fixture(name="busy")
def recorded(sim, tmp_path):
    sim(f"{CACHES} --decisions {tmp_path / 'd.json'}", *BUSY)
    return tmp_path / "d.json"


def test_both_forms_hold_the_same(sim, tmp_path, busy):
    sim(f"{CACHES} --decisions {tmp_path / 'd.dat'}", *BUSY)
    one, two = (sorted(read(str(path)), key=lambda p: (p.time, p.cpu, p.domain)) for path in (busy, tmp_path / "d.dat"))
    assert one == two and len(one) > 50 and all(p.complete for p in one)
    assert {p.level for p in one} == {"MC", "DIE"} and any(p.tasks for p in one)


def test_what_moves_is_in_the_record(sim, tmp_path):
    """Tasks that a pass detaches arrive on its CPU: sched_migrate_task of the same run says so."""
    path = tmp_path / "d.dat"
    sim(f"{CACHES} --decisions {path}", *BUSY)
    moved = [(p.time, t.pid, t.to) for p in read(str(path)) for t in p.tasks if t.fate == "moved"]
    arrived = [(e.time, v["pid"], v["dest_cpu"]) for e in TraceFile(path).events({"sched_migrate_task"})
               for v in [event_values(e)]]
    assert len(moved) > 5 and set(moved) <= set(arrived)


def test_they_are_filtered_and_counted(busy):
    everything = balancing(busy).stdout.splitlines()
    passes = list(read(str(busy)))
    assert len(everything) == len(passes)
    for words, wanted in (("--cpu 2", lambda p: p.cpu == 2), ("--outcome moved", lambda p: p.outcome == "moved"),
                          ("--task burst", lambda p: any(t.comm == "burst" for t in p.tasks)),
                          ("--rule waits_there", lambda p: p.rule == "waits_there"),
                          ("--from 50ms --to 100ms", lambda p: 50_000_000 <= p.time <= 100_000_000)):
        found = balancing(busy, *words.split()).stdout.splitlines()
        assert 0 < len(found) < len(everything) and len(found) == sum(map(wanted, passes)), words
    table = balancing(busy, "--stats").stdout.splitlines()
    tables = [at for at, line in enumerate(table) if "share" in line] + [len(table)]
    sums = [sum(int(line.split()[0]) for line in table[a + 1:b]) for a, b in zip(tables, tables[1:])]
    assert sums == [len(passes), len(passes), sum(len(p.tasks) for p in passes)]


def test_the_tables_have_every_row(busy):
    p = next(p for p in read(str(busy)) if p.outcome == "moved")
    text = balancing(busy, "--full", "--outcome", "moved", "--limit", "1").stdout.splitlines()
    assert len(text) == 1 + 3 + len(p.parts) + len(p.runqueues) + len(p.tasks)
    assert sum(line.endswith("busiest") for line in text) == 1


@pytest.mark.parametrize(("words", "message"), [
    (["--rule", "cpu_buzy"], "is cpu_busy meant?"),
    (["--outcome", "move"], "is moved meant?"),
    (["--cpu", "two"], "CPUs 'two': a list such as 0,2-5 is expected"),
    (["--to", "5"], "a time such as 500ms"),
    (["--task", "nobody"], "no decision matches"),
])
def test_bad_input_is_one_sentence(busy, words, message):
    done = balancing(busy, *words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_a_pass_without_a_field_is_refused(busy):
    lines = busy.read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if '"kind": "balance"' in line)
    row = json.loads(lines[at])
    del row["imbalance"]
    busy.write_text("\n".join([*lines[:at], json.dumps(row), *lines[at + 1:]]) + "\n", encoding="utf-8")
    done = balancing(busy)
    assert done.returncode == 2 and f"line {at + 1} has no field imbalance" in done.stderr

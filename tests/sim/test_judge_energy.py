# SPDX-License-Identifier: GPL-2.0-only
"""Placement by energy: it saves energy for the same work, its judge finds nothing wrong, and sees one wrong choice."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.sim.conftest import policies

JUDGE = pathlib.Path(__file__).parents[1] / "model" / "judge_energy.py"
JUNO = "--opp juno --governor schedutil"
SMALL = "periodic:n=6,run=1ms,period=10ms,policy=normal"
LOADS = {"small": SMALL,
         "mixed": "periodic:n=3,run=1ms,period=10ms,policy=normal bursts:n=5,run=1ms-6ms,sleep=20ms-60ms",
         "pinned": "bursts:n=4,run=1ms,sleep=9ms,cpus=0-2 bursts:n=3,run=1ms,sleep=9ms",
         "clamped": "bursts:n=3,run=1ms,sleep=9ms,util_min=500 bursts:n=3,run=3ms,sleep=9ms,util_max=300",
         "real-time": "periodic:n=2,run=1ms,period=20ms,policy=fifo bursts:n=5,run=1ms-2ms,sleep=9ms-19ms"}
OFF = ("--set", "sched_energy_aware=0")


def judged(path):
    """(exit status, right, not judged, wrong)"""
    done = subprocess.run([sys.executable, str(JUDGE), str(path)], capture_output=True, text=True, check=False)
    rows = [line.split()[-3:] for line in done.stdout.splitlines() if ": energy " in line and " ns" not in line]
    return done.returncode, *(sum(int(row[i]) for row in rows) for i in range(3))


@pytest.mark.sampled(4, "a placement by energy under one policy")
@pytest.mark.parametrize("sched", policies())
@pytest.mark.parametrize("load", LOADS)
def test_every_placement_by_energy_is_right(sim, tmp_path, load, sched):
    path = tmp_path / "d.json"
    sim(f"{JUNO} --sched {sched} --time 1s --decisions {path} {LOADS[load]}")
    status, right, unjudged, wrong = judged(path)
    assert (status, wrong) == (0, 0)
    assert right > 10 * unjudged and right > 100


@pytest.mark.sampled(3, "a rule of energy that its judge overlooks")
@pytest.mark.parametrize(("rule", "change"), [
    ("least_energy", lambda p: {"chosen": p["last"], "rule": "no_saving"}),
    ("no_saving", lambda p: {"chosen": (p["chosen"] + 1) % 6, "rule": "least_energy"}),
    ("no_saving", lambda p: {"uses": [{**use, "spare": use["spare"] + 1} for use in p["uses"]]}),
    ("no_saving", lambda p: {"energies": [{**p["energies"][0], "without": p["energies"][0]["without"] + 1},
                                          *p["energies"][1:]]}),
    ("no_saving", lambda p: {"energies": [{**energy, "best": -1, "with_best": 0} for energy in p["energies"]]}),
])
def test_one_wrong_placement_among_many_is_seen(sim, tmp_path, rule, change):
    path = tmp_path / "d.json"
    sim(f"{JUNO} --time 300ms --decisions {path} {SMALL}")
    lines = path.read_text(encoding="utf-8").splitlines()
    at, p = next((at, p) for at, p in reversed([(i, json.loads(line)) for i, line in enumerate(lines)
                                                if '"kind": "select"' in line])
                 if p["rule"] == rule and any(energy["best"] >= 0 for energy in p["energies"]))
    lines[at] = json.dumps({**p, **change(p)})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, _, _, wrong = judged(path)
    assert (status, wrong > 0) == (1, True)


@pytest.mark.parametrize("sched", policies())
def test_the_same_work_takes_less_energy(sim, sched):
    """Under every policy, at the same throughput; and without the governor whose points it foresees it is off."""
    def run(*words):
        result = sim(f"--opp juno --sched {sched} --time 2s", *words, SMALL).result()
        return result["wakeups"], result["energy"]

    (woken, on), (as_often, off) = run("--governor", "schedutil"), run("--governor", "schedutil", *OFF)
    assert woken == as_often
    assert on < 0.8 * off
    assert run("--governor", "performance") == run("--governor", "performance", *OFF)

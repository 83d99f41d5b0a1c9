# SPDX-License-Identifier: GPL-2.0-only
"""On which CPU a task wakes up or starts: recorded in both forms, judged by brute force, printed and counted."""

import json
import os
import subprocess
import sys

import pytest

from tests.sim.conftest import ROOT

from asking import ask

BUSY = ["hogs:n=3", "bursts:n=7,run=1ms-3ms,sleep=1ms-4ms", "bursts:n=2,run=1ms,sleep=2ms,cpus=0-2",
        "messages:n=2,workers=4,run=2ms", "forks:n=2", "hogs:policy=idle"]
LIGHT = ["bursts:n=5,run=1ms-3ms,sleep=1ms-4ms", "bursts:n=1,run=1ms,sleep=2ms,cpus=0-2", "pingpong", "forks"]
UNEVEN = ["hogs:n=2", "bursts:n=5,run=1ms-6ms,sleep=1ms-9ms", "bursts:n=2,run=300us,sleep=5ms"]
MACHINES = {"one-cache": "--cpus 4", "two-caches": "--topology llcs=2,cores=4",
            "big-little": "--opp juno --governor performance",
            "big-little-two-caches": "--opp juno --governor ondemand --topology llcs=2,cores=3"}


def judged(path):
    """(exit status, right, wrong, not judged)"""
    answer = ask("judge_cpu", path)
    assert not answer.err
    right, unjudged, wrong = answer.sums()
    return answer.status, right, wrong, unjudged


def placements(path, *words):
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools"))
    return subprocess.run([sys.executable, "-m", "fairground", "decisions", str(path), "--kind", "select", *words],
                          env=env, capture_output=True, text=True, check=False)


@pytest.mark.sampled(10, "a placement on one machine, under one policy")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("load", [BUSY, LIGHT], ids=["busy", "light"])
@pytest.mark.parametrize("policy", ["cfs", "eevdf", "fdl"])
def test_every_placement_is_right(sim, tmp_path, policy, load, machine):
    path = tmp_path / "d.json"
    sim(f"--sched {policy} {MACHINES[machine]} --time 150ms --decisions {path}", *load)
    status, right, wrong, _ = judged(path)
    assert status == 0 and wrong == 0 and right > 200


@pytest.mark.parametrize(("rule", "change"), [
    ("free_and_fits", lambda p: {"chosen": p["aimed"], "rule": "aim_free"}),
    ("free_and_fits", lambda p: {"rule": "most_capacity"}),
    ("free_and_fits", lambda p: {"util": 1000}),
    ("aim_free", lambda p: {"util": 1000}),
    ("aim_free", lambda p: {"least": 1000} if p["aimed"] > 1 else {"util": 1000}),
    ("most_capacity", lambda p: {"chosen": p["aimed"], "rule": "none_free"}),
    ("most_capacity", lambda p: {"most": 100}),
])
def test_a_cpu_with_too_little_is_seen(sim, tmp_path, rule, change):
    path = tmp_path / "d.json"
    sim(f"--opp juno --governor performance --time 500ms --decisions {path}", *UNEVEN)
    lines = path.read_text(encoding="utf-8").splitlines()
    at = [i for i, line in enumerate(lines) if f'"rule": "{rule}", "scan"' in line][-1]
    placement = json.loads(lines[at])
    lines[at] = json.dumps({**placement, **change(placement)})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, _, wrong, _ = judged(path)
    assert (status, wrong) == (1, 1)


@pytest.mark.sampled(8, "a rule of placements that its judge overlooks")
@pytest.mark.parametrize(("rule", "change"), [
    ("none_free", lambda p: {"rule": "aim_free"}),
    ("none_free", lambda p: {"chosen": (p["aimed"] + 1) % 4}),
    ("aim_free", lambda p: {"chosen": (p["chosen"] + 1) % 4}),
    ("free_in_cache", lambda p: {"chosen": p["aimed"], "rule": "none_free"}),
    ("idlest", lambda p: {"chosen": next(c["of_cpu"] for c in p["cpus"] if not c["flags"] & 2)}),
    ("idlest", lambda p: {"rule": "none_free"}),
    ("idlest", lambda p: {"rule": "only_allowed"}),
    ("none_free", lambda p: {"last": (p["last"] + 1) % 4}),
    # Other records of the task tell on which CPUs it was before, and on which one it is queued afterwards.
    ("none_free", lambda p: {"recent": (p["recent"] + 1) % 4}),
    ("aim_free", lambda p: {"recent": (p["recent"] + 1) % 4}),
    ("idlest", lambda p: {"waker": (p["waker"] + 1) % 4}),
    ("none_idler", lambda p: {"waker": (p["waker"] + 1) % 4}),
    ("idlest", lambda p: {"chosen": next((c["of_cpu"] for c in p["cpus"] if c["flags"] & 2 and
                                          c["of_cpu"] != p["chosen"]), p["aimed"])}),
])
def test_one_wrong_placement_among_many_is_seen(sim, tmp_path, rule, change):
    path = tmp_path / "d.json"
    sim(f"--cpus 4 --time 100ms --decisions {path}", *LIGHT)
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = {i: json.loads(line) for i, line in enumerate(lines) if f'"rule": "{rule}", "scan"' in line}
    at, changed = max(((i, p) for i, p in rows.items() if rule != "idlest" or any(c["flags"] & 1 for c in p["cpus"])),
                      key=lambda found: found[0])
    lines[at] = json.dumps({**changed, **change(changed)})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, right, wrong, _ = judged(path)
    assert (status, wrong) == (1, 1) and right > 100


def test_both_forms_hold_the_same(sim, tmp_path):
    found = []
    for name in ("d.json", "d.dat"):
        sim(f"--topology llcs=2,cores=2 --time 50ms --decisions {tmp_path / name}", *LIGHT)
        done = placements(tmp_path / name)
        assert done.returncode == 0 and not done.stderr
        found.append(sorted(done.stdout.splitlines()))  # a trace.dat sorts those of one time by CPU
    assert found[0] == found[1] and len(found[0]) > 100


def test_they_are_filtered_and_counted(sim, tmp_path):
    path = tmp_path / "d.json"
    sim(f"--cpus 4 --time 50ms --decisions {path}", *LIGHT)
    everything = placements(path).stdout.splitlines()
    to_cpu_2 = placements(path, "--cpu", "2", "--task", "burst").stdout.splitlines()
    assert 0 < len(to_cpu_2) < len(everything) and all(" burst-" in line and "CPU" in line for line in to_cpu_2)
    assert len(placements(path, "--limit", "3").stdout.splitlines()) == 3
    table = placements(path, "--stats").stdout.splitlines()[1:]
    assert sum(int(line.split()[0]) for line in table) == len(everything)


@pytest.mark.parametrize(("words", "message"), [
    (["--rule", "aim_fre"], "is aim_free meant?"),
    (["--cpu", "two"], "CPUs 'two': a list such as 0,2-5 is expected"),
    (["--from", "5"], "a time such as 500ms"),
    (["--task", "nobody"], "no decision matches"),
])
def test_bad_input_is_one_sentence(sim, tmp_path, words, message):
    path = tmp_path / "d.json"
    sim(f"--cpus 2 --time 5ms --decisions {path} hogs:n=3")
    done = placements(path, *words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1 and not done.stdout

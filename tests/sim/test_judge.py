# SPDX-License-Identifier: GPL-2.0-only
"""The judge of tests/model reads decision files: every decision of every policy is right, and a wrong one is seen."""

import json
import pathlib
import subprocess
import sys

import pytest

MODEL = pathlib.Path(__file__).parents[1] / "model"
MIXED = ["hogs:n=3", "bursts:n=3,run=3ms,sleep=2ms", "hogs:nice=5", "hogs:policy=idle", "pipes", "groups:n=2,tasks=2",
         "yielders:n=2", "forks:n=2"]
KINDS = {"pick", "preempt", "tick", "place", "charge", "leave"}


def judged(path):
    """(exit status, {kind: (right, not judged, wrong)}, the other lines)."""
    done = subprocess.run([sys.executable, str(MODEL / "judge.py"), str(path)], capture_output=True, text=True,
                          check=False)
    lines = [line.split(": ", 1)[1] for line in done.stdout.splitlines()]
    table = lines.index(next(line for line in lines if line.startswith("policy ")))
    rows = [line.split() for line in lines[table + 1:]]
    return done.returncode, {row[1]: tuple(map(int, row[2:])) for row in rows}, lines[:table]


@pytest.mark.parametrize("policy", ["cfs", "bore-cfs", "eevdf", "bore", "fdl"])
def test_every_decision_is_right(sim, tmp_path, policy):
    path = tmp_path / "d.jsonl"
    sim(f"--sched {policy} --cpus 2 --time 60ms --decisions {path} " + " ".join(MIXED))
    status, table, complaints = judged(path)
    assert status == 0 and not complaints
    assert set(table) == KINDS and all(wrong == 0 for _, _, wrong in table.values())
    assert table["pick"][0] > 400 and table["charge"][0] > 500 and table["place"][0] > 200 and table["tick"][0] > 20
    # Of new tasks, and of what leaves a queue of CFS, no rule says more than the next place does.
    assert table["pick"][1] == table["preempt"][1] == table["tick"][1] == 0 and table["charge"][1] < 50
    assert table["place"][1] < table["place"][0]


@pytest.mark.parametrize("policy, kind, change", [
    ("cfs", "pick", lambda d: next_of(d)),
    ("cfs", "preempt", lambda d: {"answer": 1 - d["answer"]}),
    ("cfs", "tick", lambda d: {"answer": 1 - d["answer"]}),
    ("cfs", "charge", lambda d: {"vruntime": d["vruntime"] + 10}),
    ("cfs", "place", lambda d: {"vruntime": d["vruntime"] - 1}),
    ("bore-cfs", "charge", lambda d: {"vruntime": d["vruntime"] + 2 * d["delta"] + 100}),
    ("eevdf", "pick", lambda d: next_of(d)),
    ("eevdf", "pick", lambda d: {"v": d["v"] + 1}),
    ("eevdf", "preempt", lambda d: {"answer": 1 - d["answer"]}),
    ("eevdf", "place", lambda d: {"deadline": d["deadline"] + 1000}),
    ("eevdf", "leave", lambda d: {"lag": d["lag"] + 10, "answer": 0}),
])
def test_one_wrong_decision_among_many_is_seen(sim, tmp_path, policy, kind, change):
    """A single number of a single decision is changed in a file of right ones."""
    path = tmp_path / "d.jsonl"
    sim(f"--sched {policy} --cpus 1 --time 40ms --decisions {path} hogs:n=3 bursts:n=3,run=1300us,sleep=2100us")
    head, *decisions = path.read_text(encoding="utf-8").splitlines()
    # A lead that preempts is far from the granularity; another may be so near that rounding decides.
    words = [f'"kind": "{kind}"', *(['"answer": 1'] if (policy, kind) == ("cfs", "preempt") else ['"nr_queued": 4'])]
    at = max(i for i, line in enumerate(decisions) if all(word in line for word in words))
    decision = json.loads(decisions[at])
    decisions[at] = json.dumps(decision | change(decision))
    path.write_text("\n".join([head, *decisions]) + "\n", encoding="utf-8")
    status, table, complaints = judged(path)
    assert status == 1 and len(complaints) == 1 and f" {kind} " in complaints[0]
    assert table[kind][2] == 1


def next_of(decision):
    """Another candidate as the subject, one that is neither first by time nor by deadline."""
    other = max((row for row in decision["candidates"] if row["pid"] != decision["pid"]),
                key=lambda row: (row["deadline"] - decision["v"] + 2**63) % 2**64 + row["vruntime"] % 2**64)
    return {"pid": other["pid"], "subject_group": other["group"], "comm": other["comm"]}

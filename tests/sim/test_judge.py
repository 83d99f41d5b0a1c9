# SPDX-License-Identifier: GPL-2.0-only
"""The judge of tests/model reads decision files: every decision of every policy is right, and a wrong one is seen."""

import json
import subprocess
import sys

import pytest
from tests.sim.conftest import ROOT

from asking import MODEL, ask

MIXED = ["hogs:n=3", "bursts:n=3,run=3ms,sleep=2ms", "hogs:nice=5", "hogs:policy=idle", "pipes", "groups:n=2,tasks=2",
         "yielders:n=2", "forks:n=2"]
KINDS = {"pick", "preempt", "tick", "place", "charge", "leave"}


def judged(path):
    """(exit status, {kind: (right, not judged, wrong)}, the complaints)."""
    answer = ask("judge", path)
    assert not answer.err
    return answer.status, {kind: counts for (_, kind), counts in answer.table.items()}, answer.complaints


@pytest.mark.sampled(8, "a decision of one policy that its model does not make")
@pytest.mark.parametrize("policy", ["cfs", "bore-cfs", "eevdf", "bore", "fdl"])
def test_every_decision_is_right(sim, tmp_path, policy):
    path = tmp_path / "d.jsonl"
    sim(f"--sched {policy} --cpus 2 --time 60ms --decisions {path} " + " ".join(MIXED))
    status, table, complaints = judged(path)
    assert status == 0 and not complaints
    assert set(table) == KINDS and all(wrong == 0 for _, _, wrong in table.values())
    assert table["pick"][0] > 400 and table["charge"][0] > 500 and table["place"][0] > 200 and table["tick"][0] > 20
    # A slice beside groups or SCHED_IDLE tasks depends on weights that the record lacks, and is not judged.
    assert all(unjudged == 0 for kind, (_, unjudged, _) in table.items() if kind not in ("place", "charge"))
    assert table["charge"][1] < 50 and table["place"][1] < table["place"][0]


@pytest.mark.sampled(4, "a fair rule that its judge overlooks")
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
    # Numbers by one, rules by another: what is left alone, what rounding cannot do, and what a rule claims.
    ("cfs", "pick", lambda d: {"rule": "nobody"}),
    ("cfs", "pick", lambda d: {"rule": "last_buddy"}),
    ("cfs", "pick", lambda d: {"nr_queued": d["nr_queued"] + 1}),
    ("cfs", "pick", lambda d: {"vruntime": d["vruntime"] + 1}),
    ("cfs", "pick", lambda d: {"slice": d["slice"] + 10}),
    ("cfs", "pick", lambda d: {"pid": 999}),
    ("cfs", "charge", lambda d: {"vruntime": d["vruntime"] + 1}),
    ("cfs", "leave", lambda d: {"rule": "departs"}),
    ("cfs", "leave", lambda d: {"slice": d["slice"] + 1}),
    ("cfs", "tick", lambda d: {"slice": d["slice"] + 1}),
    ("bore-cfs", "pick", lambda d: {"weight": d["weight"] + 1}),
    ("bore-cfs", "pick", lambda d: {"rule": "passed_over"}),
    ("bore-cfs", "preempt", lambda d: {"vruntime": d["vruntime"] + 1}),
    ("eevdf", "pick", lambda d: {"rule": "nobody"}),
    ("eevdf", "pick", lambda d: {"deadline": d["deadline"] + 1}),
    ("eevdf", "pick", lambda d: {"slice": d["slice"] + 1}),
    ("eevdf", "preempt", lambda d: {"v": d["v"] - 1}),
    ("eevdf", "place", lambda d: {"deadline": d["deadline"] + 1}),
    ("eevdf", "place", lambda d: {"vruntime": d["vruntime"] + 1, "deadline": d["deadline"] + 1}),
    ("eevdf", "place", lambda d: {"rule": "arrives_new"}),
    ("eevdf", "leave", lambda d: {"vruntime": d["vruntime"] + 1}),
    ("eevdf", "leave", lambda d: {"lag": d["lag"] + 1}),
    ("eevdf", "charge", lambda d: {"vruntime": d["vruntime"] + 1}),
    ("bore", "pick", lambda d: {"rule": "request_lasts"}),
    ("bore", "pick", lambda d: {"vruntime": d["vruntime"] + 1}),
    ("bore", "pick", lambda d: {"lag": 1}),
    ("bore", "pick", lambda d: {"weight": d["weight"] + 1}),
    ("bore", "pick", lambda d: {"nr_queued": d["nr_queued"] - 1}),
    ("bore", "preempt", lambda d: {"rule": "request_lasts"}),
    ("bore", "preempt", lambda d: {"deadline": d["deadline"] + 1}),
    ("bore", "preempt", lambda d: {"slice": d["slice"] + 1}),
    ("bore", "preempt", lambda d: {"answer": 2}),
    # Other records of the queue or the task tell these numbers: the queue's clock, the task's turn, its weight.
    ("cfs", "pick", lambda d: {"v": d["v"] + 1}),
    ("cfs", "pick", lambda d: {"v": d["v"] - 1}),
    ("cfs", "charge", lambda d: {"v": d["v"] + 1}),
    ("bore-cfs", "pick", lambda d: {"v": d["v"] - 1}),
    ("fdl", "preempt", lambda d: {"v": d["v"] + 1}),
    ("cfs", "tick", lambda d: {"delta": d["delta"] + 1}),
    ("fdl", "tick", lambda d: {"rule": "ran"}),
    ("eevdf", "tick", lambda d: {"delta": d["delta"] - 1}),
    ("eevdf", "tick", lambda d: {"rule": "eligibility" if d["rule"] != "eligibility" else "request_used_up"}),
    ("eevdf", "tick", lambda d: {"rule": "slice"}),
    ("bore", "tick", lambda d: {"rule": "request_lasts"}),
    ("bore", "charge", lambda d: {"weight": d["weight"] + 1}),
    ("bore", "charge", lambda d: {"weight": {1024: 820}.get(d["weight"], 1024)}),
    ("bore", "place", lambda d: {"weight": d["weight"] + 1}),
    ("bore", "place", lambda d: {"weight": {1024: 820}.get(d["weight"], 1024)}),
])
def test_one_wrong_decision_among_many_is_seen(sim, tmp_path, policy, kind, change):
    """A single number of a single decision is changed in a file of right ones."""
    path = tmp_path / "d.jsonl"
    sim(f"--sched {policy} --cpus 1 --time 40ms --decisions {path} hogs:n=3 bursts:n=3,run=1300us,sleep=2100us")
    head, *decisions = path.read_text(encoding="utf-8").splitlines()
    # A lead that preempts is far from the granularity; another may be so near that rounding decides.
    among = {("cfs", "preempt"): '"answer": 1', ("eevdf", "preempt"): '"nr_queued": 6'}
    of_kind = [i for i, line in enumerate(decisions) if f'"kind": "{kind}"' in line]
    at = max((i for i in of_kind if among.get((policy, kind), '"nr_queued": 4') in decisions[i]), default=of_kind[-1])
    decision = json.loads(decisions[at])
    decisions[at] = json.dumps(decision | change(decision))
    path.write_text("\n".join([head, *decisions]) + "\n", encoding="utf-8")
    status, table, complaints = judged(path)
    assert status == 1 and len(complaints) == 1 and f" {kind} " in complaints[0]
    assert table[kind][2] == 1


def changed_one(path, is_one, change):
    """Change the last decision of the file for which @is_one, by @change."""
    head, *decisions = path.read_text(encoding="utf-8").splitlines()
    at = max(i for i, line in enumerate(decisions) if is_one(json.loads(line)))
    decision = json.loads(decisions[at])
    decisions[at] = json.dumps(decision | change(decision))
    path.write_text("\n".join([head, *decisions]) + "\n", encoding="utf-8")


@pytest.mark.sampled(4, "a rare rule that its judge overlooks")
@pytest.mark.parametrize("policy, kind, flags, change", [
    ("cfs", "place", 0x1000, {"vruntime": 10}),                 # a new task that does not wait for its turn
    ("bore-cfs", "place", 0x1000, {"vruntime": 1}),
    ("cfs", "leave", 0x1, {"vruntime": 10}),                    # a sleeper loses its place
    ("cfs", "place", 0x80, {"vruntime": 1 << 40}),              # the same when it is queued
    ("eevdf", "place", 0x200, {"vruntime": 1 << 40}),           # a sleeper that stayed queued wakes
    ("eevdf", "leave", 0x200, {"lag": -(1 << 40)}),             # or leaves: its debt grew
])
def test_rare_decisions_are_judged(sim, tmp_path, policy, kind, flags, change):
    path = tmp_path / "d.jsonl"
    sim(f"--sched {policy} --cpus 1 --time 400ms --decisions {path} hogs:n=2 bursts:n=3,run=1300us,sleep=1500us forks")
    changed_one(path, lambda d: d["kind"] == kind and d["flags"] & flags, lambda d: change)
    status, table, complaints = judged(path)
    assert status == 1 and len(complaints) == 1 and table[kind][2] == 1


@pytest.mark.nightly("a campaign that ends early")
def test_a_campaign_judges_run_after_run():
    done = subprocess.run([sys.executable, str(MODEL / "campaign.py"), "--sim", "20000", "--kernel", "0", "--jobs", "2",
                           "--policies", "cfs,eevdf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert {row[0] for row in rows} == {"simulator"} and all(wrong == "0" for *_, wrong, _ in rows)
    assert {(row[1], row[2]) for row in rows} >= {(policy, kind) for policy in ("cfs", "eevdf") for kind in KINDS}
    assert {row[1] for row in rows} >= {"balance", "placement", "load"}  # each judge had its say
    assert int(done.stdout.split()[-3].replace(",", "")) >= 20000


def next_of(decision):
    """Another candidate as the subject, one that is neither first by time nor by deadline."""
    other = max((row for row in decision["candidates"] if row["pid"] != decision["pid"]),
                key=lambda row: (row["deadline"] - decision["v"] + 2**63) % 2**64 + row["vruntime"] % 2**64)
    return {"pid": other["pid"], "subject_group": other["group"], "comm": other["comm"]}

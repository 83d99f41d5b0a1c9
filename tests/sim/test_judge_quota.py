# SPDX-License-Identifier: GPL-2.0-only
"""Decisions about quotas: each movement of runtime is right, a wrong one is seen, recording changes nothing."""

import json
import os
import subprocess

import pytest
from tests.sim.conftest import BUILD, ROOT, fairground_decisions
from tests.sim.test_decisions import conforms

from fairground.decisions import quota_decisions

from asking import ask

MIXED = ("--cpus 4 --time 600ms --set sched_cfs_bandwidth_slice_us=10000 group:name=a,quota=12ms,period=50ms,burst=6ms "
         "group:name=b,quota=40ms,period=20ms hogs:n=1,group=a bursts:n=3,run=1ms,sleep=3ms,group=a "
         "group:name=a/c,quota=3ms,period=30ms bursts:n=2,run=4ms,sleep=40ms,group=a/c "
         "bursts:n=3,run=9ms,sleep=2ms,group=b hogs:n=1 group:name=d,quota=30ms,period=100ms hogs:n=2,group=d "
         "bursts:n=6,run=500us-1ms,sleep=95ms,group=d")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A file of decisions in both forms."""
    paths = [tmp_path_factory.mktemp("quota") / name for name in ("d.json", "d.dat")]
    for path in paths:
        subprocess.run([os.path.join(BUILD, "schedsim"), *MIXED.split(), "--decisions", str(path)], check=True,
                       stdout=subprocess.DEVNULL)
    return paths


def test_both_forms_hold_the_same_records(recorded):
    one, two = (list(quota_decisions.read(str(path))) for path in recorded)
    for cpu in range(4):
        assert [d for d in one if d.cpu == cpu] == [d for d in two if d.cpu == cpu]
    assert len(one) > 300 and {d.group for d in one} == {1, 2, 3, 4}
    assert {d.kind for d in one} == set(quota_decisions.KINDS) - {"settle"}


def test_records_obey_the_schema(recorded):
    with open(os.path.join(ROOT, "docs/decisions.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    rows = [row for row in map(json.loads, recorded[0].read_text(encoding="utf-8").splitlines())
            if row.get("kind") in ("quota", "pool")]
    assert all(conforms(row, schema, schema["$defs"]) for row in rows)
    assert not conforms({**rows[0], "rule": "luck"}, schema, schema["$defs"])


def test_recording_changes_nothing(traced_alike):
    traced_alike(MIXED)


def test_they_are_printed_among_the_others(recorded):
    out = fairground_decisions(recorded[0], *"--policy quota --kind throttle --group 1 --limit 1 --full".split())
    assert "group 1 a: throttle, throttled, because the pool is empty." in out and "owes 0.000001" in out
    out = fairground_decisions(recorded[0], "--kind", "refill", "--group", "1", "--limit", "3", "--full")
    assert out.count("a period is over.") == 3 and "quota 12.000000, period 50.000000, burst 6.000000" in out
    table = {tuple(line.split()[:3]) for line in fairground_decisions(recorded[0], "--stats").splitlines()}
    assert {("quota", "fetch", "covered"), ("quota", "fetch", "rest_of_pool"), ("cfs", "pick", "only_one")} <= table


# --- the judge ------------------------------------------------------------------------------------------------------


def judged(path):
    """(exit status, {kind: (right, not judged, wrong)}, the complaints)."""
    answer = ask("judge_quota", path)
    assert not answer.err
    return answer.status, {kind: counts for (_, kind), counts in answer.table.items()}, answer.complaints


def test_every_movement_is_right(recorded):
    status, table, complaints = judged(recorded[0])
    assert status == 0 and not complaints
    assert set(table) == {*quota_decisions.KINDS, "charge"} - {"settle"}
    assert sum(right for right, _, _ in table.values()) > 1000 and all(row[1:] == (0, 0) for row in table.values())


@pytest.mark.parametrize("act, rule, change", [
    ("fetch", "covered", lambda d: d.update(got=d["got"] + 1)),
    ("fetch", "pool_empty", lambda d: d.update(asked=d["asked"] - 1)),
    ("throttle", "pool_empty", lambda d: d.update(debt=d["debt"] + 1)),
    ("pay", "covered", lambda d: d.update(cpu=(d["cpu"] + 1) % 4)),
    ("unthrottle", "paid", lambda d: d.update(got=d["got"] + 1)),
    ("give_back", "emptied", lambda d: d.update(remaining=0)),
    ("refill", "period_over", lambda d: d.update(kept=d["kept"] + 1)),
    ("refill", "period_over", lambda d: d.update(periods=2)),
    ("refill", "period_over", lambda d: d.update(nr_bursts=9)),
    ("refill", "period_over", lambda d: d.update(rule="nothing_used")),
    ("slack", "too_little", lambda d: d.update(rule="shared_out")),
])
def test_one_wrong_movement_among_many_is_seen(recorded, tmp_path, act, rule, change):
    """A single number of a single record is changed in a file of right ones."""
    lines = recorded[0].read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if f'"act": "{act}", "rule": "{rule}"' in line)
    d = json.loads(lines[number])
    change(d)
    lines[number] = json.dumps(d)
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, table, complaints = judged(path)
    assert status == 1 and table[act][2] >= 1 and f" {act} " in complaints[0]


@pytest.mark.parametrize("act", ["charge", "fetch", "pay"])
def test_a_movement_that_is_not_told_is_seen(recorded, tmp_path, act):
    lines = recorded[0].read_text(encoding="utf-8").splitlines()
    own = [n for n, line in enumerate(lines) if f'"act": "{act}", "rule": "covered"' in line or
           f'"kind": "{act}", "group": 1,' in line]
    del lines[own[len(own) // 2]]
    lines[-1] = json.dumps({"kind": "end", "decisions": len(lines) - 2})
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert judged(path)[0] == 1

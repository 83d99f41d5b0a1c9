# SPDX-License-Identifier: GPL-2.0-only
"""The judge of balancing (tests/model/judge_balance.py): every step of every pass is right, and a wrong one is seen."""

import collections
import json

import pytest

from tests.sim.conftest import ROOT

from fairground.decisions.balancing import read

from asking import ask

BURSTS = "hogs:n=3 bursts:n=9,run=1ms-3ms,sleep=1ms-9ms hogs:n=4,cpus=0-1"
WAVES = "bursts:n=10,run=1ms-3ms,sleep=1ms-9ms hogs:n=4,cpus=0-1"  # there is now too much to do, now too little
SERVERS = "forks:n=3 messages:n=2,workers=6 hogs:n=2,policy=idle bursts:n=4,run=5ms,sleep=10ms"
GROUPS = ("group:name=q,quota=20ms,period=40ms hogs:n=5,group=q bursts:n=3,run=4ms,sleep=4ms,group=q hogs:n=7 "
          "hogs:n=4,nice=10 hogs:n=3,cpus=1-2 groups:n=3,tasks=3")
REAL_TIME = "hogs:n=5,policy=rr,cpus=0-1 hogs:n=9 hogs:n=6,cpus=3"
PRESSURE = "periodic:n=3,period=8ms,run=5ms hogs:n=3 bursts:n=4,run=2ms,sleep=5ms"
UNEVEN = ("bursts:n=5,run=2ms-30ms,sleep=10ms-40ms bursts:n=6,run=1ms,sleep=3ms,cpus=0-5 "
          "bursts:n=3,run=20ms,sleep=30ms,util_max=400")
# Each scene names the rules, outcomes and fates that must be among the judged ones, and not by a single chance.
SCENES = {
    "one cache": ("--cpus 4 --sched cfs --set migration_cost_ns=2000000", WAVES,
                  "loads_differ loads_alike moved again cache_hot too_big"),
    "two caches": ("--topology llcs=2,cores=2 --sched bore-cfs", WAVES, "spreads waits_there worse_here running"),
    "threads": ("--topology cores=4,threads=2 --sched cfs", REAL_TIME, "no_other_tasks cpu_busy nothing_to_move again"),
    "groups": ("--topology llcs=2,cores=4 --sched eevdf", GROUPS, "throttled pinned cache_hot failed"),
    "nodes": ("--topology nodes=2,llcs=2,cores=2 --sched bore", BURSTS, "hindered_within only_task idler_here"),
    "large caches": ("--topology nodes=2,llcs=1,cores=8 --sched fdl", SERVERS, "nobody_waits another_balances skipped"),
    "all levels": ("--topology nodes=2,llcs=2,cores=2,threads=2 --sched eevdf", REAL_TIME, "pushed pinned again"),
    "pressure": ("--topology llcs=2,cores=4", PRESSURE, "misfit moved only_task"),
    # CPUs of two capacities: some tasks grow out of the slow ones, and the fast ones have room now and then.
    "uneven": ("--opp juno --governor schedutil --sched cfs", UNEVEN, "misfit pushed moved worse_here"),
    # The fast CPUs are full while one of them idles: idle slow ones take nothing.
    "full": ("--opp juno --sched cfs --seed 3 --time 3s",
             "bursts:n=3,run=20ms,sleep=7ms,cpus=0+2-3 bursts:n=4,run=11ms,sleep=17ms,cpus=2-5",
             "no_other_tasks moved failed"),
    "tuned": ("--topology llcs=2,cores=4 --features LB_MIN --set nr_migrate=3 --set migration_cost_ns=0",
              BURSTS + " hogs:n=8,nice=19,cpus=0-4 bursts:n=8,nice=19", "moved too_small only_task"),
}


def judged(path):
    """(exit status, right, wrong, complaints)"""
    answer = ask("judge_balance", path)
    assert not answer.err, answer.err
    right, _, wrong = answer.sums()
    return answer.status, right, wrong, answer.complaints


@pytest.mark.sampled(4, "a step of balancing on one machine")
@pytest.mark.parametrize("scene", SCENES)
def test_every_step_of_every_pass_is_right(sim, tmp_path, scene):
    options, load, wanted = SCENES[scene]
    path = tmp_path / "d.json"
    sim(f"--time 600ms {options} --decisions {path} {load}")
    status, right, wrong, complaints = judged(path)
    assert (status, wrong, complaints) == (0, 0, []) and right > 200
    seen = collections.Counter(n for p in read(str(path)) for n in {p.rule, p.outcome, *(t.fate for t in p.tasks)})
    assert not {name: seen[name] for name in wanted.split() if seen[name] < 2}


def first_row(name, wanted, change):
    """A change of the first row of the list @name of which @wanted is true."""
    def changed(p):
        at = next(i for i, row in enumerate(p[name]) if wanted(row))
        return {name: [*p[name][:at], {**p[name][at], **change(p[name][at])}, *p[name][at + 1:]]}
    return changed


def has(name, wanted):
    return lambda p: any(wanted(row) for row in p[name])


@pytest.mark.sampled(3, "a rule of balancing that its judge overlooks")
@pytest.mark.parametrize(("step", "which", "change"), [
    ("who", lambda p: p["rule"] == "another_balances" and any(r["flags"] for r in p["runqueues"]),
     lambda p: {"cpu": next(r["of_cpu"] for r in p["runqueues"] if r["flags"])}),
    ("parts", lambda p: p["parts"], first_row("parts", lambda _: True, lambda row: {"load": row["load"] + 1})),
    ("parts", has("parts", lambda row: row["state"] == "overloaded"),
     first_row("parts", lambda row: row["state"] == "overloaded", lambda _: {"state": "fully_busy"})),
    ("busiest", lambda p: p["outcome"] == "moved",
     lambda p: {"busiest": next(row["part"] for row in p["parts"] if row["part"] != p["busiest"])}),
    ("amount", lambda p: p["outcome"] == "failed" and p["imbalance"] > 1, lambda p: {"imbalance": p["imbalance"] - 1}),
    ("rule", lambda p: p["rule"] == "waits_there", lambda _: {"rule": "spreads"}),
    ("runqueue", lambda p: p["source"] >= 0 and len([r for r in p["runqueues"] if r["look"] == "searched"]) > 1,
     lambda p: {"source": next(r["of_cpu"] for r in p["runqueues"]
                               if r["look"] == "searched" and r["of_cpu"] != p["source"])}),
    ("tasks", has("tasks", lambda row: row["fate"] == "cache_hot"),
     first_row("tasks", lambda row: row["fate"] == "cache_hot", lambda _: {"fate": "too_big"})),
    ("tasks", has("tasks", lambda row: row["fate"] == "pinned"),
     first_row("tasks", lambda row: row["fate"] == "pinned", lambda row: {"flags": row["flags"] | 1})),
    ("outcome", lambda p: p["outcome"] == "again", lambda _: {"outcome": "failed"}),
    ("after", lambda p: p["outcome"] == "balanced", lambda p: {"interval_now_ms": 3 * p["interval_ms"]}),
    ("after", lambda p: p["outcome"] == "failed", lambda p: {"failed_now": p["failed"] + 2}),
    ("hint", lambda p: p["flags"] & 4, lambda p: {"flags": p["flags"] & ~4}),
    ("rows", lambda p: p["runqueues"] and p["runqueues"][0]["look"] == "asked",
     first_row("runqueues", lambda _: True, lambda row: {"load": row["load"] + 1})),
])
def test_one_wrong_step_is_seen(sim, tmp_path, step, which, change):
    """A single number of a single pass is changed in a file of right ones."""
    path = tmp_path / "d.json"
    sim(f"--topology nodes=2,llcs=2,cores=2 --time 300ms --decisions {path} {BURSTS}")
    lines = path.read_text(encoding="utf-8").splitlines()
    passes = {i: json.loads(line) for i, line in enumerate(lines) if '"kind": "balance"' in line}
    at = next(i for i, p in passes.items() if which(p))
    lines[at] = json.dumps({**passes[at], **change(passes[at])})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, right, wrong, complaints = judged(path)
    assert status == 1 and wrong and right > 300 and any(f", {step}: " in line for line in complaints)


def test_a_task_that_moves_without_having_been_there_is_seen(sim, tmp_path):
    """The pass names another task than the one that moved: where that one is, the decisions of its policy tell."""
    path = tmp_path / "d.json"
    sim(f"--cpus 4 --time 300ms --decisions {path} {BURSTS}")
    lines = path.read_text(encoding="utf-8").splitlines()
    at, moved = next((i, p) for i, p in enumerate(map(json.loads, lines)) if p.get("outcome") == "moved")
    row = next(row for row in moved["tasks"] if row["fate"] == "moved")
    row["pid"] = 1 + row["pid"] % 3  # another hog
    lines[at] = json.dumps(moved)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = ask("judge_balance", path)
    assert answer.status == 1 and answer.table["balance", "where"][2] == 1 and "not on CPU" in answer.complaints[0]

# SPDX-License-Identifier: GPL-2.0-only
"""Nested groups against fractions: what each leaf of a random tree should get; and old bugs of bandwidth."""

import random
from fractions import Fraction

import pytest

from tests.sim.conftest import MS, SEC, policies, policies_by_weight

SECONDS = 60
# Under bore-cfs a group has bursts like a task, and these change its weight (docs/cgroups.md), but not with 2.
EXACT = {"bore-cfs": "--set sched_bore=2"}


def random_tree(rng, path="", depth=1):
    """Paths of groups below @path -> shares; the deepest paths have five groups."""
    tree = {}
    for i in range(rng.randint(2, 3)):
        below = f"{path}/g{i}"
        tree[below] = rng.choice((256, 512, 1024, 1024, 2048, 3072))
        if depth < 5 and (i == 0 or rng.random() < 0.15):
            tree.update(random_tree(rng, below, depth + 1))
    return tree


def fractions(tree):
    """Every group's part of the machine: its part of its siblings' shares, times the parent's part. All groups want
    more."""
    parts = {"": Fraction(1)}
    for path in sorted(tree, key=lambda p: p.count("/")):
        parent = path.rpartition("/")[0]
        siblings = [shares for other, shares in tree.items() if other.rpartition("/")[0] == parent]
        parts[path] = parts[parent] * Fraction(tree[path], sum(siblings))
    return parts


def leaves(tree):
    return [path for path in tree if not any(other.startswith(path + "/") for other in tree)]


def words(tree, cpus, rng):
    """One or two tasks of each leaf on each CPU."""
    yield from (f"group:name={path},shares={shares}" for path, shares in tree.items())
    for path in leaves(tree):
        n = rng.randint(1, 2)
        yield from (f"hogs:n={n},group={path},cpus={cpu}" for cpu in range(cpus))


def policies_here():
    return [pytest.param(p, EXACT.get(p, ""), id=p) for p in policies_by_weight()]


@pytest.mark.parametrize("sched, more", policies_here())
@pytest.mark.parametrize("cpus", [1, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nested_groups_get_their_fractions(sim, sched, more, cpus, seed):
    rng = random.Random(seed)
    tree = random_tree(rng)
    assert max(path.count("/") for path in tree) == 5
    run = sim(f"--sched {sched} {more} --hz 1000 --cpus {cpus} --time {SECONDS}s", *words(tree, cpus, rng))
    got = {g["path"]: g for g in run.result()["groups"]}
    for path, part in fractions(tree).items():
        if not path:
            continue
        machine = SECONDS * SEC * cpus
        assert got[path]["cpu_ns"] / machine == pytest.approx(float(part), abs=0.005), (path, float(part))
        assert got[path]["ideal_ns"] / machine == pytest.approx(float(part), abs=0.0001), path


# --- regressions that other systems had ---------------------------------------------------------------------------


def test_slices_kept_by_many_cpus_do_not_throttle(sim):
    """A busy thread and 60 workers on 88 CPUs, together below the quota: once each CPU has its 1 ms, no task waits."""
    def after(seconds):
        run = sim(f"--cpus 88 --hz 1000 --time {seconds}s", "group:name=a,quota=20ms,period=100ms",
                  "bursts:n=1,run=13ms,sleep=87ms,group=a", "bursts:n=60,run=20us-60us,sleep=60ms-140ms,group=a")
        return run.result()["groups"][0]

    # 88 times 1 ms is more than four quotas. It comes from the unused rest of each period.
    early, late = after(10), after(40)
    assert 0.7 < late["cpu_ns"] / (0.2 * 40 * SEC) < 0.9 and late["nr_periods"] >= 399
    assert late["nr_throttled"] == early["nr_throttled"] <= 88 / (20 - 0.9 * 20)
    assert late["cpu_ns"] <= 400 * 20 * MS + 88 * MS


@pytest.mark.parametrize("sched", policies())
def test_who_is_unthrottled_is_in_the_tree_again(sim, sched):
    """Three levels of quotas, short periods, members that come and go: all make progress, with every invariant
    checked."""
    run = sim(f"--sched {sched} --check --cpus 4 --hz 1000 --time 3s",
              "group:name=trunk,quota=40ms,period=100ms", "group:name=trunk/branch,quota=30ms,period=60ms",
              "group:name=trunk/branch/x,quota=3ms,period=10ms", "group:name=trunk/branch/y,quota=2ms,period=10ms",
              "bursts:n=3,run=500us-6ms,sleep=1ms-9ms,group=trunk/branch/x",
              "bursts:n=3,run=500us-6ms,sleep=1ms-9ms,group=trunk/branch/y", "hogs:n=1,group=trunk/z")
    groups = {g["path"]: g for g in run.result()["groups"]}
    for path, limit in (("/trunk", 0.4), ("/trunk/branch", 0.5), ("/trunk/branch/x", 0.3), ("/trunk/branch/y", 0.2)):
        assert groups[path]["nr_throttled"] > 0 or path == "/trunk/branch"
        # Use beyond a period's quota is at most a tick for each CPU, and is repaid; each CPU may keep 1 ms.
        assert groups[path]["cpu_ns"] <= limit * 3 * SEC + 4 * 3 * MS, path
    assert sum(g["cpu_ns"] for p, g in groups.items() if p.count("/") == 1) > 0.38 * 3 * SEC
    for row in run.result()["tasks"]:
        assert row["cpu_ns"] > 50 * MS and row["wait_ns"]["max"] < 0.5 * SEC, row


def test_nobody_waits_who_did_not_use_the_quota(sim):
    """Two CPUs, 20 %, a burst of 5 ms about every 100 ms, so at most two bursts a period: no throttling, and no
    wait."""
    run = sim("--cpus 2 --hz 1000 --time 30s", "group:name=a,quota=20ms,period=100ms",
              "bursts:n=1,run=5ms,sleep=80ms-110ms,group=a", "bursts:n=3,run=1ms,sleep=9ms,cpus=0")
    a = run.result()["groups"][0]
    assert a["nr_throttled"] == 0 and a["throttled_ns"] == 0 and a["nr_periods"] >= 290
    assert next(t for t in run.result()["tasks"] if t["group"] == "/a")["wait_ns"]["max"] < 6 * MS

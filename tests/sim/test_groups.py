# SPDX-License-Identifier: GPL-2.0-only
"""Task groups in workloads: their CPU time beside what a fluid server would give, and which task is in which group."""

from random import Random

import pytest

from tests.sim.conftest import MS, SEC, policies_by_weight


def groups(run, sched=None):
    return {g["path"]: g for g in run.result(sched)["groups"]}


def part(run, path, sched=None):
    """The CPU time that the group got and its ideal, in percent of one CPU."""
    group = groups(run, sched)[path]
    return 100 * group["cpu_ns"] / run.data["duration_ns"], 100 * group["ideal_ns"] / run.data["duration_ns"]


def test_no_groups_no_mention(sim):
    run = sim("--time 10ms hogs")
    assert run.result()["groups"] == [] and "throttled" not in run.out
    assert run.row("hog")["group"] == "/"


@pytest.mark.parametrize("sched", policies_by_weight())
def test_shares_are_between_groups_and_not_their_members(sim, sched):
    run = sim(f"--sched {sched} --check --time 5s group:name=a,shares=3072 hogs:n=4,group=a hogs:n=1,group=/b")
    # Under bore-cfs a group has bursts and scores like a task: r times the burst are 1.26 * log2(r) levels of 1.25.
    share, tolerance = (75, 0.5) if sched != "bore-cfs" else (68.6, 2)
    assert part(run, "/a", sched) == (pytest.approx(share, abs=tolerance), pytest.approx(75, abs=0.1))
    assert part(run, "/b", sched) == (pytest.approx(100 - share, abs=tolerance), pytest.approx(25, abs=0.1))
    rows = {row["group"]: row for row in run.result()["tasks"]}
    assert rows["/a"]["cpu_ns"] == groups(run)["/a"]["cpu_ns"] and rows["/a"]["tasks"] == 4


def test_the_fluid_server_of_groups(sim):
    """On 3 CPUs: /one has one task and so gets one CPU, not the two that 4096 of 6144 are worth; /limited gets its
    quota."""
    run = sim("--cpus 3 --time 1s group:name=one,shares=4096 hogs:n=1,group=one "
              "group:name=limited,quota=30ms,period=100ms hogs:n=2,group=limited hogs:n=3,group=two/below hogs:n=2")
    # The rest for /two with 1024 and the root's two tasks with 1024 each: 1.7 CPUs.
    ideals = {path: part(run, path)[1] for path in groups(run)}
    assert ideals == pytest.approx({"/one": 100, "/limited": 30, "/two": 170 / 3, "/two/below": 170 / 3}, abs=0.01)
    rows = {row["group"]: row for row in run.result()["tasks"]}
    assert 100 * rows["/"]["ideal_ns"] / SEC == pytest.approx(2 * 170 / 3, abs=0.01)


def test_fluid_servers_of_groups_that_are_here_and_there(sim):
    """Each CPU is a server of its own, until a group has tasks on both."""
    apart = sim("--cpus 2 --time 1s hogs:n=3,cpus=0,group=a hogs:n=1,cpus=0 hogs:n=1,cpus=1,group=b")
    assert [part(apart, path)[1] for path in ("/a", "/b")] == pytest.approx([50, 100], abs=0.01)
    united = sim("--cpus 2 --time 1s hogs:n=3,cpus=0,group=a/x hogs:n=1,cpus=0 hogs:n=1,cpus=1,group=a/y")
    assert part(united, "/a")[1] == pytest.approx(100, abs=0.01)


@pytest.mark.parametrize("sched, throttled_ms", [("cfs", 378), ("eevdf", 236)])
def test_a_refill_takes_no_cpu_away(sim, sched, throttled_ms):
    """Eight hogs with 3 ms in 10 beside a hog. On Linux 6.1 group and hog have 47 turns in 600 ms, and the group is
    throttled for 378 ms: it comes at a tick, overruns, and pays. With a switch at each refill it would be 60 turns."""
    run = sim(f"--sched {sched} --check --hz 250 --time 600ms group:name=a,quota=3ms,period=10ms hogs:n=8,group=a "
              "hogs:n=1")
    assert [row["runs"] for row in run.result(sched)["tasks"]] == pytest.approx([47, 47], rel=0.05)
    assert groups(run, sched)["/a"]["throttled_ns"] == pytest.approx(throttled_ms * MS, rel=0.05)
    assert part(run, "/a", sched)[0] == pytest.approx(30, abs=0.5)


def test_quota_throttles_and_is_counted(sim):
    run = sim("--hz 1000 --time 10s group:name=a,quota=20ms,period=50ms hogs:n=1,group=a")
    a = groups(run)["/a"]
    assert a["cpu_ns"] == pytest.approx(4 * SEC, abs=20 * MS)
    assert a["nr_periods"] == pytest.approx(200, abs=1) and a["nr_throttled"] == pytest.approx(200, abs=1)
    assert a["throttled_ns"] == pytest.approx(6 * SEC, abs=50 * MS)
    assert a["ideal_ns"] == pytest.approx(4 * SEC, abs=10)


def test_deadlines_and_guarantees_are_told_to_the_scheduler(sim, rtapp):
    path = rtapp({"taskgroups": {"/a": {"deadline_rr": 5000, "deadline_wakeup": 1000, "guaranteed_shares": 512}},
                  "tasks": {"t": {"taskgroup": "/a", "run": 1000}}})
    run = sim("--check --time 1s", path, "hogs:n=1,group=b")
    assert groups(run)["/a"]["dynamic_shares"] in (512, 1024) and groups(run)["/b"]["dynamic_shares"] == 1024
    assert "put off by ms" in run.out and part(run, "/a")[1] == pytest.approx(50, abs=0.01)


def test_no_wait_of_fdl_is_beyond_the_bound(sim):
    """As chapter 8 derives it: without misses, the deadline and a turn of 80 us of each other group."""
    random, nr_late, nr_kept = Random(8), 0, 0
    for number in range(40):
        us, nr = random.choice((150, 300, 1000)), random.randint(2, 10)
        words = [f"group:name=g{i},deadline_rr={us}us hogs:n={random.randint(1, 2)},group=g{i}" for i in range(nr)]
        run = sim(f"--sched fdl --check --time 100ms {' '.join(words)} hogs:n={number % 3 or 1}")
        if not any(group["nr_misses"] for group in groups(run).values()):
            gaps_us = [group["max_gap_ns"] / 1000 for group in groups(run).values()]
            assert max(gaps_us) <= us + 80 * nr, words
            nr_late += max(gaps_us) > us
            nr_kept += 1
    assert nr_kept > 20 and nr_late > 2


def test_idle_group_yields_to_all(sim):
    run = sim("--time 5s group:name=a,idle=1 hogs:n=2,group=a hogs:n=1")
    assert part(run, "/a") == pytest.approx((0.3, 0.3), abs=0.2)


def test_tree_of_groups(sim):
    run = sim("--time 4s groups:n=2,depth=3,tasks=2,shares=100")
    paths = [f"/g{i}/g{j}/g{k}" for i in range(2) for j in range(2) for k in range(2)]
    assert {path for path in groups(run) if path.count("/") == 3} == set(paths)
    for path in paths:
        assert part(run, path) == pytest.approx((12.5, 12.5), abs=0.5)
        assert groups(run)[path]["shares"] == 100
    assert groups(run)["/g0"]["shares"] == 1024


def test_rtapp_moves_between_groups_phase_by_phase(sim, rtapp):
    """The first phase in /a, the second in no group, the third where the second put it: in no group."""
    phases = {"one": {"taskgroup": "/a", "run": 100_000}, "two": {"taskgroup": "", "run": 50_000},
              "three": {"run": 25_000}}
    path = rtapp({"tasks": {"t": {"loop": 1, "phases": phases}}})
    run = sim("--check --time 1s", path)
    assert groups(run)["/a"]["cpu_ns"] == groups(run)["/a"]["ideal_ns"] == 100 * MS
    assert run.row("t")["cpu_ns"] == 175 * MS


def test_rtapp_forks_into_the_parent_s_group(sim, rtapp):
    tasks = {"parent": {"taskgroup": "/a", "loop": 3, "fork": "child", "run": 1000},
             "child": {"instance": 0, "loop": 1, "run": 7000}}
    run = sim("--check --time 1s", rtapp({"tasks": tasks}))
    assert groups(run)["/a"]["cpu_ns"] == 24 * MS
    assert groups(run)["/a"]["ideal_ns"] == pytest.approx(24 * MS, abs=10)


def test_one_path_is_one_group_wherever_it_is_named(sim, rtapp):
    path = rtapp({"taskgroups": {"/a": {"shares": 3072}}, "tasks": {"t": {"taskgroup": "/a", "run": 1000}}})
    run = sim("--time 2s", path, "hogs:n=1,group=a", "hogs:n=1")
    assert part(run, "/a") == pytest.approx((75, 75), abs=0.5)


def test_costs_are_the_groups_too(sim):
    """With switch costs the group's account and the tasks' agree to the ns."""
    run = sim("--cpus 2 --time 2s --cost-switch 3us --cost-tick 5us groups:n=3,depth=2,run=300us-2ms,sleep=1ms")
    leaves = [g for path, g in groups(run).items() if path.count("/") == 2]
    assert sum(g["cpu_ns"] for g in leaves) == sum(t["cpu_ns"] for t in run.result()["tasks"]) > SEC


def test_a_decision_in_a_group_is_explained(sim):
    run = sim("--explain 500ms groups:n=2,tasks=3")
    groups, members = run.out.split("fair tasks after the charge")[1].split("members of the group")
    assert groups.count("group ") == 2 + 1 and "picked: group " in groups
    assert members.count("task-") == 3 + 1


@pytest.mark.parametrize("words, message", [
    ("hogs:group=a//b", "workload hogs: group=a//b is not a path"),
    ("group:shares=5", "workload group: name= is missing"),
    ("group:name=a,shares=1 hogs", "workload group: shares=1 is not a value"),
    ("group:name=a,quota=1 hogs", "workload group: quota=1 is not a value"),
    ("group:name=a,quota=10ms,burst=11ms hogs", "workload group: /a: the burst is above the quota"),
    ("group:name=a,deadline_rr=1s,deadline_wakeup=1001ms hogs", "workload group: deadline_wakeup=1001ms is not"),
    ("group:name=a,deadline_rr=1ms,deadline_wakeup=2ms hogs", "workload group: /a: deadline_wakeup is above"),
    ("group:name=a,deadline_rr=49us hogs", "at 0 ns: the scheduler refuses the settings of a group"),
    ("group:name=a,idle=1,guaranteed_shares=5 hogs", "workload group: /a: an idle group has no shares"),
    ("group:name=a,burst=11ms hogs", "workload group: /a: a burst without a quota"),
    ("group:name=a,colour=3 hogs", "workload group has no parameter 'colour'"),
    ("groups:group=a", "workload groups: its tasks are in groups of their own"),
    ("groups:n=255,depth=2", "workload groups: more than 4096 groups of tasks"),
])
def test_mistakes(fails, words, message):
    assert fails(words).startswith(message)

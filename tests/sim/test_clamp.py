# SPDX-License-Identifier: GPL-2.0-only
"""Utilisation clamps of tasks and groups in workloads: whose they are, and the points that they lead to."""

import json

import pytest

from tests.sim.conftest import policies
from fairground.trace.tracefile import TraceFile
from tests.sim.test_energy import fields

# The last utilisation at which f = 1.25 * utilisation * 850 / 1024 is enough, of juno-a53.
LIMITS = {450: 433, 575: 554, 700: 674, 775: 746, 850: 1024}


def point(sim, *words, governor="schedutil", sched="cfs"):
    """Where the domain is in the end, of 200 ms."""
    run = sim(f"--opp juno-a53 --governor {governor} --sched {sched} --time 200ms --check", *words)
    return run.result()["frequencies"][0]["mhz"]


@pytest.mark.parametrize("governor", ["sched", "schedutil"])
@pytest.mark.parametrize("mhz", LIMITS)
def test_a_hog_runs_at_the_point_of_its_maximum(sim, governor, mhz):
    assert point(sim, f"hogs:n=4,util_max={LIMITS[mhz]}", governor=governor) == mhz
    if mhz < 850:
        assert point(sim, f"hogs:n=4,util_max={LIMITS[mhz] + 2}", governor=governor) > mhz


@pytest.mark.parametrize("sched", policies())
def test_the_greatest_of_a_cpu_holds(sim, sched):
    """Under every policy: one without a maximum undoes that of the others on its CPU, and its domain's."""
    slow = "hogs:n=4,util_max=433"
    assert point(sim, slow, sched=sched) == 450
    assert point(sim, slow, "hogs:n=1,util_max=554", sched=sched) == 575
    assert point(sim, slow, "hogs:n=1,cpus=2", sched=sched) == 850


def test_groups_limit_their_members(sim):
    words = "hogs:n=4,group=a/b"
    assert point(sim, "group:name=a/b,util_max=433", words) == 450
    assert point(sim, "group:name=a,util_max=554", "group:name=a/b,util_max=600", words) == 575
    assert point(sim, "group:name=a,util_max=554", "group:name=a/b,util_max=433", words) == 450


def test_a_group_has_no_minimum_of_which_its_parent_has_none(sim):
    def transitions(*groups):
        run = sim("--opp juno-a53 --governor schedutil --time 1s --check", *groups,
                  "bursts:n=1,run=1ms,sleep=9ms,group=a/b")
        return run.result()["frequencies"][0]["transitions"]
    assert transitions("group:name=a/b,util_min=700") < 10
    assert transitions("group:name=a,util_min=800", "group:name=a/b,util_min=700") > 100


def test_a_minimum_lasts_while_its_task_can_run(sim, tmp_path):
    """A short task with a minimum beside a hog with a maximum: fast from its wakeup on, slow again after its sleep."""
    path = tmp_path / "run.dat"
    sim("--opp juno-a53 --governor schedutil --time 1s --check --set rate_limit_us=0 --trace", str(path),
        "hogs:n=1,cpus=1,util_max=433", "bursts:n=1,run=2ms,sleep=28ms,cpus=1,util_min=700").result()
    runnable, mhz, checked = False, 850, 0
    trace = list(TraceFile(path).events({"cpu_frequency", "sched_switch", "sched_wakeup", "sched_wakeup_new"}))
    for event, then in zip(trace, trace[1:]):
        values, name = fields(event), event.format.name
        if name == "cpu_frequency" and values["cpu_id"] == 1:
            mhz = values["state"] // 1000
        elif name.startswith("sched_wakeup") and values["comm"].startswith("burst"):
            runnable = True
        elif name == "sched_switch" and values["prev_comm"].startswith("burst") and values["prev_state"]:
            runnable = False
        # After the last event of a moment, once the first averages are over.
        if then.time > event.time + 1000 and event.time > 300_000_000:
            assert (mhz >= 775) == runnable, event.time
            checked += runnable
    assert checked > 20


def test_rt_app_files_have_them(sim, tmp_path):
    """In tasks and in phases; later phases keep them."""
    path = tmp_path / "run.json"

    def end(task):
        tasks = {"t": {"instance": 4, **task}}
        path.write_text(json.dumps({"global": {"duration": 1}, "tasks": tasks}), encoding="utf-8")
        return point(sim, str(path))
    assert end({"run": 2_000_000, "util_max": 433}) == 450
    phases = {"a": {"loop": 1, "run": 1000, "util_max": 433}, "b": {"loop": 1, "run": 2_000_000}}
    assert end({"phases": phases}) == 450
    phases["b"]["util_max"] = 554
    assert end({"phases": phases}) == 575


@pytest.mark.parametrize("value", ["1025", "-1", "much", ""])
@pytest.mark.parametrize("key", ["util_min", "util_max"])
def test_bad_clamps(fails, key, value):
    assert key in fails(f"--opp juno hogs:n=1,{key}={value}")
    assert key in fails(f"--opp juno group:name=a,{key}={value} hogs:group=a")
    assert "sched_util_clamp_min" in fails(f"--opp juno --set sched_util_clamp_min={value} hogs")


def test_a_minimum_above_the_maximum_is_refused(sim_status):
    status, text = sim_status("--opp juno hogs:n=1,util_min=500,util_max=400")
    assert status and "clamps" in text


def test_clamps_do_nothing_at_one_speed(sim):
    words = "hogs:n=2 bursts:n=2,run=1ms,sleep=4ms,group=a"
    clamped = "hogs:n=2,util_max=100 group:name=a,util_min=800 bursts:n=2,run=1ms,sleep=4ms,group=a"
    assert sim(clamped).result()["tasks"] == sim(words).result()["tasks"]

# SPDX-License-Identifier: GPL-2.0-only
"""FDL in the simulator: without deadlines it is CFS; with deadlines groups are on time and get no more than their
shares."""

import subprocess

import pytest

from tests.sim.conftest import BUILD, MS, ROOT, SEC

CROWD = ("--cpus 8 --time 500ms pipes:groups=2,group=a/b bursts:n=6,run=100us-3ms,sleep=1ms-5ms,group=a "
         "forks:n=2 hogs:n=3,nice=2,group=c hogs:n=2 yielders:n=2,group=a/b "
         "group:name=c,quota=20ms,period=50ms").split()
# CFS with the settings of the published numbers.
SLICES = "--set latency_ns=24000000 --set min_granularity_ns=3000000 --features NO_START_DEBIT"


def events(sched, directory, words):
    """Every event of a run under @sched."""
    name = directory / f"{sched}.dat"
    subprocess.run([f"{BUILD}/schedsim", "--sched", sched, "--trace", name, *words], cwd=ROOT, capture_output=True,
                   check=True)
    return name.read_bytes()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_without_deadlines_every_event_is_that_of_cfs(tmp_path, seed):
    words = ["--seed", seed, *CROWD]
    cfs, fdl = events("cfs", tmp_path, words), events("fdl", tmp_path, words)
    assert len(cfs) > 200_000 and cfs.replace(b"cfs", b"...") == fdl.replace(b"fdl", b"...")


def groups(run):
    return {g["path"]: g for g in run.result()["groups"]}


@pytest.mark.parametrize("setup, share", [
    # G1, G3, G8: sigma * s of the container, and what is left.
    ("group:name=a,deadline_rr=2ms hogs:n=1,group=a hogs:n=1", 52.67),
    ("group:name=a,deadline_rr=2ms,shares=3072 hogs:n=1,group=a hogs:n=3", 52.67),
    ("group:name=a,deadline_rr=200us,shares=64 hogs:n=1,group=a hogs:n=1", 11.03),
])
def test_published_shares(sim, setup, share):
    run = sim(f"--sched fdl --check --time 5s {SLICES} {setup}")
    assert 100 * groups(run)["/a"]["cpu_ns"] / (5 * SEC) == pytest.approx(share, abs=1)


def test_wakeups_are_on_time_in_a_crowd(sim):
    """Eight tasks that want 5 % of four CPUs beside forty others: at worst, one of the eight waits for another."""
    words = ("--cpus 4 --time 5s group:name=a,shares=4096,deadline_rr=200us,deadline_wakeup=100us "
             "bursts:n=8,run=100us,sleep=4ms,group=a hogs:n=8 bursts:n=32,run=200us-2ms,sleep=100us-300us,nice=1")
    cfs, fdl = (sim(f"--sched {sched} {words}").row("burst", 0)["wakeup_ns"]["max"] for sched in ("cfs", "fdl"))
    assert fdl <= 0.2 * MS and cfs > 5 * fdl, (cfs, fdl)


def test_a_guarantee_is_kept_beside_a_heavy_group(sim):
    run = sim("--sched fdl --check --cpus 2 --hz 1000 --time 8s group:name=a,shares=100,guaranteed_shares=1024 "
              "hogs:n=2,group=a group:name=b,shares=3072 hogs:n=4,group=b")
    # On two CPUs the first one or two seconds are above the bound.
    assert 100 * groups(run)["/a"]["cpu_ns"] / (8 * SEC) == pytest.approx(105, abs=8)


@pytest.mark.parametrize("sleep", ["995us", "3995us"])
def test_a_guarantee_is_kept_by_a_group_whose_turns_end_before_ticks(sim, sleep):
    """At each tick a third task runs, so that no tick ever finds the group with the guarantee."""
    run = sim("--sched fdl --check --time 8s group:name=a,deadline_rr=1ms,guaranteed_shares=512 hogs:n=2,group=a "
              f"group:name=b,shares=3072 hogs:n=2,group=b bursts:n=1,run=5us,sleep={sleep},nice=-20")
    assert 100 * groups(run)["/a"]["cpu_ns"] / (8 * SEC) == pytest.approx(50, abs=4)

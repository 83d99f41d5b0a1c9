# SPDX-License-Identifier: GPL-2.0-only
"""The shared wake queue in the simulator: the cost of its lock, and the waiting that it saves."""

import pytest

from tests.sim.conftest import policies

POOL = "--time 500ms --topology 1x1x18x2 jobs:n=45,parts=10,run=500us-5ms,io=200us-1ms,work=1ms"
PINGPONG = "--time 50ms --topology 1x1x18x2 --cost-shard 200ns --cost-ipi 1us pingpong:n=72"


@pytest.mark.parametrize("sched", policies())
def test_a_pool_of_jobs_wastes_less(sim, sched):
    """On one cache: a tenth of the waste with all waiting tasks linked; with only woken tasks linked, less than
    without."""
    off, woken, all_linked = (sim(f"--sched {sched} {features} {POOL}").result()["waste_ns"]
                              for features in ("", "--features SWQUEUE", "--features SHARED_RUNQ"))
    assert 0 < woken < off
    assert all_linked < 0.2 * off


def test_waiting_for_one_lock_costs_more_than_for_several(sim):
    off, one, several = (sim(f"{features} {PINGPONG}").result() for features in (
        "", "--features SHARED_RUNQ --set shared_runq_shard_size=4096", "--features SHARED_RUNQ"))
    assert off["shard_locks"] == off["shard_wait_ns"] == 0
    assert one["shard_waits"] / one["shard_locks"] > 2 * several["shard_waits"] / several["shard_locks"]
    assert one["wakeups"] < 0.8 * several["wakeups"] and several["wakeups"] <= off["wakeups"]


def test_the_lock_is_held_by_one_at_a_time(sim):
    """However many CPUs want the lock, it can be held only for the time that passes."""
    result = sim(f"--features SHARED_RUNQ --set shared_runq_shard_size=4096 {PINGPONG}").result()
    assert result["shard_locks"] * 200 <= 50_000_000 * 1.01


def test_stealing_between_caches_and_nodes(sim):
    """Every invariant after every event, with stealing between four caches on two nodes."""
    run = sim("--check --topology nodes=2,llcs=2,cores=2,threads=2 --features SHARED_RUNQ --features SHARED_RUNQ_STEAL "
              "--features SIS_NODE --set shared_runq_shard_size=2 --time 60ms "
              "jobs:n=24,run=1ms,parts=3,io=300us hogs:n=5")
    assert run.row("job")["tasks"] > 100

# SPDX-License-Identifier: GPL-2.0-only
"""The built-in workloads do what their names say."""

import pytest

from tests.sim.conftest import MS, SEC, policies


@pytest.mark.parametrize("sched", policies())
@pytest.mark.parametrize("workload", ["hogs", "bursts:n=3", "yielders:n=3", "periodic:n=2", "forks:n=2", "requests",
                                      "messages:workers=4,run=2ms", "pipes:pairs=2", "jobs:run=2ms,parts=3,io=1ms",
                                      "messages:workers=4,run=2ms,sleep=1ms-2ms", "pingpong:n=3",
                                      "hotplug:cpu=1,times=3,after=9ms,off=9ms"])
def test_runs_with_every_invariant_checked(sim, sched, workload):
    run = sim(f"--sched {sched} --check --cpus 3 --time 100ms {workload} hogs:n=2,nice=3")
    assert all(t["tasks"] and t["runs"] for t in run.result()["tasks"])


def test_periodic_real_time_tasks_never_wait(sim):
    run = sim("--time 1s periodic:period=10ms,run=2ms hogs:n=4")
    job = run.row("periodic")
    assert (job["policy"], job["rt_priority"]) == ("fifo", 10)
    assert job["runs"] == 100 and job["wait_ns"]["max"] == 0
    assert job["cpu_ns"] == 200 * MS


def test_real_time_is_throttled(sim):
    """950 ms of each second is what the defaults leave to a FIFO task that never sleeps."""
    run = sim("--time 10s hogs:n=1,policy=fifo hogs:n=1")
    fifo = next(t for t in run.result()["tasks"] if t["policy"] == "fifo")
    assert fifo["cpu_ns"] == pytest.approx(9.5 * SEC, rel=0.005)


def test_round_robin_takes_turns_of_100_ms(sim):
    run = sim("--time 3s --set sched_rt_runtime_us=-1 hogs:n=2,policy=rr")
    assert run.row("hog")["wait_ns"]["p50"] == 100 * MS
    assert run.result()["switches"] == 30


def test_bursts_alone_never_wait(sim):
    run = sim("--time 1100ms bursts:run=1ms,sleep=10ms")
    burst = run.row("burst")
    assert burst["runs"] == 100 and burst["wait_ns"]["max"] == 0 and burst["cpu_ns"] == 100 * MS


def test_ranges_are_spread_evenly(sim):
    run = sim("--time 10s bursts:run=1ms-3ms,sleep=4ms")
    burst = run.row("burst")
    # Mean run 2 ms, sleep 4 ms; the standard error of 1,667 runs is 0.7 %.
    assert burst["cpu_ns"] / burst["runs"] == pytest.approx(2 * MS, rel=0.03)
    assert burst["cpu_ns"] == pytest.approx(10 * SEC / 3, rel=0.03)


def test_forked_children_end(sim):
    run = sim("--cpus 2 --time 1s forks:n=1,work=100us,sleep=900us,run=300us")
    child = run.row("child")
    # The scheduler may let a child go before its parent, so a round takes 1 ms or a little more.
    assert 700 <= child["tasks"] <= 1000 and child["ended"] >= child["tasks"] - 2
    assert child["cpu_ns"] == pytest.approx(300_000 * child["tasks"], rel=0.01)


def test_a_cpu_leaves_and_comes_back(sim):
    """A CPU that is out of service for 300 of 1000 ms does nothing, no task waits there meanwhile, and then it works
    again."""
    run = sim("--cpus 4 --time 1s hotplug:cpu=3,times=3 hogs:n=8")
    assert run.result()["idle_ns"] == pytest.approx(300 * MS, abs=20 * MS)
    assert run.row("hog")["wait_ns"]["max"] < 100 * MS and run.row("hotplug")["ended"] == 1


def test_requests_queue_for_workers(sim):
    """One worker of 1 ms cannot serve 2,000 requests a second: it never sleeps; four on four CPUs serve them all."""
    one = sim("--cpus 4 --time 1s requests:workers=1,every=500us,run=1ms")
    four = sim("--cpus 4 --time 1s requests:workers=4,every=500us,run=1ms")
    assert one.share("worker") == pytest.approx(100, abs=0.1)
    assert four.share("worker") == pytest.approx(200, abs=1)


def test_messengers_that_sleep_wake_all_at_once(sim):
    """Rounds of 10 ms: the workers think for 3, and then the messenger works for 2 and sleeps for 5."""
    run = sim("--cpus 4 --time 1s messages:n=1,workers=3,run=3ms,work=2ms,sleep=5ms")
    worker, message = run.row("worker"), run.row("message")
    assert worker["runs"] == 300 and worker["cpu_ns"] == 900 * MS
    assert message["cpu_ns"] == 200 * MS and message["wakeups"] == 199  # the last sleep goes on


def test_pipes_pass_as_many_messages_as_are_read(sim):
    """With one place in the pipe a sender and its receiver alternate: as much work for each."""
    run = sim("--time 1s pipes:pairs=1,capacity=1,write=10us,read=10us")
    assert run.share("sender") == pytest.approx(50, abs=0.1)
    assert run.share("receiver") == pytest.approx(50, abs=0.1)


def test_yielders_yield(sim):
    run = sim("--time 100ms yielders:n=2,run=100us")
    assert run.row("yield")["runs"] >= 900


def test_idle_cpus_have_no_ticks(sim):
    """One task on 64 CPUs: its CPU ticks 250 times a second; each other CPU stops after at most one tick."""
    run = sim("--cpus 64 --time 2s hogs:n=1")
    assert 499 <= run.result()["ticks"] <= 499 + 64

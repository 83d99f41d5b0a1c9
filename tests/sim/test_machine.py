# SPDX-License-Identifier: GPL-2.0-only
"""Topologies, costs, and machines of every size."""

import pytest

from tests.sim.conftest import MS, SEC, policies


@pytest.mark.parametrize("words, text", [
    ("--cpus 3", "3 CPUs, 1 node, 1 package, 1 llc, 3 cores"),
    ("--topology 4x2", "8 CPUs, 1 node, 1 package, 1 llc, 4 cores"),
    ("--topology 2x4x2", "16 CPUs, 1 node, 1 package, 2 llcs, 8 cores"),
    ("--topology 2x2x4x2", "32 CPUs, 2 nodes, 2 packages, 4 llcs, 16 cores"),
    ("--topology nodes=2,llcs=2,cores=4,threads=1", "16 CPUs, 2 nodes, 2 packages, 4 llcs, 16 cores"),
    ("--topology llcs=2,cores=4+3", "7 CPUs, 1 node, 1 package, 2 llcs, 7 cores"),
    ("--topology 2x4 --cpus 8", "8 CPUs, 1 node, 1 package, 1 llc, 2 cores"),
    ("--cpus 4 --isolcpus 0,2-3", "4 CPUs, 1 node, 1 package, 1 llc, 4 cores, isolated 0,2-3"),
])
def test_topologies_are_described(sim, words, text):
    run = sim(f"{words} --time 1ms hogs")
    assert run.data["topology"] == text and text in run.out.splitlines()[0]


@pytest.mark.parametrize("words, message", [
    ("--topology 2x4 --cpus 9", "does not add up: it has 8 CPUs, --cpus says 9"),
    ("--topology llcs=3,cores=4+3", "does not add up: 2 numbers of cores for 3 parents"),
    ("--topology 0x4", "'0' is not a number of"),
    ("--topology 2xx4", "'' is not a number of"),
    ("--topology 1x2x3x4x5", "more than 4 factors"),
    ("--topology 65x64", "more than 4096 CPUs"),
    ("--topology 4097x1", "is not a number of"),
    ("--topology caches=3", "no level 'caches'"),
    ("--topology cores=2,cores=3", "cores twice"),
    ("--topology cores=2,threads", "'threads' is not LEVEL=NUMBER"),
    ("--cpus 0", "from 1 to 4096"),
    ("--cpus 4097", "from 1 to 4096"),
    ("--cpus -1", "from 1 to 4096"),
    ("--cpus four", "from 1 to 4096"),
    ("--cpus 4 --isolcpus 0-3", "one CPU must be left"),
    ("--cpus 4 --isolcpus 4", "must be a list of CPUs below 4, as 2-3,5"),
    ("--cpus 4 --isolcpus 1-", "must be a list of CPUs below 4, as 2-3,5"),
])
def test_bad_machines(fails, words, message):
    assert message in fails(f"{words} hogs")


@pytest.mark.parametrize("sched", policies())
def test_isolated_cpus(sim, sched):
    """Six hogs share two CPUs. Two that are allowed two isolated CPUs share the first, for nobody balances there."""
    run = sim(f"--sched {sched} --cpus 4 --isolcpus 2-3 --time 2s hogs:n=6")
    assert abs(run.share("hog") - 200) < 1 and abs(run.row("hog")["ideal_ns"] - 4 * SEC) < 100
    crowded = sim(f"--sched {sched} --cpus 4 --isolcpus 2-3 --time 2s hogs:n=2,cpus=2+3")
    assert abs(crowded.share("hog") - 100) < 1


@pytest.mark.parametrize("sched", policies())
def test_4096_cpus(sim, sched):
    """Twice as many hogs as CPUs: each CPU is always busy, each task gets half of one."""
    run = sim(f"--sched {sched} --topology 4x16x32x2 --time 100ms hogs:n=4096 bursts:n=64")
    assert run.data["cpus"] == 4096
    assert run.share("hog") > 0.98 * 409600
    assert run.row("hog")["tasks"] == 4096


def test_spreads_over_caches_first(sim):
    """Two tasks on two LLCs of two cores: one each, and neither moves."""
    run = sim("--topology 2x2x1 --time 1s hogs:n=2")
    assert run.share("hog") == 200 and run.row("hog")["migrations"] <= 2


def test_switch_cost_is_paid_for_each_switch(sim):
    run = sim("--time 1s --cost-switch 10us hogs:n=2")
    result = run.result()
    assert result["overhead_ns"] == 10_000 * result["switches"]


def test_tick_cost(sim):
    run = sim("--time 1s --cost-tick 5us hogs:n=1")
    assert run.result()["overhead_ns"] == 249 * 5000  # the first after 4 ms, none at 1 s: that is the end


def test_wake_and_timer_costs(sim):
    """Each round of a burst alone: the timer's interrupt and the wakeup in it."""
    run = sim("--time 110ms --cost-timer 3us --cost-wake 2us bursts:run=1ms,sleep=10ms")
    burst = run.row("burst")
    assert run.result()["overhead_ns"] == burst["wakeups"] * 5000
    # The task gets the CPU after the overhead.
    assert burst["wait_ns"]["max"] == 5000


def test_an_ipi_delays_a_remote_wakeup(sim):
    """A source on CPU 0 wakes a worker on CPU 1: CPU 1 notices after the delay."""
    quick = sim("--cpus 2 --time 1s --cost-ipi 0 requests:workers=1,run=100us,every=1ms")
    slow = sim("--cpus 2 --time 1s --cost-ipi 50us requests:workers=1,run=100us,every=1ms")
    assert quick.row("worker")["wakeup_ns"]["p50"] == 0
    assert slow.row("worker")["wakeup_ns"]["p50"] == 50_000


def test_migration_costs_by_distance(sim):
    """Three hogs on two CPUs move for ever. A shared cache costs 10 us, separate ones 100 us."""
    near = sim("--topology 2x1 --time 1s --cost-migration 10us --cost-cold 100us hogs:n=3")
    far = sim("--topology 2x1x1 --time 1s --cost-migration 10us --cost-cold 100us hogs:n=3")
    for run, cost in ((near, 10_000), (far, 100_000)):
        moves = run.row("hog")["migrations"]
        assert moves >= 5
        # A task that was started elsewhere, or came back before it ran, does not pay.
        assert 0 < run.result()["overhead_ns"] <= cost * moves
        assert run.result()["overhead_ns"] % cost == 0


def test_costs_are_always_printed(sim):
    run = sim("--time 1ms hogs")
    assert "costs in ns: switch 0, tick 0, timer 0, wake 0, ipi 0, migration 0, cold 0, mem 0 per KiB" in run.out
    run = sim("--time 1ms --cost-ipi 1.5us hogs")
    assert "ipi 1500" in run.out and run.data["costs_ns"]["ipi"] == 1500


def test_published_switches_of_two_hogs_per_cpu(sim):
    """Two hogs on each of two CPUs of a 12-CPU machine under CFS, 10 s at 250 Hz, measured on Linux 6.1: 1255 switches,
    delays of 15.9 ms. A slice of 12 ms ends at the tick after 16 ms, if switches take any time at all."""
    run = sim("--sched cfs --cpus 12 --time 10s --cost-tick 1us --cost-switch 1us hogs:n=2,cpus=2 hogs:n=2,cpus=3")
    result = run.result()
    assert result["switches"] == pytest.approx(1255, rel=0.05)
    for row in result["tasks"]:
        assert row["wait_ns"]["mean"] == pytest.approx(15.907 * MS, rel=0.05)


def test_many_tasks(sim):
    run = sim("--time 20ms hogs:n=100000")
    assert run.row("hog")["tasks"] == 100000 and run.share("hog") == 100


@pytest.mark.nightly("a simulator that a million tasks stop")
def test_a_million_tasks(sim):
    run = sim("--cpus 4 --time 5ms hogs:n=1000000")
    assert run.row("hog")["tasks"] == 1000000 and run.share("hog") == 400


def test_too_many_tasks(fails):
    assert "at most 1000000 fit" in fails("hogs:n=600000 hogs:n=600000")
    assert "n=1000001" in fails("hogs:n=1000001")


def test_hz_sets_the_tick(sim):
    assert [sim(f"--hz {hz} --time 1s hogs:n=1").result()["ticks"] for hz in (100, 250, 1000)] == [99, 249, 999]


def test_an_hour_of_idleness_takes_no_time(sim):
    run = sim("--time 3600s bursts:run=1ms,sleep=100s")
    assert run.result()["idle_ns"] == 3600 * SEC - run.row("burst")["cpu_ns"]
    assert run.result()["ticks"] < 40

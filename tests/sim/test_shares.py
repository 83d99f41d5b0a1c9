# SPDX-License-Identifier: GPL-2.0-only
"""CPU time: what tasks get under every policy, what a fluid server would give them; no time is lost."""

import math
import re

import pytest

from tests.sim.conftest import MS, SEC, policies, policies_by_weight

WEIGHT = {-5: 3121, 0: 1024, 5: 335, 10: 110}  # Linux's table: a step of nice is a factor of 1.25


@pytest.mark.parametrize("sched", policies_by_weight())
def test_hogs_on_one_cpu_share_by_weight(sim, sched):
    run = sim(f"--sched {sched} --time 10s hogs:n=1 hogs:n=1,nice=5 hogs:n=1,nice=10")
    total = sum(WEIGHT[nice] for nice in (0, 5, 10))
    for nice in (0, 5, 10):
        ideal = 100 * WEIGHT[nice] / total
        assert run.row("hog", nice)["ideal_ns"] / 10 / SEC * 100 == pytest.approx(ideal, abs=0.01)
        # A turn may be a tick too long or too short, and a tick is 4 ms: 16 ms of 10 s. BORE gives hogs other weights.
        tolerance = 0.16 if not sched.startswith("bore") else 15
        assert run.share("hog", nice) == pytest.approx(ideal, abs=tolerance)


@pytest.mark.parametrize(("workload", "weights"), [
    ("hogs:n=1 hogs:n=1,nice=5", (1024, 335)),
    ("hogs:n=1 hogs:n=1,nice=19", (1024, 15)),
    ("hogs:n=1,nice=19 hogs:n=1,policy=idle", (15, 3)),
    ("group:name=a,idle=1 hogs:n=1,nice=19 hogs:n=1,group=a", (15, 3)),
])
def test_bore_on_cfs_bends_weights(sim, workload, weights):
    """Hogs that never sleep have bursts as long as their CPU times x and y. Every doubling is 1.25 scores, and a score
    is a factor of 1.25 of virtual time, so x^0.402 / y^0.402 in all. Equal virtual times x * x^0.402 / w(x) mean
    x / y = (w(x) / w(y)) ^ (1 / 1.402): nice 19 gets 76 % beside an idle group, where weights say 83.
    """
    run = sim(f"--sched bore-cfs --time 60s {workload}")
    heavy, light = (task["cpu_ns"] for task in run.result()["tasks"])
    power = 1 / (1 + 1.25 * math.log2(1.25))
    assert heavy / light == pytest.approx((weights[0] / weights[1]) ** power, rel=0.02)


@pytest.mark.parametrize("sched", ["cfs", "eevdf", "fdl"])
@pytest.mark.parametrize("crowd", ["hogs:n=300", "forks:n=8,work=50us,sleep=1ms,run=20ms"])
def test_among_hundreds_a_sleeper_waits_for_one_turn_of_all(sim, sched, crowd):
    """A turn is a tick of 4 ms. EEVDF serves a request before its queue's virtual time is a request ahead: once each of
    the others had one. A credit for sleeping, as CFS gives, is 3 ms, less than one round takes.
    """
    run = sim(f"--sched {sched} --time 8s {crowd} bursts:n=1,run=200us,sleep=20ms")
    most = int(re.search(r"(\d+) tasks at most", run.out).group(1))
    assert most > 300 and 200 * MS < run.row("burst")["wait_ns"]["max"] <= most * 4 * MS


@pytest.mark.parametrize("sched", policies())
def test_no_time_is_lost(sim, sched):
    """The time of all tasks and the idle time add up to the machine's time, to the nanosecond."""
    run = sim(f"--sched {sched} --cpus 4 --time 2s --cost-switch 3us --cost-tick 7us --cost-migration 20us "
              "messages:workers=8,run=3ms forks:n=2 bursts:n=3 periodic:n=2 yielders")
    result = run.result()
    assert sum(t["cpu_ns"] for t in result["tasks"]) + result["idle_ns"] == 4 * 2 * SEC
    assert 0 < result["overhead_ns"] < 2 * SEC


def test_the_scheduler_counts_the_same_time_as_the_host(sim):
    """--check runs sched_check() after every event: its sums, and ours, of a busy machine."""
    run = sim("--check --cpus 2 --time 300ms pipes:groups=2 forks:n=2 bursts:n=4 hogs:n=1,nice=3")
    assert run.row("sender")["runs"] > 1000


def test_a_fluid_task_has_at_most_one_cpu(sim):
    """Weight 88761 of 91833 would be 1.9 CPUs: it gets 1; the others share the second."""
    run = sim("--cpus 2 --time 3s hogs:n=1,nice=-20 hogs:n=3")
    assert run.row("hog", -20)["ideal_ns"] == 3 * SEC
    assert run.row("hog", 0)["ideal_ns"] == pytest.approx(3 * SEC, abs=10)


def test_fluid_servers_follow_affinities(sim):
    """Three hogs on CPU 0 and one on CPU 1 do not share."""
    run = sim("--cpus 2 --time 3s hogs:n=3,cpus=0 hogs:n=1,nice=1,cpus=1")
    assert run.row("hog", 0)["ideal_ns"] == pytest.approx(3 * SEC, abs=10)
    assert run.row("hog", 1)["ideal_ns"] == 3 * SEC
    assert run.share("hog", 1) == 100


def test_a_fluid_server_serves_sleepers_what_they_ask_for(sim):
    """10 % of a CPU is less than its share, so it gets that, and the hog the rest."""
    run = sim("--time 11s bursts:run=1ms,sleep=9ms hogs:n=1")
    burst = run.row("burst")
    # While it runs it shares the CPU with the hog: 1 ms of work takes 2 ms, so a round 11 ms.
    assert burst["ideal_ns"] == pytest.approx(1 * SEC, rel=0.001)
    assert run.row("hog")["ideal_ns"] == pytest.approx(10 * SEC, rel=0.001)


def test_two_hogs_lag_by_half_a_turn(sim):
    """In turns of T a task is ahead by T/2 at the end of its own and behind by T/2 at the end of the other's."""
    run = sim("--hz 1000 --time 1s --set latency_ns=20000000 hogs:n=2")
    hog = run.row("hog")
    turn = hog["wait_ns"]["p50"]
    assert turn in (10_000_000, 11_000_000)
    low, high = hog["lag_ns"]
    assert low == pytest.approx(-turn / 2, abs=10) and high == pytest.approx(turn / 2, abs=10)


def test_side_by_side_covers_every_policy(sim):
    run = sim("--sched all --time 1s hogs:n=2")
    assert [r["sched"] for r in run.data["results"]] == policies()
    heading = next(line for line in run.out.splitlines() if line.split() == policies())
    assert heading
    for sched in policies():
        assert run.share("hog", sched=sched) == 100


def test_the_ideal_of_a_deadline_task_is_its_bandwidth(sim):
    """Two budgets of 40 % and 20 % on one CPU leave 40 % to the others, though all want everything."""
    run = sim("--time 1s hogs:n=1,policy=deadline,runtime=4ms,deadline=10ms,period=10ms "
              "hogs:n=1,policy=deadline,runtime=4ms,deadline=20ms,period=20ms hogs:n=2")
    ideals = [task["ideal_ns"] / SEC for task in run.result()["tasks"]]
    assert ideals == pytest.approx([0.4, 0.2, 0.4], abs=1e-6)
    assert [task["cpu_ns"] / SEC for task in run.result()["tasks"]] == pytest.approx(ideals, abs=0.005)

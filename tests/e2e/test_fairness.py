# SPDX-License-Identifier: GPL-2.0-only
"""Shares of CPU time follow the weights exactly, and no task waits longer than the slices of CFS explain."""

import re

import pytest

from tests.e2e.conftest import SHIFT

pytestmark = pytest.mark.coarse
WEIGHT = {-20: 88761, -10: 9548, -5: 3121, 0: 1024, 5: 335, 10: 110, 15: 36, 19: 15}  # sched_prio_to_weight
HOG = re.compile(r"^ *\d+ +(-?\d+) +[\d.]+ +([\d.]+) +([\d.]+) .* (\d+) +([\d.]+) +([\d.]+|-)$", re.MULTILINE)


def hogs(text):
    """(nice, CPU ms, share %, times preempted, longest wait ms, bound of CFS ms or 0) of each hog."""
    rows = [(int(m[0]), *(float(cell.replace("-", "0")) for cell in m[1:])) for m in HOG.findall(text)]
    assert rows, text
    return rows


def shares(text):
    return {nice: share for nice, _, share, *_ in hogs(text)}


def ideal(nices):
    return {nice: 100 * WEIGHT[nice] / sum(WEIGHT[n] for n in nices) for nice in nices}


def test_three_hogs_for_ten_seconds(guest):
    """Nice 0, 5, 10 get 69.71, 22.80, 7.49 % within half a percent; waits follow from the slices."""
    text = guest("hog -N 0,5,10 -a 0 -t 10s", cpus=1, icount=True)
    assert shares(text) == pytest.approx({0: 69.71, 5: 22.80, 10: 7.49}, abs=0.5)
    for nice, *_, longest, bound in hogs(text):
        assert longest <= bound, f"nice {nice}"


@pytest.mark.parametrize("hz, tick_ms", [(100, 10), (250, 4), (1000, 1)])
def test_a_turn_is_a_whole_number_of_ticks(guest, hz, tick_ms):
    """Two equal hogs: a CFS slice of 3 ms ends at the first tick that finds more than 3 ms gone."""
    text = guest("hog -N 0,0 -a 0 -t 1s", cpus=1, icount=True, hz=hz, shift=SHIFT)
    assert f"tick {tick_ms}.000 ms" in text
    turn_ms = (3 // tick_ms + 1) * tick_ms
    for _, cpu_ms, share, preempted, longest, bound in hogs(text):
        assert share == pytest.approx(50, abs=100 * turn_ms / 1000)
        assert preempted == pytest.approx(cpu_ms / turn_ms, abs=2)
        assert longest <= bound


def test_far_apart_weights(guest):
    text = guest("hog -N -20,0,19 -a 0 -t 2s", cpus=1, icount=True)
    assert shares(text) == pytest.approx(ideal([-20, 0, 19]), abs=0.5)


def test_renice_moves_the_share(guest):
    """The tour of the README: a hog that is reniced while it runs gives way from then on."""
    text = guest("hog -N 0,0 -a 0 -t 1s & sleep 0.01; "
                 "renice -n 10 -p $(pidof hog | tr ' ' '\\n' | sort -n | tail -n 1) >/dev/null; wait",
                 cpus=1, icount=True, shift=SHIFT)
    first, second = (share for _, _, share, *_ in hogs(text))
    want = ideal([0, 10])
    assert sorted([first, second]) == pytest.approx(sorted(want.values()), abs=2)


@pytest.mark.exact
def test_equal_hogs_spread_over_all_cpus(guest):
    """Eight equal hogs on four CPUs: none idles, and after the first balancing, which may take 200 ms, each gets half a
    CPU."""
    cpu = [cpu_ms for _, cpu_ms, *_ in hogs(guest("hog -n 8 -t 1s", cpus=4, icount=True))]
    assert sum(cpu) == pytest.approx(4 * 1000, rel=0.01)
    assert all(cpu_ms == pytest.approx(500, rel=0.25) for cpu_ms in cpu)


def test_policy_idle_yields_to_everyone(guest):
    text = guest("hog -t 500ms -a 0 & hog -p idle -t 500ms -a 0; wait", cpus=1, icount=True)
    cpu = sorted(cpu_ms for _, cpu_ms, *_ in hogs(text))
    assert cpu[0] / sum(cpu) == pytest.approx(3 / 1027, abs=0.012)


def test_fifo_is_throttled_to_its_share(guest):
    """sched_rt_runtime_us of each period: a real-time hog leaves 5 % to the others."""
    text = guest("hog -t 2s -a 0 -p fifo:5 & hog -t 2s -a 0; wait", cpus=1, icount=True)
    cpu = sorted(cpu_ms for _, cpu_ms, *_ in hogs(text))
    assert cpu[0] / sum(cpu) == pytest.approx(0.05, abs=0.02)


def test_the_fair_server_takes_the_place_of_throttling_under_eevdf(guest):
    """As in Linux 6.12: a real-time task alone has the whole CPU; fair tasks beside it have 50 ms of each second, and
    wait for 950 ms at most. Without a server they have nothing. The fair hog begins first: a shell beside a real-time
    hog may wait for the server before it can begin another."""
    text = guest("""cd /sys/kernel/debug/sched/fair_server/cpu0; cat runtime period
        for bad in 1000000001 -1 x 951000000; do echo $bad > runtime || echo refused $bad; done; cat runtime
        hog -t 2s -a 0 -p fifo:5; hog -t 2s -a 0 & hog -t 2s -a 0 -p fifo:5; wait
        echo 0 > runtime; hog -t 1100ms -a 0 & hog -t 1s -a 0 -p fifo:5; wait""", cpus=1, icount=True,
                 sched="eevdf").replace("\r", "")
    assert "\n50000000\n1000000000\n" in text and "refused 951000000\n50000000\n" in text
    assert all(f"refused {bad}\n" in text for bad in ("1000000001", "-1", "x"))
    assert len(re.findall("Invalid argument|Device or resource busy", text)) >= 4
    alone, *both = hogs(text)
    assert alone[1] == pytest.approx(2000, abs=5)
    beside, off = both[:2], both[2:]
    fair, fifo = sorted(beside, key=lambda row: row[1])
    assert fair[1] / (fair[1] + fifo[1]) == pytest.approx(0.05, abs=0.004) and 940 < fair[4] <= 960
    assert sorted(off, key=lambda row: row[1])[0][4] >= 995


@pytest.mark.parametrize("hz, tick_ms", [(250, 4), (1000, 1)])
def test_shares_under_eevdf(guest, hz, tick_ms):
    """Shares within half a percent; no task waits longer than lags explain: one late request and those of all
    others."""
    text = guest("hog -N 0,5,10 -a 0 -t 3s", cpus=1, icount=True, sched="eevdf", hz=hz)
    assert shares(text) == pytest.approx(ideal([0, 5, 10]), abs=0.5)
    for nice, _, share, _, longest, _ in hogs(text):
        turn_ms = tick_ms * (1 + 3 // tick_ms)
        assert longest <= turn_ms * 100 / share + 3 * turn_ms, f"nice {nice}"


def test_far_apart_weights_under_eevdf(guest):
    text = guest("hog -N -20,0,19 -a 0 -t 2s", cpus=1, icount=True, sched="eevdf")
    assert shares(text) == pytest.approx(ideal([-20, 0, 19]), abs=0.5)


def test_slices_change_latency_and_not_shares_under_eevdf(guest):
    """Three equal hogs, one with requests of 20 ms: a third of the CPU each; it is switched to more seldom."""
    text = guest("chrt -T 20000000 -o 0 hog -a 0 -t 4s & hog -n 2 -a 0 -t 4s; wait", cpus=1, icount=True,
                 sched="eevdf", hz=1000)
    rows = hogs(text)
    total = sum(cpu_ms for _, cpu_ms, *_ in rows)
    assert len(rows) == 3
    for _, cpu_ms, *_ in rows:
        assert 100 * cpu_ms / total == pytest.approx(100 / 3, abs=0.5)
    preempted = sorted(count for _, _, _, count, *_ in rows)
    assert preempted[0] < 0.4 * preempted[1]

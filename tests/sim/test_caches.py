# SPDX-License-Identifier: GPL-2.0-only
"""The model of caches (docs/simulator.md): each expectation is worked out here, by hand or line by line."""

import itertools
import random

import pytest

from tests.sim.conftest import run as simulate

LINES_OF_KIB, L2_KIB = 16, 256
LLC_NS, MEMORY_NS, REMOTE_NS = 15, 60, 100  # of xeon5500, for a line
ALONE = "--caches xeon5500,footprint=0 --time 1s"


def waited_ns(run):
    return run.result()["cold_ns"]


def test_a_first_run_reads_all_from_memory(sim):
    run = sim("--caches xeon5500,footprint=1024 --time 1s hogs:n=1")
    assert waited_ns(run) == 1024 * LINES_OF_KIB * MEMORY_NS
    assert "caches: xeon5500,footprint=1024" in run.out and run.data["caches"] == "xeon5500,footprint=1024"


def test_a_burst_that_waits_takes_longer(sim):
    """6400 KiB take 6.144 ms: the first burst of 10 ms is done after 16.144 ms. Of 768 KiB 737.28 us are to come, so
    that a burst of 300 us takes 599.999 and leaves 437.281 for the next, and that takes 599.999 again."""
    long = sim("--caches xeon5500,footprint=6400 --time 100ms bursts:n=1,run=10ms,sleep=1s")
    assert waited_ns(long) == 6_144_000 and long.row("burst")["cpu_ns"] == 16_144_000
    short = sim("--caches xeon5500,footprint=768 --time 100ms bursts:n=1,run=300us,sleep=1s")
    assert waited_ns(short) == 299_999 and short.row("burst")["cpu_ns"] == 599_999


def test_nothing_is_printed_and_nothing_costs_without_the_option(sim):
    run = sim("--time 1s hogs:n=3,footprint=4096")
    assert "caches" not in run.out and "caches" not in run.data and "cold_ns" not in run.result()


def two_that_alternate(sim, kib, caches=""):
    """Waiting in each turn of two tasks that wake each other on one CPU, after the first turn of each."""
    run = sim(f"--caches xeon5500,footprint={kib}{caches} --cpus 1 --time 2s "
              "pipes:pairs=1,write=200us,read=200us,capacity=1")
    turns = sum(row["runs"] for row in run.result()["tasks"])
    first = 2 * kib * LINES_OF_KIB * MEMORY_NS
    return (waited_ns(run) - first) / (turns - 2)


def test_two_that_fit_together_wait_once(sim):
    assert two_that_alternate(sim, L2_KIB // 2) == pytest.approx(0, abs=10)


def test_two_of_which_each_fits_alone_wait_in_every_turn(sim):
    assert two_that_alternate(sim, L2_KIB) == pytest.approx(L2_KIB * LINES_OF_KIB * LLC_NS, rel=0.01)


def displaced(tasks, kib, turns=300):
    """KiB that are missing in a turn, as a cache of KiBs behaves: the task that runs displaces others at random."""
    drawn, cache, where, missing = random.Random(1), [], {}, []
    for task in itertools.islice(itertools.cycle(range(tasks)), turns):
        lacks = [piece for piece in ((task, number) for number in range(kib)) if piece not in where]
        missing.append(len(lacks))
        for piece in lacks:
            if len(cache) < L2_KIB:
                where[piece] = len(cache)
                cache.append(piece)
                continue
            slot = drawn.choice([slot for slot in where.values() if cache[slot][0] != task])
            del where[cache[slot]]
            cache[slot] = piece
            where[piece] = slot
    return sum(missing[turns // 2:]) / (turns - turns // 2)


@pytest.mark.parametrize("kib", [130, 160, 200, 240])
def test_what_two_leave_each_other(sim, kib):
    assert two_that_alternate(sim, kib) == pytest.approx(displaced(2, kib) * LINES_OF_KIB * LLC_NS, rel=0.03)


@pytest.mark.parametrize(("tasks", "kib"), [(3, 90), (3, 160), (5, 60), (5, 130)])
def test_what_several_leave_each_other(sim, tasks, kib):
    run = sim(f"--caches xeon5500,footprint={kib} --cpus 1 --time 20s --set sched_rt_runtime_us=-1 "
              f"hogs:n={tasks},policy=rr")
    turns = sum(row["runs"] for row in run.result()["tasks"])
    first = tasks * kib * LINES_OF_KIB * MEMORY_NS
    ours = (waited_ns(run) - first) / (turns - tasks) / LINES_OF_KIB / LLC_NS
    assert ours == pytest.approx(displaced(tasks, kib), rel=0.05)


@pytest.mark.parametrize(("topology", "line_ns"), [("nodes=1,llcs=1,cores=2", LLC_NS),
                                                  ("nodes=1,llcs=2,cores=1", MEMORY_NS),
                                                  ("nodes=2,llcs=1,cores=1", REMOTE_NS)])
def test_the_first_move_costs_by_distance(sim, topology, line_ns):
    """A task leaves CPU 1, which goes out of service."""
    run = sim(f"--caches xeon5500,footprint=0 --topology {topology} --time 1s "
              "hogs:n=1,footprint=200,cpus=1 hotplug:cpu=1,after=100ms,off=800ms")
    assert waited_ns(run) == 200 * LINES_OF_KIB * (MEMORY_NS + line_ns)


def test_threads_of_a_core_slow_each_other_down(sim):
    """Of four bursts of 10 ms on two cores each takes 10 / 0.65 ms; on four cores 10."""
    apart = sim(f"{ALONE} --topology 1x1x4x1 bursts:n=4,run=10ms,sleep=10ms")
    shared = sim(f"{ALONE} --topology 1x1x2x2 bursts:n=4,run=10ms,sleep=10ms")
    alone = sim(f"{ALONE} --topology 1x1x2x2 bursts:n=1,run=10ms,sleep=10ms")
    assert apart.row("burst")["cpu_ns"] == pytest.approx(4 * 500e6, rel=0.01)
    round_ms = 10 / 0.65 + 10
    assert shared.row("burst")["cpu_ns"] == pytest.approx(4 * 1e9 * (10 / 0.65) / round_ms, rel=0.02)
    assert alone.row("burst")["cpu_ns"] == pytest.approx(500e6, rel=0.01)


def test_a_run_repeats(sim):
    words = ("--caches xeon5500,l2=64 --topology 1x2x2x2 --time 1s --seed 3 --sched all "
             "bursts:n=12,run=100us-3ms,sleep=1ms hogs:n=3,footprint=3000 pipes")
    assert sim(words).out == sim(words).out


@pytest.mark.parametrize(("text", "says"), [
    ("nehalem", "must be xeon5500, then l2=KIB"), ("", "must be xeon5500"),
    ("xeon5500,l3=1", "must be xeon5500, then l2=KIB"), ("xeon5500,", "must be xeon5500, then l2=KIB"),
    ("xeon5500,l2=0", "must be a number from 1 to"), ("xeon5500,smt=101", "must be a number from 1 to 100"),
    ("xeon5500,l2=-1", "must be a number from 1 to"), ("xeon5500,l2=9000", "the last level holds no less"),
])
def test_a_wrong_word_is_refused(tmp_path, text, says):
    done = simulate([f"--caches={text}", "--time", "1ms", "hogs"], tmp_path)
    assert done.status == 2 and says in done.err and not done.out

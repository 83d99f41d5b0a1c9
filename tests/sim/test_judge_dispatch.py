# SPDX-License-Identifier: GPL-2.0-only
"""The judge of lab 13, on few events made up: each rule once, and moments that no trace puts in order."""

import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, f"{ROOT}/tests/model")
from judge_dispatch import Court, Switch, Wakeup

MS = 1_000_000
NAMES = {1: "a", 2: "b", 3: "c"}


def new(ms, pid, cpu=0, nice=0):
    return Wakeup(int(ms * MS), cpu, pid, 120 + nice, True)


def woken(ms, pid, cpu=0):
    return Wakeup(int(ms * MS), cpu, pid, 120, False)


def switch(ms, prev, following, stays=True, cpu=0):
    return Switch(int(ms * MS), cpu, prev, stays, following, 120)


def said(*events, cpus_per_llc=1, end=0):
    court = Court(cpus_per_llc, 250, 100, NAMES)
    return [verdict for _, verdict in court.hear(list(events), end * MS) if verdict is not None], court


BEGIN = [new(0, 1), new(0, 2), switch(0, 0, 1)]


def test_of_two_equals_each_has_its_turn():
    """After each turn of one the other has the lesser vtime."""
    verdicts, _ = said(*BEGIN, switch(8, 1, 2), switch(16, 2, 1), switch(24, 1, 2))
    assert verdicts == ["", "", ""]


@pytest.mark.parametrize("events, end, part", [
    ([*BEGIN, new(1, 3), switch(8, 1, 2), switch(16, 2, 1)], 0,
     "a-1 was taken from the queue, though the vtime of c-3, which waited there, is 8 ms less"),
    ([new(0, 1, nice=-5), new(0, 2), switch(0, 0, 1), switch(8, 1, 2), switch(16, 2, 1), switch(24, 1, 2)], 0,
     "b-2 took over from a-1, whose vtime is 2.754 ms less: that one goes on"),
    ([*BEGIN, switch(8.005064, 1, 2), switch(16.005064, 2, 1)], 0,
     "a-1 took over from b-2, whose vtime is 0.005064 ms less"),
    ([*BEGIN, switch(4, 1, 2)], 0, "the turn of a-1 ended after 4 ms: a slice is 5 ms"),
    ([*BEGIN], 100, "a-1 ran on for 86.999 ms, though b-2 waited"),
    ([*BEGIN, switch(3, 1, 0, stays=False)], 0, "it idles, though b-2 has waited for 3 ms"),
    ([*BEGIN, switch(8, 1, 2), switch(9, 2, 0, stays=False), woken(9.5, 2), switch(12, 0, 2)], 0,
     "it idles, though a-1 has waited for 1 ms"),
    ([new(0, 1), switch(0, 0, 1), new(0, 2, cpu=1), switch(0, 0, 2, cpu=1), new(1, 3, cpu=1), switch(8, 1, 3)], 0,
     "c-3 was taken from another cache, though a-1 could go on"),
])
def test_each_rule(events, end, part):
    verdicts, _ = said(*events, end=end)
    assert any(part in verdict for verdict in verdicts), verdicts


def test_a_sleeper_saves_up_a_slice_and_no_more():
    """At 200 ms b begins after 12 turns of 8 ms, and c, which slept, is put 5 ms before that: 91."""
    turns = [switch(8 * n, *((1, 2) if n % 2 else (2, 1))) for n in range(2, 26)]
    _, court = said(*BEGIN[:2], new(0, 3), switch(0, 0, 3), switch(0.5, 3, 1, stays=False), switch(8, 1, 2), *turns,
                    woken(201, 3))
    assert court.tasks[3].vtime == 91 * MS


def test_a_task_that_another_cpu_takes_at_that_moment_is_in_no_queue():
    """Both CPUs choose at 8 ms: whichever was first has taken the one with the lesser vtime."""
    verdicts, _ = said(new(0, 1), switch(0, 0, 1), new(0, 2, cpu=1), switch(0, 0, 2, cpu=1), new(1, 3), woken(1, 3),
                       switch(8, 1, 0, stays=False), switch(8, 0, 3, cpu=1), cpus_per_llc=2)
    assert not any(verdicts)


def test_a_turn_that_a_more_urgent_class_cuts_goes_on():
    """At 4 ms b has the lesser vtime, and is not asked for: the rest of a's slice comes first, and is of one turn."""
    cut = [*BEGIN, Switch(3 * MS, 0, 1, True, 9, 49), switch(4, 9, 1, stays=False)]
    assert said(*cut, switch(7, 1, 2))[0] == [""]
    assert said(*cut, switch(5, 1, 2))[0] == [
        "the turn of a-1 ended after 4 ms: a slice is 5 ms, and ends at the next of the ticks, which come every 4 ms"]


@pytest.mark.parametrize("ms, right", [(4.9, False), (5, True), (9, True), (10, False), (13, True), (18, False)])
def test_a_turn_is_whole_slices_up_to_a_tick(ms, right):
    """Ticks come every 4 ms: a first slice of 5 ms lasts up to 9, and each further one 8, from tick to tick."""
    verdicts, _ = said(*BEGIN[:1], switch(0, 0, 1), new(ms - 0.5, 2), switch(ms, 1, 2))
    assert [not verdict for verdict in verdicts] == [right], verdicts


@pytest.mark.parametrize("moment", [
    [switch(20, 0, 1), switch(20, 1, 2, cpu=1)],
    [switch(20, 0, 1), Wakeup(20 * MS, 1, 2, 120, False, 1), switch(20, 1, 2, cpu=1)],
])
def test_a_task_that_another_cpu_takes_at_once_runs_there(moment):
    """CPU 1 puts a aside for b, and CPU 0 has a at the same moment: whichever of both the trace has first."""
    begin = [new(0, 1, cpu=1), switch(0, 0, 1, cpu=1), *([new(15, 2, cpu=1)] if len(moment) == 2 else [])]
    _, court = said(*begin, *moment)
    assert court.tasks[1].cpu == 0 and court.tasks[1].since == -1


def test_only_a_task_that_may_run_there_keeps_a_cpu_from_idling():
    """b waits for CPU 1, where a runs. CPU 0 may idle if b is pinned."""
    begin = [new(0, 3), new(0, 1, cpu=1), switch(0, 0, 1, cpu=1), switch(0, 0, 3), new(1, 2, cpu=1)]
    for pinned, right in (({"b": 1}, True), ({}, False)):
        court = Court(1, 250, 100, NAMES, pinned=pinned)
        verdicts = [verdict for _, verdict in court.hear([*begin, switch(4, 3, 0, stays=False)]) if verdict]
        assert bool(verdicts) != right, verdicts


@pytest.mark.parametrize("ns, right", [(150, True), (400, False)])
def test_a_task_that_ends_soon_may_lose_its_turn(ns, right):
    """a is put aside in the middle of its slice, and ends after that."""
    end = Switch(3 * MS + ns, 0, 1, False, 2, 120, ends=True)
    verdicts, _ = said(*BEGIN, switch(3, 1, 2), Switch(3 * MS + ns - 50, 0, 2, False, 1, 120), end)
    assert (not any(verdicts)) == right, verdicts


def test_a_waker_that_gives_way_is_followed_by_what_it_woke():
    """At 21 ms b writes to a pipe that c reads, and CPU 1 idles: c is after b, though its vtime is more."""
    begin = [new(0, 1), switch(0, 0, 1), new(0, 2), switch(8, 1, 2), switch(16, 2, 1, stays=False), new(17, 3, cpu=1),
             switch(17, 0, 3, cpu=1), switch(18, 3, 0, stays=False, cpu=1), switch(20, 1, 2, stays=False)]

    def follows(waker, cpu=0):
        return said(*begin, Wakeup(21 * MS, 0, 3, 120, False, waker), switch(26, 2, 3), cpus_per_llc=2)[0]

    assert not any(follows(waker=0)), follows(waker=0)
    assert any("took over from b-2" in verdict or "idled all the while" in verdict for verdict in follows(waker=1))


def test_shares_are_compared_with_weights():
    _, court = said(new(0, 1), new(0, 2, nice=5), switch(0, 0, 1), switch(100, 1, 2), switch(200, 2, 1))
    court.tasks[1].name, court.tasks[2].name = "hog-1", "hog-2"
    assert court.shares("hog") == "hog-1 got 50.0 % of the time of all hogs: by weight it is 75.2 %"

# SPDX-License-Identifier: GPL-2.0-only
"""make first-difference finds the switch that differs, in texts as tracefs has them."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

from fairground.judge import first_difference


def switch(us, left, state, came, cpu=0):
    """A line of tracefs: tasks are (comm, pid)."""
    return (f"   {left[0]}-{left[1]} [{cpu:03}] d....   {us // 10**6}.{us % 10**6:06}: sched_switch: "
            f"prev_comm={left[0]} prev_pid={left[1]} prev_prio=120 prev_state={state} ==> "
            f"next_comm={came[0]} next_pid={came[1]} next_prio=120")


def wakeup(us, task, new="", cpu=0):
    return (f"   x-1 [000] d.h..   {us // 10**6}.{us % 10**6:06}: sched_wakeup{new}: comm={task[0]} pid={task[1]} "
            f"prio=120 target_cpu={cpu:03}")


IDLE = ("swapper/0", 0)


def run(first_pid=10, order=(1, 2, 3, 1, 2, 3), late=0, thread=None):
    """Three hogs begin out of idle at 4 ms and take turns in this @order; @thread interrupts the second turn."""
    hogs = {i: ("hog", first_pid + i) for i in (1, 2, 3)}
    lines = [wakeup(1000 + i, hog, "_new") for i, hog in hogs.items()]
    lines += [switch(1100 + i, hog, "S", IDLE) for i, hog in hogs.items()]
    lines += [wakeup(4000, hog) for hog in hogs.values()]
    previous, state = IDLE, "R"
    for turn, i in enumerate(order):
        at = 4001 + turn * 4000 + late
        lines.append(switch(at, previous, state, hogs[i]))
        if thread and turn == 1:
            lines += [wakeup(at + 500, thread), switch(at + 501, hogs[i], "R+", thread),
                      switch(at + 520, thread, "I", hogs[i])]
        previous, state = hogs[i], "R+"
    return first_difference.read_trace("\n".join(lines))


def sides(*traces):
    known = set.intersection(*(set(trace.comms.values()) for trace in traces))
    return [first_difference.Side(trace, known) for trace in traces]


def test_pids_times_and_threads_of_one_side_are_no_difference():
    a, b = sides(run(), run(first_pid=700, late=123, thread=("kworker/0:1", 33)))
    assert first_difference.first_difference(a, b) is None
    assert "no difference: 6 switches" in first_difference.report(("a", "b"), (a, b))


def test_the_first_switch_that_differs_is_shown_with_both_queues():
    a, b = sides(run(), run(first_pid=700, order=(1, 2, 3, 2, 1, 3)))
    assert first_difference.first_difference(a, b) == (0, 3)
    ours, theirs = a.switches[0][3], b.switches[0][3]
    assert ours.key() == ("hog#3", "preempted", "hog#1") and theirs.key() == ("hog#3", "preempted", "hog#2")
    assert ours.queue.keys() == {"hog#2", "hog#3"} and theirs.queue.keys() == {"hog#1", "hog#3"}
    assert ours.us - ours.queue["hog#2"] == 4000 and theirs.us - theirs.queue["hog#1"] == 8000
    assert ours.had == {"hog#1": 4000, "hog#2": 4000, "hog#3": 4000, "idle": 0}
    text = first_difference.report(("cfs", "linux-6.1"), (a, b))
    assert "the first 3 switches of CPU 0 are the same" in text
    assert "* hog#1: had 4.000 ms" in text and "* hog#2: had 4.000 ms" in text and "hog#1: waits 8.000 ms" in text


@pytest.mark.parametrize("state, how", [("R", "preempted"), ("R+", "preempted"), ("S", "sleeps"), ("D", "sleeps"),
                                        ("Z", "ends"), ("X", "ends")])
def test_a_task_leaves_in_one_of_three_ways(state, how):
    assert first_difference.how_left(state) == how


def test_whoever_blocks_differs_from_whoever_is_preempted():
    lines = [switch(4001, IDLE, "R", ("hog", 1)), switch(8000, ("hog", 1), "{}", ("hog", 2))]
    a, b = sides(*(first_difference.read_trace("\n".join(lines).format(state)) for state in ("R+", "S")))
    assert first_difference.first_difference(a, b) == (0, 1)

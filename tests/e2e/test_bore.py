# SPDX-License-Identifier: GPL-2.0-only
"""BORE from outside: short bursts are served at once beside hogs, and its files are there."""

import re

import pytest

RESPONSE = re.compile(r"response time +(?P<min>[\d.]+) +(?P<mean>[\d.]+) +(?P<p50>[\d.]+) +(?P<p99>[\d.]+)")
BASE = {"bore-cfs": "cfs", "bore": "eevdf"}


def response_mean_ms(guest, sched):
    """The time from planned start to end of 5 ms of CPU every 25 ms, beside four old hogs."""
    text = guest("hog -n 4 -t 1800ms & sleep 1; burst -r 5ms -s 20ms -n 15; wait", cpus=1, icount=True, sched=sched)
    return float(RESPONSE.search(text)["mean"]) / 1000


@pytest.mark.parametrize("sched", BASE)
def test_short_bursts_are_hardly_delayed_by_hogs(guest, sched):
    """The bursts are within their share of the CPU all the same; the base policy makes them wait for the hogs'
    slices."""
    mean = response_mean_ms(guest, sched)
    assert mean < 12
    assert mean < 0.6 * response_mean_ms(guest, BASE[sched])


@pytest.mark.parametrize("sched", BASE)
def test_scores_are_in_proc_and_can_be_switched_off(guest, sched):
    """A hog has a score after a while; sched_bore refuses values that its version does not know."""
    text = guest("hog -t 600ms & sleep 0.4; grep score /proc/$(pidof hog | cut -d' ' -f1)/sched /proc/1/sched; "
                 "cd /proc/sys/kernel; echo 4 >sched_bore || echo refused; echo 0 >sched_bore; cat sched_bore; wait",
                 cpus=1, icount=True, sched=sched)
    hog, init = (int(score) for score in re.findall(r"score +: +(\d+)", text))
    assert hog > init
    assert "refused" in text
    assert re.search(r"^0$", text, re.MULTILINE)


@pytest.mark.parametrize("sched", BASE)
def test_families_survive_orphans_and_exec_by_a_thread(guest, sched):
    """A process tree whose middle ends first, threads, exec by one of them: nothing is lost or freed early."""
    text = guest("sh -c '(sh -c \"sleep 0.2; echo orphan\" &)' && taskcheck orphans thread-exec thread-signals && "
                 "hack -g 1 >/dev/null && sleep 0.3 && echo done", cpus=4, sched=sched)
    assert "orphan\n" in text.replace("\r", "")
    assert "done" in text

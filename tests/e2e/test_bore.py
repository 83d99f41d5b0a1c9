"""BORE from outside: short bursts are served at once beside hogs, and its files are there."""

import re

import pytest

RESPONSE = re.compile(r"response time +(?P<min>[\d.]+) +(?P<mean>[\d.]+) +(?P<p50>[\d.]+) +(?P<p99>[\d.]+)")
BORES = ["bore-cfs", "bore"]


def response_p99_ms(text):
    """How long 99 of 100 bursts took, from their planned start to their end."""
    return float(RESPONSE.search(text)["p99"]) / 1000


def interactive_among_hogs(guest, sched):
    return guest("hog -n 4 -t 2s & sleep 0.5; burst -r 5ms -s 20ms -n 50; wait", cpus=1, icount=True, sched=sched,
                 timeout=300)


@pytest.mark.parametrize("sched", BORES)
def test_short_bursts_are_hardly_delayed_by_hogs(guest, sched):
    """5 ms of CPU every 25 ms, beside four hogs: a fair share, at once; CFS makes it wait for slices."""
    assert response_p99_ms(interactive_among_hogs(guest, sched)) < 7


def test_under_cfs_they_wait_for_slices(guest):
    assert response_p99_ms(interactive_among_hogs(guest, "cfs")) > 12


@pytest.mark.parametrize("sched", BORES)
def test_scores_are_in_proc_and_can_be_switched_off(guest, sched):
    """A hog has a score after a while; sched_bore refuses what its version does not know."""
    text = guest("hog -t 2s & sleep 1; grep score /proc/$(pidof hog | cut -d' ' -f1)/sched /proc/1/sched; "
                 "cd /proc/sys/kernel; echo 4 >sched_bore || echo refused; echo 0 >sched_bore; cat sched_bore; wait",
                 cpus=1, icount=True, sched=sched)
    hog, init = (int(score) for score in re.findall(r"score +: +(\d+)", text))
    assert hog > init
    assert "refused" in text
    assert re.search(r"^0$", text, re.MULTILINE)


@pytest.mark.parametrize("sched", BORES)
def test_families_survive_forks_threads_and_orphans(guest, sched):
    """A process tree whose middle ends first, a fork storm, threads, exec: nothing is lost or freed early."""
    text = guest("sh -c '(sh -c \"sleep 0.2; echo orphan\" &)'; hack -g 2; taskcheck threads >/dev/null; sleep 0.5",
                 cpus=4, sched=sched)
    assert "orphan" in text

# SPDX-License-Identifier: GPL-2.0-only
"""The controller schedtune from an unmodified shell: its file and errors, and whom it boosts and when."""

import re

import pytest

from tests.e2e.test_cgroup import BUSY, ESRCH, INVALID, transcript

pytestmark = pytest.mark.exact

OPP = {"append": "opp=juno-a53 governor=sched"}
MOUNT = "mkdir /st; mount -t cgroup -o schedtune none /st; cd /st; "


def test_the_files_and_their_errors(guest):
    """A refused write changes nothing. Groups are one level deep, and there are 15."""
    def with_speeds(*args, **settings):
        return guest(*args, **settings, **OPP)
    transcript(with_speeds, MOUNT, [
        ("mount | grep schedtune", "none on /st type cgroup (rw,relatime,schedtune)"),
        ("ls", "cgroup.procs     schedtune.boost  tasks"),
        ("grep tune /proc/cgroups; cat /proc/self/cgroup", "schedtune\t2\t1\t1\n2:schedtune:/"),
        ("cat schedtune.boost; mkdir fg; cat fg/schedtune.boost", "0\n0"),
        ("echo 60 > fg/schedtune.boost; cat fg/schedtune.boost", "60"),
        ("echo -1 > fg/schedtune.boost", INVALID), ("echo 101 > fg/schedtune.boost", INVALID),
        ("echo much > fg/schedtune.boost", INVALID), ("echo > fg/schedtune.boost", INVALID),
        ("echo 101 > schedtune.boost", INVALID), ("cat fg/schedtune.boost schedtune.boost", "60\n0"),
        ("echo 100 > fg/schedtune.boost; cat fg/schedtune.boost", "100"),
        # The root's boost is the sysctl's.
        ("echo 30 > schedtune.boost; cat /proc/sys/kernel/sched_cfs_boost", "30"),
        ("echo 5 > /proc/sys/kernel/sched_cfs_boost; cat schedtune.boost", "5"),
        ("mkdir fg/deeper", "Cannot allocate memory"), ("ls -d fg/*/", "No such file"),
        ("for i in 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do mkdir g$i; done; ls -d */ | wc -l", "15"),
        ("mkdir g16", "No space left on device"),
        # A new group in a used place begins without a boost.
        ("rmdir fg; mkdir g16; cat g16/schedtune.boost; rmdir g*; ls -d */", "0\n"),
        ("mkdir fg; sh -c 'echo 0 > fg/tasks; cat /proc/self/cgroup'", "2:schedtune:/fg"),
        ("sh -c 'echo 0 > fg/cgroup.procs; rmdir fg; rmdir ../st/fg'", BUSY),
        ("echo 99999 > fg/tasks", ESRCH), ("echo -1 > fg/tasks", INVALID), ("touch fg/new", "Permission denied"),
        # Nothing of the controller cpu is here, and that one's hierarchy knows nothing of boosts.
        ("ls /sys/fs/cgroup/schedtune.boost fg/cpu.shares", "No such file"),
        ("mkdir -p /x; mount -t cgroup -o cpu,schedtune none /x", INVALID),
        ("cd /; umount /st; mount -t cgroup -o schedtune none /st; ls -d /st/*/", "/st/fg/"),
    ])


def test_without_speeds_there_is_no_controller(guest):
    transcript(guest, "mkdir /st", [("mount -t cgroup -o schedtune none /st", INVALID),
                                    ("grep -c tune /proc/cgroups", "0")])


TRACE = MOUNT + """
group() { mkdir $1; echo $2 > $1/schedtune.boost; }
in_group() { g=$1; shift; taskset 2 sh -c "echo 0 > /st/$g/tasks; exec $*" > /dev/null; }
cd /sys/kernel/tracing; echo 4000 > buffer_size_kb
for e in sched/sched_switch sched/sched_wakeup sched/sched_wakeup_new power/sched_tune_boost; do
    echo 1 > events/$e/enable
done; cd /st
"""
EVENT = re.compile(r"(\d+\.\d+): (\w+): (.*)")


def intervals(times):
    """Of (time, whether it holds from now on): the intervals in which it holds."""
    found, since = [], None
    for time, holds in times:
        if holds and since is None:
            since = time
        elif not holds and since is not None:
            found.append((since, time))
            since = None
    return found


def runnable(trace, name):
    """When the thread @name could run, from wakeups and switches alone."""
    times = []
    for time, event, rest in EVENT.findall(trace):
        if event in ("sched_wakeup", "sched_wakeup_new") and f"comm={name} " in rest:
            times.append((float(time), True))
        if event == "sched_switch" and f"prev_comm={name} " in rest and not re.search(r"prev_state=R", rest):
            times.append((float(time), False))
    return intervals(times)


def boosted(trace, percent):
    return intervals([(float(time), f"boost={percent} " in rest) for time, event, rest in EVENT.findall(trace)
                      if event == "sched_tune_boost" and "cpu_id=1" in rest])


def test_a_boost_is_there_while_a_boosted_task_can_run(guest):
    """A short task in fg, a hog in bg, on one CPU: the boost is fg's exactly while the short task can run."""
    text = guest(TRACE + "group fg 60; group bg 10; in_group bg hog -t 150ms & sleep 0.02; "
                 "in_group fg burst -r 1ms -s 19ms -n 5; wait; cat /sys/kernel/tracing/trace", cpus=2, icount=True,
                 **OPP)
    can_run, boosts = runnable(text, "burst"), boosted(text, 60)
    assert len(boosts) >= 6 and boosts[-1][1] < 0.2, boosts
    # The first boost begins with the move to the group, not with a wakeup.
    wakes = [run for run in can_run if run[0] > boosts[1][0] - 1e-5]
    assert len(wakes) == len(boosts) - 1 == 5
    for (from_, to), (begin, end) in zip(wakes, boosts[1:]):
        assert abs(from_ - begin) < 5e-6 and -5e-6 < to - end < 2e-5, (wakes, boosts)


def test_a_boost_ends_by_a_move_and_with_a_group(guest):
    """Out of its group and back while it runs; the boost of its empty group does not matter."""
    text = guest(TRACE + "group fg 60; taskset 2 sh -c 'while :; do :; done' & p=$!; sleep 0.02; "
                 "echo $p > fg/cgroup.procs; sleep 0.02; echo $p > tasks; sleep 0.02; echo 70 > fg/schedtune.boost; "
                 "echo $p > fg/cgroup.procs; sleep 0.02; echo 40 > fg/schedtune.boost; sleep 0.02; kill $p; wait; "
                 "rmdir fg && grep boost= /sys/kernel/tracing/trace", cpus=2, icount=True, **OPP)
    assert re.findall(r"boost=(\d+) cpu_id", text) == ["60", "0", "70", "40", "0"]

# SPDX-License-Identifier: GPL-2.0-only
"""SCHED_DEADLINE as programs meet it: chrt, ours and Debian's, the files, the errors, and Debian's cyclicdeadline."""

import re
import shutil

import pytest

from tests.e2e.conftest import dynamic_program

SPIN = "sh -c 'while :; do :; done'"


def debian(name):
    """What dynamic_program() says of this machine's program @name."""
    path = shutil.which(name)
    if not path:
        pytest.skip(f"no {name} here")
    return dynamic_program(path)


def spent(text):
    """The CPU times in ms that se.sum_exec_runtime lines say, in order."""
    return [float(ms) for ms in re.findall(r"se\.sum_exec_runtime *: *([\d.]+)", text)]


def test_a_hog_gets_its_runtime_whatever_else_runs(guest):
    """3 of 10 ms, between hogs of FIFO and CFS: from period to period the same, but for what was left of the budget
    then and now: 3 ms, or less than nothing by a tick of 4 ms. Two programs start in between, perhaps in one more
    period: 3 ms."""
    text = guest(f"""chrt -f 50 {SPIN} & chrt -d -T 3000000 -P 10000000 0 {SPIN} & t=$!; {SPIN} &
        chrt -f -p 99 $$; sleep 0.1; cat /proc/$t/sched; sleep 2; cat /proc/$t/sched; kill %1 %2 %3""",
                 cpus=1, icount=True, append="watchdog=0")
    before, after = spent(text)
    assert abs(after - before - 600) <= 10, text
    assert re.search(r"^policy *: *6\s", text, re.M) and re.search(r"^prio *: *-1\s", text, re.M)
    assert re.search(r"^dl\.runtime *: *-?\d+\s", text, re.M) and re.search(r"^dl\.deadline *: *\d+\s", text, re.M)


def test_two_chrts_and_the_dump_agree(guest):
    put, files = debian("chrt")
    text = guest(put + f"""/root/chrt -d -T 2000000 -D 5000000 -P 10000000 0 {SPIN} & sleep 0.1
        chrt -p $!; /root/chrt -p $!; grep dl_bw /sys/kernel/debug/sched/debug
        /root/chrt -d -p -T 1000000 -P 10000000 0 $!; chrt -p $!; chrt -o -p 0 $!; chrt -p $!; kill $!""",
                 cpus=1, icount=True, files=files)
    assert len(re.findall("current scheduling policy: SCHED_DEADLINE", text)) == 3
    assert len(re.findall("runtime/deadline/period parameters: 2000000/5000000/10000000", text)) == 2
    assert "runtime/deadline/period parameters: 1000000/10000000/10000000" in text
    assert re.search(r"dl_bw->bw *: 996147\s", text) and re.search(r"dl_bw->total_bw *: 209715\s", text)
    assert "current scheduling policy: SCHED_OTHER" in text


def test_what_is_refused(guest):
    """Admission (EBUSY), affinity (EPERM, EBUSY), fork (EAGAIN), parameters and sysctls (EINVAL)."""
    text = guest(f"""cd /proc/sys/kernel; cat sched_deadline_period_max_us sched_deadline_period_min_us
        try() {{ echo "[$@]"; "$@" 2>&1; }}
        try chrt -d -T 1000 -P 10000000 0 true
        try chrt -d -T 1000000 -P 5000000000 0 true
        try taskset 1 chrt -d -T 1000000 -P 10000000 0 true
        try chrt -d -T 1000000 -P 10000000 0 sh -c 'true & wait; echo forked'
        chrt -d -T 9000000 -P 10000000 0 {SPIN} & sleep 0.1
        try taskset -p 1 $!
        chrt -d -T 9000000 -P 10000000 0 {SPIN} & sleep 0.1
        try chrt -d -T 2000000 -P 10000000 0 true
        try sh -c 'echo 500000 > sched_rt_runtime_us'
        try sh -c 'echo 0 > /sys/devices/system/cpu/cpu1/online'
        try sh -c 'echo 99 > sched_deadline_period_max_us'
        kill %1 %2; sleep 0.1
        try sh -c 'echo 0 > /sys/devices/system/cpu/cpu1/online; echo gone'""", cpus=2, icount=True)
    text = text.replace("\r", "")
    assert "\n4194304\n100\n" in text
    for errors in ("-T 2000000 -P 10000000 0 true\\]\n.*busy", "-T 1000 -P 10000000 0 true\\]\n.*Invalid",
                   "-P 5000000000 0 true\\]\n.*Invalid", "taskset 1 chrt .*\n.*not permitted",
                   "wait; echo forked\\]\n.*can't fork", r"taskset -p 1 \d+\](\n.*){1,2}busy",
                   "echo 500000 .*\n.*busy", "cpu1/online\\]\n.*busy", "echo 99 .*\n.*Invalid",
                   "echo gone\\]\n(.*\n)?gone"):
        assert re.search(errors, text), (errors, text)


@pytest.mark.parametrize("cpus", [1, 2])
def test_debians_cyclicdeadline_misses_nothing_beside_hogs(guest, cpus):
    """Four threads with periods of 1 to 2.5 ms, which have 80 % of each CPU together, among hogs.

    EDF on m CPUs meets every deadline of tasks with m - (m - 1) * u together, u being the largest share of one
    (Goossens, Funk and Baruah 2003): each has what it asked for before the period ends, so none begins later than that
    leaves. The program writes a line for each job to descriptor 0: to a terminal, whose lock they would share. A thread
    that sleeps there begins a new period when it wakes up, and all its later ones with it. The hogs come when the
    program, which measures its loops first and as a fair task, has done that.
    """
    put, files = debian("cyclicdeadline")
    hogs = f"{SPIN} & " * 2 * cpus
    text = guest(f"""{put} echo HRTICK_DL > /sys/kernel/debug/sched/features
        (usleep 200000; {hogs} usleep 2000000; kill $(jobs -p)) & /root/cyclicdeadline -q -D 1 -t 4 </dev/null; true""",
                 cpus=cpus, icount=True, files=files)
    asked = [(int(runtime), int(period)) for runtime, period in re.findall(r"^interval: (\d+):(\d+)", text, re.M)]
    rows = re.findall(r"^T: *\d+ .*I:(\d+) C: *(\d+) .*Max: *(\d+)", text, re.M)
    assert [int(interval) for interval, _, _ in rows] == [1000, 1500, 2000, 2500] == [p for _, p in asked], text
    assert abs(sum(runtime / period for runtime, period in asked) - 0.8 * cpus) < 0.01
    for (_, count, most), (runtime, period) in zip(rows, asked):
        assert abs(int(count) - 1000000 // period) <= 2, text
        assert int(most) <= period - runtime, text

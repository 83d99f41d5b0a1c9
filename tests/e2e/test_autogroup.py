# SPDX-License-Identifier: GPL-2.0-only
"""Autogroup: a session gets CPU time as one group, whatever the number of its hogs (docs/cgroups.md)."""

import re

import pytest

from tests.e2e.conftest import V1

pytestmark = pytest.mark.coarse

SWITCH = "/proc/sys/kernel/sched_autogroup_enabled"
INVALID, DENIED, AGAIN = "Invalid argument", "Operation not permitted", "Resource temporarily unavailable"
# Prints what is in a session of its own: its file, then what the command says.
SESSION = "setsid sh -c 'cat /proc/$$/autogroup; {}'\n"


def share_of_four(guest, before="true", four="true", one="true", append="autogroup", **how):
    """The share of a CPU that four hogs of one session get beside one of another, after these commands in each."""
    console = guest(f"{before}\nsetsid sh -c '{four}; exec hog -n 4 -t 1s' > /tmp/four &\n"
                    f"setsid sh -c '{one}; exec hog -n 1 -t 1s' > /tmp/one\nwait; cat /tmp/four; echo =; cat /tmp/one",
                    cpus=1, icount=True, append=append, **how)
    cpu_ms = [sum(float(row[1]) for row in re.findall(r"^ *\d+ +-?\d+ +([\d.]+) +([\d.]+)", part, re.M))
              for part in console.split("\n=\n")]
    assert len(cpu_ms) == 2 and 900 < sum(cpu_ms) < 1100, console
    return cpu_ms[0] / sum(cpu_ms)


@pytest.mark.parametrize("append, share", [("autogroup", 0.5), ("", 0.8), ("autogroup noautogroup", 0.8)])
def test_sessions_share_equally(guest, append, share):
    assert abs(share_of_four(guest, append=append) - share) < 0.02


def test_nice_value_of_a_session(guest):
    """1024 beside 335, the weight of nice 5."""
    assert abs(share_of_four(guest, four="echo 5 > /proc/self/autogroup") - 335 / (335 + 1024)) < 0.02


def test_switch_counts_for_those_who_come_later(guest):
    assert abs(share_of_four(guest, f"echo 1 > {SWITCH}", append="") - 0.5) < 0.02
    assert abs(share_of_four(guest, f"echo 0 > {SWITCH}") - 0.8) < 0.02


def test_children_follow_the_switch(guest):
    """The sessions are there when it is switched; their hogs are forked afterwards, and leave the parent's group."""
    later = "sleep 0.2; (exec hog -n {} -t 1s); exit"
    on = share_of_four(guest, f"(sleep 0.1; echo 1 > {SWITCH}) &", later.format(4), later.format(1), append="")
    off = share_of_four(guest, f"(sleep 0.1; echo 0 > {SWITCH}) &", later.format(4), later.format(1))
    assert abs(on - 0.5) < 0.03 and abs(off - 0.8) < 0.03


def test_control_group_goes_before_the_session(guest):
    """The four hogs' session is nice 19, but they are in a control group of three times the other's weight.

    At 2 ns per instruction they move soon after they begin: what they got before counts against 0.02.
    """
    move = "echo 19 > /proc/self/autogroup; echo 0 > /cg/g/cgroup.procs"
    make = V1 + "mkdir g; echo 3072 > g/cpu.shares"
    assert abs(share_of_four(guest, make, move, shift=1) - 0.75) < 0.02
    back = move + "; echo 0 > /cg/cgroup.procs"
    assert abs(share_of_four(guest, make, back, shift=1) - 15 / (15 + 1024)) < 0.02


def test_real_time_threads_are_not_held_back(guest):
    assert share_of_four(guest, four="chrt -f -p 1 $$ > /dev/null") > 0.9


def test_files(guest):
    """Names, what is refused, and that what is refused changes nothing. The command itself is session 1."""
    console = guest(
        f"cat {SWITCH}; for v in 2 -1 x; do echo $v > {SWITCH}; done; cat {SWITCH}\n"
        "wc -c < /proc/1/autogroup; echo 3 > /proc/1/autogroup; ls /proc/1/task/1/autogroup\n"
        + SESSION.format("echo -5 > /proc/self/autogroup; cat /proc/self/autogroup; for v in 20 -21 abc 1x; "
                         "do echo $v > /proc/self/autogroup; done; cat /proc/self/autogroup")
        + SESSION.format("(cat /proc/self/autogroup; setsid cat /proc/self/autogroup); true"), append="autogroup")
    for line in ("1\n", "/autogroup-2 nice 0\n/autogroup-2 nice -5\n",
                 "/autogroup-3 nice 0\n/autogroup-3 nice 0\n/autogroup-4 nice 0\n"):
        assert line in console, console
    assert console.count(INVALID) == 3 + 1 + 4 and console.count("/autogroup-2 nice -5\n") == 2, console
    assert "/proc/1/task/1/autogroup: No such file" in console, console


def test_without_privilege(guest):
    """The second write follows the first at once; a privileged writer need not wait."""
    console = guest("echo guest::1000:1000::/tmp:/bin/sh >> /etc/passwd\n"
                    "setsid su guest -c 'for n in -1 5 6; do echo $n > /proc/self/autogroup; done; "
                    "cat /proc/self/autogroup'\nsetsid sh -c 'echo 7 > /proc/self/autogroup; cat /proc/self/autogroup'",
                    append="autogroup", icount=True)
    assert console.count(DENIED) == console.count(AGAIN) == 1, console
    assert " nice 5\n" in console and " nice 7\n" in console, console


@pytest.mark.nightly("a group that is not freed with its session")
def test_memory_comes_back(guest):
    """
    Each session has a group, of a kilobyte for each CPU and more; it goes with the session's last process. 300 groups
    that stay take 2,400 kB. Lists of free objects on eight CPUs, and processes that end while memory is counted, move
    the count by up to 400 kB.
    """
    console = guest("go() { for i in $(seq 300); do setsid sh -c '(true) & true'; done; grep MemFree /proc/meminfo; }\n"
                    "go; go; go", cpus=8, append="autogroup")
    free = [int(kb) for kb in re.findall(r"MemFree: +(\d+) kB", console)]
    assert len(free) == 3 and free[0] - free[2] < 1200, console

# SPDX-License-Identifier: GPL-2.0-only
"""Control groups from the shell: the text of the files, and that the CPU does what is written to them.

user/cgroupcheck compares values and errors with Linux's; it passes there, too (docs/cgroups.md).
"""

import re

import pytest

from tests.e2e.conftest import V1

V2 = "cd /sys/fs/cgroup; "
INVALID, RANGE, BUSY = "Invalid argument", "Numerical result out of range", "Device or resource busy"
ESRCH, AGAIN, READ_ONLY = "No such process", "Resource temporarily unavailable", "Read-only file system"


@pytest.mark.sampled(10, "a file of a group that is wrong on one size of machine")
@pytest.mark.parametrize("cpus, icount", [(1, True), (4, True), (8, False)])
def test_cgroupcheck(guest, cpus, icount):
    assert re.search(r"^[1-9]\d* passed, 0 failed$", guest("cgroupcheck", cpus=cpus, icount=icount), re.M)


def transcript(guest, setup, steps):
    """Each step is (command, what it prints); errors are the shell's and busybox's sentences."""
    lines = "".join(f"echo '= {i}'\n({command}) </dev/null 2>&1\n" for i, (command, _) in enumerate(steps))
    console = guest(f"{setup}\n{lines}true", cpus=2, icount=True)
    parts = re.split(r"^= \d+\n", console, flags=re.MULTILINE)[1:]
    assert len(parts) == len(steps)
    for (command, wanted), part in zip(steps, parts):
        printed = part.split("\n[")[0].strip()
        assert (wanted in printed) if wanted else not printed, f"{command}: {printed!r}, not {wanted!r}"


def test_a_new_machine_has_v2_and_what_it_cannot_do_fails(guest):
    """Nothing that is written where v2 is looked for is taken without effect."""
    transcript(guest, "cd /", [
        ("mount | grep cgroup; grep -c ' - cgroup2 cgroup2 rw$' /proc/self/mountinfo",
         "cgroup2 on /sys/fs/cgroup type cgroup2 (rw,relatime)\n1"),
        ("cat /proc/cgroups /proc/self/cgroup", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t1\n0::/"),
        ("cat /sys/fs/cgroup/cpu.stat", "usage_usec "), ("cd /sys/fs/cgroup/cpu", "can't cd to"),
        ("cd /sys/fs/cgroup; mkdir x; echo '1000 100000' > x/cpu.max", "can't create x/cpu.max: Permission denied"),
        ("cd /sys/fs/cgroup; echo +cpu > cgroup.subtree_control; echo '1000 100000' > x/cpu.max; cat x/cpu.max",
         "1000 100000"),
        ("cd /sys/fs/cgroup; echo abc def > x/cpu.max", INVALID), ("echo 0 > /sys/fs/cgroup/x/cpu.weight", RANGE),
        ("echo 99999 > /sys/fs/cgroup/x/cgroup.procs", ESRCH), ("echo > /sys/fs/cgroup/new", "Permission denied"),
        ("mount -o remount,ro /sys/fs/cgroup; mkdir /sys/fs/cgroup/y; rmdir /sys/fs/cgroup/x; ls -d /sys/fs/cgroup/*/",
         f"mkdir: can't create directory '/sys/fs/cgroup/y': {READ_ONLY}\n"
         f"rmdir: '/sys/fs/cgroup/x': {READ_ONLY}\n/sys/fs/cgroup/x/"),
    ])


def test_a_quota_as_debian_takes_it(guest):
    console = guest("echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/x; echo '10000 100000' > "
                    "/sys/fs/cgroup/x/cpu.max; echo $$ > /sys/fs/cgroup/x/cgroup.procs; hog -t 2s", cpus=1, icount=True)
    assert abs(float(re.search(r"^ *\d+ +0 +20\d\d\.\d +([\d.]+) ", console, re.M)[1]) - 200) < 20, console


def test_v2_has_the_controller_until_v1_is_asked_for(guest):
    mount = "mount -t cgroup -o cpu cgroup /cg"
    transcript(guest, "mkdir /cg; " + V2, [
        ("cat cgroup.controllers", "cpu"), ("mkdir g; echo +cpu > cgroup.subtree_control; cat g/cpu.weight", "100"),
        (f"{mount}; ls /cg", BUSY),  # v2 keeps what it uses
        ("echo -cpu > cgroup.subtree_control; rmdir g", ""), (f"{mount}; cat /cg/cpu.shares", "1024"),
        ("cat cgroup.controllers", ""), ("umount /cg; cat cgroup.controllers", "cpu"),
    ])


def test_v1_where_scripts_of_its_time_look(guest):
    """As systemd had it: a tmpfs over v2, and a directory for each controller."""
    transcript(guest, "mount -t tmpfs cgroup /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir cpu; "
               "mount -t cgroup -o cpu cgroup cpu; cd /", [
                   ("cd /sys/fs/cgroup/cpu; mkdir g; echo 20000 > g/cpu.cfs_quota_us; cat g/cpu.cfs_quota_us", "20000"),
                   ("cd /sys/fs/cgroup; rmdir cpu/g; umount cpu; cd /; umount /sys/fs/cgroup; "
                    "cat /sys/fs/cgroup/cgroup.controllers", "cpu"),
               ])


def test_v1_from_the_shell(guest):
    transcript(guest, V1, [
        ("mount | grep cgroup", "cgroup on /cg type cgroup (rw,relatime,cpu)"),
        ("cat /proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1"),
        ("cat /proc/self/cgroup", "1:cpu:/"),
        ("mkdir g g/h", ""), ("mkdir g", "File exists"),
        ("cat g/cpu.shares g/cpu.cfs_quota_us g/cpu.cfs_period_us g/cpu.cfs_burst_us g/cpu.idle",
         "1024\n-1\n100000\n0\n0"),
        ("cat g/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\nnr_bursts 0\nburst_time 0"),
        ("echo 0 > g/cpu.shares; cat g/cpu.shares", "2"), ("echo -1 > g/cpu.shares", INVALID),
        ("echo 18446744073709551616 > g/cpu.shares", RANGE), ("echo 1024 > cpu.shares", INVALID),
        ("echo 20000 > g/cpu.cfs_quota_us; echo 50000 > g/cpu.cfs_period_us; echo 30000 > g/cpu.cfs_burst_us", INVALID),
        ("echo 20000 > g/cpu.cfs_burst_us; cat g/cpu.cfs_burst_us", "20000"),
        ("echo 10000 > g/cpu.cfs_quota_us", INVALID),
        ("echo 0 > g/cpu.cfs_burst_us; echo 10000 > g/cpu.cfs_quota_us; cat g/cpu.cfs_quota_us", "10000"),
        ("echo 60000 > g/h/cpu.cfs_quota_us", INVALID),
        # Unlike Linux 6.1: a burst does not outlive its quota.
        ("echo 5000 > g/cpu.cfs_burst_us; echo -5 > g/cpu.cfs_quota_us; cat g/cpu.cfs_quota_us g/cpu.cfs_burst_us",
         "-1\n0"),
        ("echo $$ > g/h/tasks; cat /proc/$$/cgroup", "1:cpu:/g/h"),
        ("grep -c ^$$\\$ g/h/tasks", "1"), ("rmdir g/h", BUSY), ("rmdir g", BUSY),
        ("echo 99999 > g/tasks", ESRCH), ("echo abc > g/tasks", INVALID), ("echo -1 > g/cgroup.procs", INVALID),
        ("echo $$ > tasks; echo 0 > tasks; cd g/h; rmdir ../h; ls; cat tasks", "No such file or directory"),
        ("touch g/new", "Permission denied"), ("rm g/tasks", "Operation not permitted"),
        ("rmdir g/tasks", "Not a directory"), ("mv g i", "Operation not permitted"),
        ("rmdir g; ls -d */", "No such file"),
    ])


def test_v2_from_the_shell(guest):
    transcript(guest, V2, [
        ("cat cgroup.controllers; cat /proc/self/cgroup", "cpu\n0::/"),
        ("mkdir g; ls g | grep cpu", "cpu.stat"), ("echo cpu > cgroup.subtree_control", INVALID),
        ("echo +memory > cgroup.subtree_control", INVALID),
        ("echo +cpu > cgroup.subtree_control; cat g/cpu.weight g/cpu.weight.nice g/cpu.max g/cpu.max.burst",
         "100\n0\nmax 100000\n0"),
        ("echo 0 > g/cpu.weight", RANGE), ("echo 20 > g/cpu.weight.nice", RANGE),
        ("echo -5 > g/cpu.weight.nice; cat g/cpu.weight", "305"),
        ("echo 20000 50000 > g/cpu.max; cat g/cpu.max", "20000 50000"),
        ("echo 25000 > g/cpu.max.burst", INVALID), ("echo 20000 > g/cpu.max.burst", ""),
        ("echo abc > g/cpu.max", INVALID),
        ("echo max > g/cpu.max; cat g/cpu.max g/cpu.max.burst", "max 50000\n0"),
        ("cat g/cgroup.events g/cgroup.type g/cgroup.stat",
         "populated 0\nfrozen 0\ndomain\nnr_descendants 0\nnr_dying_descendants 0"),
        ("echo $$ > g/cgroup.procs; cat /proc/$$/cgroup; rmdir g", "0::/g\nrmdir: 'g': " + BUSY),
        ("echo $$ > cgroup.procs; mkdir /cg; mount -t cgroup -o cpu none /cg", BUSY),
        ("rmdir g; mount -t cgroup -o cpu none /cg; cat cgroup.controllers; cat /proc/self/cgroup",
         "1:cpu:/\n0::/"),
    ])


def nest(levels):
    """A shell command that makes a chain of groups, and says why it ends and how long it got."""
    return (f"d=.; n=0; for i in $(seq {levels}); do mkdir $d/d 2> /tmp/why || {{ sed 's/.*: //' /tmp/why; break; }}; "
            "d=$d/d; n=$i; done; echo $n")


def test_groups_do_not_nest_for_ever(guest):
    """A wakeup climbs through all levels with interrupts off, so there is a limit in either hierarchy."""
    transcript(guest, "cd /sys/fs/cgroup", [
        ("cat cgroup.max.depth", "32"), (nest(40), AGAIN + "\n32"), ("cat d/cgroup.max.depth", "max"),
        ("echo 40 > cgroup.max.depth; cd $(find . -type d | tail -n 1); " + nest(10), AGAIN + "\n8"),
        ("find . -depth -mindepth 1 -type d -exec rmdir {} \\;; ls -d */", "No such file"),
        (V1 + nest(40), AGAIN + "\n32"),
    ])


def test_groups_until_memory_is_out(guest):
    """mkdir reports it, no process is killed, programs go on, and when the groups are gone the memory is free again."""
    console = guest(f"show() {{ grep MemFree /proc/meminfo; }}; {V1}mkdir $(seq 2000); rmdir $(seq 2000); show\n"
                    "mkdir $(seq 20000) 2>&1 | tail -n 1; ls -d [0-9]* | wc -l; for n in 1 2 3; do (exit 1); done\n"
                    "rmdir $(ls -d [0-9]*); show; mkdir g; echo 512 > g/cpu.guaranteed_shares; rmdir g; echo well",
                    cpus=8, mem=64)
    assert "mkdir: can't create directory '20000': Cannot allocate memory" in console
    assert "\nwell\n" in console and "killing" not in console
    groups = int(re.search(r"^(\d+)$", console, re.M)[1])
    before, after = (int(kb) for kb in re.findall(r"MemFree: +(\d+) kB", console))
    assert groups > 2000 and before - after < 2000, console


# --- what the CPU does ------------------------------------------------------------------------------------------


def shares_of_groups(guest, make, hogs, file):
    """The share of one CPU that each group got in 4 s; hogs: group -> number of them; file: where members are."""
    start = "".join(f"(echo 0 > {group}/{file}; exec hog -n {nr} -t 60s >/dev/null) &\n" for group, nr in hogs.items())
    report = "".join(f"cat $(sed 's,.*,/proc/&/schedstat,' {group}/{file}) | "
                     f"awk '{{s += $1}} END {{print \"got\", s}}'\n" for group in hogs)
    console = guest(f"{make}\n{start}sleep 4\n{report}kill -9 $(pidof hog)\ntrue", cpus=1, icount=True)
    got = [float(ns) for ns in re.findall(r"^got ([\d.e+]+)", console, re.M)]
    assert len(got) == len(hogs)
    return [ns / sum(got) for ns in got]


def test_shares_are_of_groups_not_of_members(guest):
    a, b = shares_of_groups(guest, V1 + "mkdir a b; echo 3072 > a/cpu.shares", {"a": 1, "b": 4}, "tasks")
    assert abs(a - 0.75) < 0.01 and abs(b - 0.25) < 0.01


def test_weights_of_v2_nest(guest):
    make = (V2 + "mkdir a b a/x a/y; echo +cpu > cgroup.subtree_control; echo +cpu > a/cgroup.subtree_control; "
            "echo 200 > a/x/cpu.weight; echo 300 > a/cpu.weight")
    got = shares_of_groups(guest, make, {"a/x": 1, "a/y": 1, "b": 1}, "cgroup.procs")
    for share, ideal in zip(got, (0.5, 0.25, 0.25)):
        assert abs(share - ideal) < 0.01, got


def test_quota_and_its_statistics(guest):
    """20 ms of each 50 ms: 40 % of one CPU, throttled in (almost) every period for the rest of it."""
    console = guest(V1 + "mkdir g; echo 20000 > g/cpu.cfs_quota_us; echo 50000 > g/cpu.cfs_period_us\n"
                    "(echo 0 > g/tasks; exec hog -n 1 -t 1s) >/dev/null\ncat g/cpu.stat; rmdir g",
                    cpus=1, icount=True)
    stat = dict(re.findall(r"^(\w+) (\d+)$", console, re.M))
    assert 19 <= int(stat["nr_periods"]) <= 21 and 18 <= int(stat["nr_throttled"]) <= 21
    assert abs(int(stat["throttled_time"]) / 1e9 - 0.6) < 0.03


def test_wait_sum_with_schedstats(guest):
    """Two groups share a CPU for 1 s: each waits while the other runs. Without schedstats the line is missing."""
    console = guest(V1 + "mkdir a b; cat a/cpu.stat; echo 1 > /proc/sys/kernel/sched_schedstats\n"
                    "(echo 0 > b/tasks; exec hog -n 1 -t 1s) >/dev/null & (echo 0 > a/tasks; exec hog -n 1 -t 1s) "
                    ">/dev/null\nwait; cat a/cpu.stat", cpus=1, icount=True)
    before, after = console.split("nr_periods")[1:]
    assert "wait_sum" not in before
    waited = int(re.search(r"^throttled_time 0\nwait_sum (\d+)\nnr_bursts 0$", after, re.M)[1])
    assert abs(waited / 1e9 - 0.5) < 0.03


@pytest.mark.exact
def test_usage_in_v2_is_user_and_system_time(guest):
    console = guest(V2 + "mkdir g; echo +cpu > cgroup.subtree_control; echo 20000 50000 > g/cpu.max\n"
                    "(echo 0 > g/cgroup.procs; exec hog -n 1 -t 1s) >/dev/null\ncat g/cpu.stat", cpus=1, icount=True)
    stat = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", console, re.M)}
    assert abs(stat["usage_usec"] - 400_000) < 20_000
    assert stat["usage_usec"] == stat["user_usec"] + stat["system_usec"]
    assert abs(stat["throttled_usec"] - 600_000) < 30_000

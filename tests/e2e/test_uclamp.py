# SPDX-License-Identifier: GPL-2.0-only
"""Utilisation clamps in the kernel: the files of groups and of the machine, the system call, and what they do."""

import re

from tests.e2e.conftest import V1
from tests.e2e.test_cgroup import INVALID, RANGE, V2, transcript

OPP = {"append": "opp=juno-a53 governor=schedutil"}
SYSCTL = "/proc/sys/kernel/sched_util_clamp"
EFFECTIVE = 'grep effective /proc/self/sched | tr -s " "'


def with_speeds(guest):
    return lambda *args, **settings: guest(*args, **settings, **OPP)


def test_the_files_of_groups(guest):
    """As written, in percent with two decimals. A parent limits what is in force, not what is asked for."""
    transcript(with_speeds(guest), V2 + "mkdir g; echo +cpu > cgroup.subtree_control; cd g; mkdir h; "
               "echo +cpu > cgroup.subtree_control", [
        ("ls ../*uclamp*", "No such file"), ("cat cpu.uclamp.min cpu.uclamp.max", "0.00\nmax"),
        ("echo 20 > cpu.uclamp.min; cat cpu.uclamp.min", "20.00"),
        ("echo 33.337 > cpu.uclamp.max; cat cpu.uclamp.max", "33.34"),
        ("echo ' 7.5 ' > cpu.uclamp.min; cat cpu.uclamp.min", "7.50"),
        ("echo 100 > cpu.uclamp.max; cat cpu.uclamp.max", "max"),
        ("echo 99.95 > cpu.uclamp.max; cat cpu.uclamp.max", "99.95"),
        ("echo 99.96 > cpu.uclamp.max; cat cpu.uclamp.max", "max"),
        ("echo max > cpu.uclamp.min; cat cpu.uclamp.min", "max"),
        *((f"echo {bad} > cpu.uclamp.max", RANGE) for bad in ("100.01", "-1", "99999999999999999999")),
        *((f"echo {bad} > cpu.uclamp.max", INVALID) for bad in ("much", "''", ".5", "5.-1", "maximum", "+5")),
        ("cat cpu.uclamp.max", "max"),
        ("echo 50 > cpu.uclamp.max; echo 60 > h/cpu.uclamp.max; echo 10 > cpu.uclamp.min; echo 40 > h/cpu.uclamp.min; "
         "cat h/cpu.uclamp.*", "60.00\n40.00"),
        (f"sh -c 'echo 0 > h/cgroup.procs; {EFFECTIVE}'",
         "effective uclamp.min : 102\neffective uclamp.max : 512"),
        # The controller goes and comes back: a new group has new clamps.
        ("echo -cpu > cgroup.subtree_control; ls h/cpu.uclamp.max", "No such file"),
        ("echo +cpu > cgroup.subtree_control; cat h/cpu.uclamp.*", "max\n0.00"),
    ])


def test_the_files_of_v1(guest):
    transcript(with_speeds(guest), V1 + "mkdir g", [
        ("ls cpu.uclamp.min", "No such file"), ("cat g/cpu.uclamp.min g/cpu.uclamp.max", "0.00\nmax"),
        ("echo 25 > g/cpu.uclamp.max; cat g/cpu.uclamp.max", "25.00"),
        (f"sh -c 'echo 0 > g/tasks; {EFFECTIVE}'", "effective uclamp.min : 0\neffective uclamp.max : 256"),
    ])


def test_the_machine_limits_what_a_program_asks_for(guest):
    def shown(least, most):
        return f"util_clamp: min: {least} max: {most}"
    transcript(with_speeds(guest), "", [
        (f"cat {SYSCTL}_min {SYSCTL}_max {SYSCTL}_min_rt_default", "1024\n1024\n1024"),
        ("uclampset -p $$", shown(0, 1024)), ("uclampset -m 100 -M 300 sh -c 'uclampset -p $$'", shown(100, 300)),
        ("chrt -f 1 sh -c 'uclampset -p $$'", shown(1024, 1024)),
        ("uclampset -m 1025 true", INVALID), ("uclampset -m 301 -M 300 true", INVALID),
        ("uclampset -M 300 uclampset -m 301 true", INVALID),
        ("uclampset -m 100 -M 300 uclampset -m -1 -M -1 sh -c 'uclampset -p $$'", shown(0, 1024)),
        ("uclampset -R -m 100 sh -c 'uclampset -p $$; sh -c \"uclampset -p \\$\\$; true\"; true'", shown(0, 1024)),
        (f"echo 1025 > {SYSCTL}_max", INVALID), (f"echo -1 > {SYSCTL}_min", INVALID),
        (f"echo x > {SYSCTL}_min", INVALID),
        (f"echo 200 > {SYSCTL}_max", INVALID),  # less than the minimum
        (f"echo 200 > {SYSCTL}_min; echo 600 > {SYSCTL}_max; cat {SYSCTL}_*", "600\n200\n1024"),
        (f"uclampset -m 700 -M 800 sh -c '{EFFECTIVE}'", "effective uclamp.min : 200\neffective uclamp.max : 600"),
        (f"echo 300 > {SYSCTL}_min_rt_default; chrt -f 1 sh -c 'uclampset -p $$'", shown(300, 1024)),
    ])


def held(trace):
    """The frequency, in MHz, that one of CPU 0's changes chose for 80 ms or more, or the fastest."""
    changes = [(float(at), int(khz) // 1000) for at, khz in re.findall(r"([\d.]+): cpu_frequency: state=(\d+) cpu_id=0",
                                                                     trace)]
    return next((mhz for (at, mhz), (then, _) in zip(changes, [*changes[1:], (1e9, 0)]) if then - at > 0.08), 850)


def test_clamps_choose_the_frequency(guest):
    """f = 1.25 * clamped * 850 / 1024. Else a hog is fast."""
    runs = {"uclampset -M 400": 450, "": 850, "uclampset -M 600": 700, "chrt -f 1": 850,
            "uclampset -m 100 -M 500 chrt -f 1": 575, "uclampset -m 300": 850}
    text = guest("cd /sys/kernel/tracing; echo 1 > events/power/cpu_frequency/enable\n" +
                 "".join(f"echo > trace; {run} hog -t 100ms >/dev/null; echo '= '; cat trace\n" for run in runs),
                 cpus=1, icount=True, **OPP)
    assert [held(trace) for trace in text.split("\n= \n")[1:]] == list(runs.values())


def test_at_one_speed_there_are_none(guest):
    text = guest(f"{V1}uclampset -m 1 true; uclampset -p $$; ls {SYSCTL}_min */cpu.uclamp.min; mkdir g; "
                 f"ls g/cpu.uclamp.min; grep -c uclamp /proc/self/sched; true")
    assert "Not supported" in text and "min: 0 max: 0" in text and text.count("No such file") == 3
    assert re.search(r"^0\b", text, re.MULTILINE)

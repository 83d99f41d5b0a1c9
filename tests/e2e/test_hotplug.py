# SPDX-License-Identifier: GPL-2.0-only
"""CPUs taken out of service and back through Linux's file, and what programs see of it."""

import re

import pytest

from tests.e2e.conftest import V1, dynamic_program

CPU = "cd /sys/devices/system/cpu; "


def test_a_cpu_leaves_and_comes_back_for_everybody_who_asks(guest):
    text = guest(CPU + "echo 0 > cpu2/online; echo $(cat online offline cpu2/online present) nproc=$(nproc); "
                 "grep -c ^processor /proc/cpuinfo; grep '^cpu[0-9]' /proc/stat | wc -l; echo cpu2/*; "
                 "ls /sys/kernel/debug/sched/domains | grep -c cpu2; echo 1 > cpu2/online; "
                 "echo $(cat online) nproc=$(nproc); echo cpu2/*", icount=True)
    lines = text.replace("\r", "").splitlines()
    assert "0-1,3 2 0 0-3 nproc=3" in lines and "0-3 nproc=4" in lines
    at = lines.index("0-1,3 2 0 0-3 nproc=3")
    assert lines[at + 1:at + 5] == ["3", "3", "cpu2/online", "0"]
    assert {"cpu2/topology", "cpu2/cache", "cpu2/node0"} <= set(" ".join(lines[at + 5:]).split())


# How Linux reads words, by the first letter or two; None: EINVAL, and nothing changes.
WORDS = {"1": 1, "y": 1, "Y": 1, "on": 1, "oN": 1, "1x": 1, "0": 0, "n": 0, "N": 0, "off": 0, "OF": 0, "01": 0,
         "0x1": 0, "2": None, "-1": None, "x": None, "": None, " 1": None, "true": None, "f": None, "o": None,
         "ox": None}


def test_words_are_read_as_linux_reads_them(guest):
    """Each word is written to a CPU in service and to one that is not. An empty write (a NUL) is not a word either."""
    words = [f"{word}\\n" for word in WORDS] + ["\\0", "1", "0"]
    expected = [*WORDS.values(), None, 1, 0]
    text = guest(CPU + "".join(f"for was in 0 1; do echo $was > cpu1/online; printf '{word}' > cpu1/online; "
                               f"echo '= {i}' $was $? $(cat cpu1/online); done; " for i, word in enumerate(words)))
    found = re.findall(r"^= (\d+) (\d) (\d) (\d)\s*$", text, re.M)
    assert [tuple(map(int, line)) for line in found] == [
        (i, was, int(value is None), was if value is None else value)
        for i, value in enumerate(expected) for was in (0, 1)]


def test_more_than_a_page_and_files_that_are_only_read(boot):
    text = boot(CPU + "head -c 5000 /dev/zero > cpu1/online || echo refused; echo 0 > online || echo refused; "
                "echo 0 > cpu0/online || echo refused; echo 0 > cpu4/online || echo refused; "
                "mkdir cpu4 || echo refused; rm cpu1/online || echo refused; cat online").console
    assert len(re.findall(r"^refused\s*$", text, re.M)) == 6 and re.search(r"^0-3\s*$", text, re.M)


def test_affinity_and_cpus_out_of_service(boot):
    """An affinity to offline CPUs alone is refused; a task with no other CPU left may run anywhere, and the console
    says so."""
    outcome = boot(CPU + "(taskset 4 hog -t 400ms; echo done) & sleep 0.1; echo 0 > cpu2/online; sleep 0.1; "
                   "taskset 4 true; wait; dmesg | grep affine", icount=True)
    text = outcome.console
    assert re.search(r"process \d+ \(hog\) no longer affine to cpu2", text) and "\ndone" in text.replace("\r", "")
    assert "Invalid argument" in text


SPIN = "sh -c 'while :; do :; done'"
MASK = "mask() { taskset -p $1 | sed 's/.*: //'; }; "


def test_a_task_that_lost_its_cpu_does_not_go_back(guest):
    """As on Linux 6.1: it may run anywhere from then on. One that has another CPU left keeps its mask, and a sleeper
    keeps its own until it wakes up."""
    text = guest(f"{CPU}{MASK}taskset c {SPIN} & all=$!; taskset 4 {SPIN} & all=\"$all $!\"; "
                 "taskset 4 sleep 9 & all=\"$all $!\"; sleep 0.1; "
                 "for online in 0 1; do echo $online > cpu2/online; sleep 0.1; for p in $all; do "
                 "echo $(mask $p) $(sed -n 's/Cpus_allowed://p' /proc/$p/status); done; done; kill $all", icount=True)
    assert re.findall(r"^(\w+ \w+)\s*$", text, re.M) == ["8 c", "b f", "0 4", "c c", "f f", "4 4"], text


def test_affinity_may_name_cpus_out_of_service_beside_others(guest):
    """CPUs of the mask count when they are back; a running task follows at once."""
    text = guest(f"{CPU}{MASK}echo 0 > cpu3/online; {SPIN} & sleep 0.05; "
                 "try() { taskset -p $1 $! > /dev/null; show; }; "
                 "show() { sleep 0.05; echo $(mask $!) on $(cut -d' ' -f39 /proc/$!/stat); }; "
                 "try 8; try c; try 2; try a; echo 1 > cpu3/online; show; try 8; kill $!", icount=True)
    (all_three, _), *moved, (both, somewhere), back = re.findall(r"^(\w+) on (\d)\s*$", text, re.M)
    assert text.count("Invalid argument") == 1 and all_three == "7"
    assert moved == [("4", "2"), ("2", "1"), ("2", "1")]
    assert both == "a" and somewhere in "13" and back == ("8", "3"), text


def test_the_threads_that_stop_cpus_cannot_be_moved(guest):
    text = guest(CPU + "echo 0 > cpu3/online; echo 1 > cpu3/online; for c in 0 1 2 3; do "
                 "p=$(ps -o pid,comm | awk -v name=migration/$c '$2 == name { print $1 }'); "
                 "taskset -p 1 $p || taskset -p 2 $p || chrt -o -p 0 $p || chrt -f -p 1 $p || kill -9 $p; "
                 "echo $c $(taskset -p $p); done; echo 0 > cpu3/online; cat online", icount=True)
    assert text.count("Invalid argument") == 16 and re.search(r"^0-2\s*$", text, re.M)
    assert re.findall(r"^(\d) pid \d+'s current affinity mask: (\w)\s*$", text, re.M) == list(zip("0123", "1248"))


CHCPU = [
    ("-d 2", "CPU 2 disabled", 0), ("-d 2", "CPU 2 is already disabled", 0), ("-e 2", "CPU 2 enabled", 0),
    ("-e 2", "CPU 2 is already enabled", 0), ("-d 0", "CPU 0 is not hot pluggable", 64),
    ("-d 4", "CPU 4 does not exist", 64), ("-c 1", "CPU 1 is not configurable", 64), ("-d 0-3", "CPU 3 disabled", 64),
    ("-e 1-3", "CPU 1 enabled", 0),
]


def test_chcpu_and_taskset_of_this_system(guest):
    """Unmodified programs of util-linux, which read more files than they write."""
    programs = [dynamic_program(path) for path in ("/usr/sbin/chcpu", "/usr/bin/taskset")]
    text = guest("".join(put for put, _ in programs) + "cd /root; chmod +x chcpu taskset; " +
                 "".join(f"echo '= {i}'; ./chcpu {words}; echo status $?; " for i, (words, _, _) in enumerate(CHCPU)) +
                 "echo '= end'; ./taskset -cp 0,2-3 $$; ./taskset -cp 99 $$; ./taskset -p 0 $$; "
                 "./taskset -p 80000000000000000000000000000000000000000000000000000000000000000000000000000000 $$; "
                 "./chcpu -d 3; ./taskset -c 3 true; ./taskset -cp 3 $$; ./taskset -cp $$",
                 files={name: data for _, files in programs for name, data in files.items()}, icount=True)
    parts = re.split(r"^= \w+\s*\n", text.replace("\r", ""), flags=re.M)
    for (words, said, status), part in zip(CHCPU, parts[1:], strict=False):
        assert said in part and f"status {status}\n" in part, f"chcpu {words}: {part}"
    assert parts[-1].count("Invalid argument") == 5
    assert re.findall(r"affinity list: (\S+)$", parts[-1], re.M) == ["0-3", "0,2,3", "0,2,3", "0,2", "0,2"], parts[-1]


def test_domains_after_a_cpu_came_back_are_those_of_before(guest):
    """Linux lost the upper levels until 4.9 or so ("missing scheduling domains")."""
    dump = "(cd /sys/kernel/debug/sched/domains; for f in */*/name */*/flags */*/min_interval; do echo $f $(cat $f); " \
        "done; grep -o '^domain[0-9]* [0-9a-f,]*' /proc/schedstat)"
    text = guest(f"{dump} > /tmp/before; {CPU} echo 0 > cpu5/online; {dump} > /tmp/without; echo 1 > cpu5/online; "
                 f"{dump} > /tmp/after; cmp /tmp/before /tmp/after && echo same; cmp -s /tmp/before /tmp/without || "
                 "echo differed; grep -c NUMA /tmp/before; hog -n 16 -t 600ms", cpus=8, append="topology=2x1x2x2",
                 icount=True)
    assert "same" in text.split() and "differed" in text.split() and re.search(r"^16\s*$", text, re.M)
    shares = [float(ms) for ms in re.findall(r"^  \d+ +0 +[\d.]+ +([\d.]+) ", text, re.M)]
    assert len(shares) == 16 and min(shares) > 200, text


def test_timers_and_quotas_survive_their_cpu(guest):
    """The CPU that leaves had a sleeper's timer and the period of a quota."""
    text = guest(V1 + "mkdir g; cd g; echo 20000 > cpu.cfs_quota_us; "
                 "(echo 0 > tasks; exec taskset c hog -n 2 -t 1s > /dev/null) & (taskset 4 sleep 0.5; echo slept) & "
                 "sleep 0.15; echo 0 > /sys/devices/system/cpu/cpu2/online; wait; grep nr_throttled cpu.stat",
                 icount=True)
    assert "slept" in text.split() and int(re.search(r"nr_throttled (\d+)", text)[1]) >= 8


def test_empty_masks_and_those_beyond_the_machine_change_nothing(guest):
    text = guest("taskset -p 5 $$; for mask in 0 100 f0; do taskset -p $mask $$; done; taskset -p $$", icount=True)
    assert text.count("Invalid argument") == 3 and re.search(r"current affinity mask: 5\s*$", text, re.M)


def test_the_last_cpu_stays(guest):
    """All CPUs except CPU 0 can leave, and their tasks go on there."""
    text = guest(CPU + "(hog -n 4 -t 300ms > /dev/null; echo ended) & for c in 1 2 3; do echo 0 > cpu$c/online; done; "
                 "ls cpu0/online; cat online; wait; nproc", icount=True)
    lines = text.replace("\r", "").splitlines()
    assert "0" in lines and "ended" in lines and "1" in lines and "cpu0/online: No such file" in text


@pytest.mark.nightly("a task that is lost when CPUs come and go")
def test_storm(guest):
    """A storm with the invariants that every build checks; docs/machine.md has longer ones, with all of them."""
    text = guest("hotplugstorm -n 150; hotplugstorm -t 20ms", cpus=8, icount=True)
    stalls = re.findall(r"^(\d+) changes on 8 CPUs under 24 tasks: longest change ([\d.]+) ms, longest stall of a task "
                        r"([\d.]+) ms, tasks lost 0\s*$", text, re.M)
    assert text.count("  ok  ") == 10 and "FAIL" not in text
    assert len(stalls) == 2 and stalls[0][0] == "150"
    assert all(0 < float(ms) < 1000 for _, *times in stalls for ms in times)

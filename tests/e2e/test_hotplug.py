"""CPUs out of service and back, through Linux's file, and what programs see of it."""

import re

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


def test_wrong_words_and_the_first_cpu(boot):
    outcome = boot(CPU + "echo 2 > cpu1/online; echo x > cpu1/online; ls cpu0/online; cat online")
    assert outcome.console.count("Invalid argument") == 2 and "cpu0/online: No such file" in outcome.console
    assert re.search(r"^0-3\s*$", outcome.console, re.M)


def test_affinity_and_cpus_out_of_service(boot):
    """Refused for those alone; a task that has no other CPU left may run anywhere, and the console says so."""
    outcome = boot(CPU + "(taskset 4 hog -t 400ms; echo done) & sleep 0.1; echo 0 > cpu2/online; sleep 0.1; "
                   "taskset 4 true; wait; dmesg | grep affine", icount=True)
    text = outcome.console
    assert re.search(r"process \d+ \(hog\) no longer affine to cpu2", text) and "\ndone" in text.replace("\r", "")
    assert "Invalid argument" in text


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
    """A sleeper's timer, and the period of a quota, were on the CPU that leaves."""
    text = guest("mkdir /sys/fs/cgroup/cpu/g; cd /sys/fs/cgroup/cpu/g; echo 20000 > cpu.cfs_quota_us; "
                 "(echo 0 > tasks; exec taskset c hog -n 2 -t 1s > /dev/null) & (taskset 4 sleep 0.5; echo slept) & "
                 "sleep 0.15; echo 0 > /sys/devices/system/cpu/cpu2/online; wait; grep nr_throttled cpu.stat",
                 icount=True)
    assert "slept" in text.split() and int(re.search(r"nr_throttled (\d+)", text)[1]) >= 8


def test_empty_masks_and_those_beyond_the_machine_change_nothing(guest):
    text = guest("taskset -p 5 $$; for mask in 0 100 f0; do taskset -p $mask $$; done; taskset -p $$", icount=True)
    assert text.count("Invalid argument") == 3 and re.search(r"current affinity mask: 5\s*$", text, re.M)


def test_the_last_cpu_stays(guest):
    """All others can leave, and what they ran goes on there."""
    text = guest(CPU + "(hog -n 4 -t 300ms > /dev/null; echo ended) & for c in 1 2 3; do echo 0 > cpu$c/online; done; "
                 "ls cpu0/online; cat online; wait; nproc", icount=True)
    lines = text.replace("\r", "").splitlines()
    assert "0" in lines and "ended" in lines and "1" in lines and "cpu0/online: No such file" in text


def test_storm(guest):
    """With every invariant that is checked in any build; docs/machine.md has longer ones, with all of them."""
    text = guest("hotplugstorm -n 150; hotplugstorm -t 20ms", cpus=8, icount=True)
    stalls = re.findall(r"^(\d+) changes on 8 CPUs under 24 tasks: longest change ([\d.]+) ms, longest stall of a task "
                        r"([\d.]+) ms, tasks lost 0\s*$", text, re.M)
    assert text.count("  ok  ") == 10 and "FAIL" not in text
    assert len(stalls) == 2 and stalls[0][0] == "150"
    assert all(0 < float(ms) < 1000 for _, *times in stalls for ms in times)

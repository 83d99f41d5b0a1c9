# SPDX-License-Identifier: GPL-2.0-only
"""isolcpus=: CPUs in no domain, for those alone whose affinity names them (docs/machine.md)."""

import re

import pytest

FILES = "cat /sys/devices/system/cpu/isolated; nproc; ls /sys/kernel/debug/sched/domains/cpu{}; taskset -p 1"


def test_they_have_no_domain_and_nobody_is_allowed_them(guest):
    text = guest("\n".join(FILES.format(cpu) for cpu in (2, 0)), cpus=4, append="isolcpus=2,3")
    assert re.findall(r"^\d.*$", text, re.M) == ["2-3", "2", "2-3", "2"]
    assert text.count("domain0") == 1 and text.count("affinity mask: 3") == 2


@pytest.mark.parametrize("sched", ["cfs", "eevdf", "bore", "fdl"])
def test_hogs_stay_off_them(guest, sched):
    """Four hogs on two CPUs; two on one isolated CPU, of which nobody balances the other."""
    text = guest("taskset -c 2,3 hog -n 2 -t 1s > /tmp/there &\nhog -n 4 -t 1s; wait; echo =; cat /tmp/there",
                 cpus=4, icount=True, append=f"isolcpus=2,3 sched={sched}")
    here, there = ([float(ms) for ms in re.findall(r"^ *\d+ +0 +[\d.]+ +([\d.]+)", part, re.M)]
                   for part in text.split("\n=\n"))
    assert len(here) == 4 and all(400 < ms < 600 for ms in here), text
    assert len(there) == 2 and all(400 < ms < 600 for ms in there), text


def test_affinity_brings_tasks_there_and_away(guest):
    text = guest("for mask in 4 3 f; do taskset -p $mask $$ > /dev/null; cut -d' ' -f39 /proc/self/stat; "
                 "taskset -p $$; done", cpus=4, append="isolcpus=2,3")
    assert re.findall(r"^(\d)$", text, re.M)[0] == "2" and set(re.findall(r"^(\d)$", text, re.M)[1:]) <= {"0", "1"}
    assert re.findall(r"affinity mask: (\w)", text) == ["4", "3", "f"]


@pytest.mark.parametrize("value, isolated, said", [
    ("domain,1-2", "1-2", None),
    ("0-3", "1-3", "isolcpus=0-3: CPU 0 is not isolated, because one must be left"),
    ("7", "", None),
    ("2-1", "", "isolcpus=2-1: not a list of CPUs, as 2-3,5; none is isolated"),
    ("nohz,2", "", "isolcpus=nohz,2: not a list of CPUs, as 2-3,5; none is isolated"),
    ("", "", "isolcpus=: not a list of CPUs, as 2-3,5; none is isolated"),
])
def test_lists(guest, value, isolated, said):
    text = guest("echo =$(cat /sys/devices/system/cpu/isolated)=", cpus=4, append=f"isolcpus={value}")
    assert f"={isolated}=" in text
    assert said in text if said else "isolated" not in text


def test_an_isolated_cpu_leaves_and_comes_back(guest):
    online = "/sys/devices/system/cpu/cpu3/online"
    text = guest(f"echo 0 > {online}; echo 1 > {online}; cat /sys/devices/system/cpu/isolated\n"
                 "ls /sys/kernel/debug/sched/domains/cpu3; ls /sys/kernel/debug/sched/domains/cpu1",
                 cpus=4, append="isolcpus=3")
    assert re.search(r"^3$", text, re.M) and text.count("domain0") == 1

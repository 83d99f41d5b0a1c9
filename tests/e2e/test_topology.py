# SPDX-License-Identifier: GPL-2.0-only
"""The shape of the machine: the parameter topology=, and how unmodified programs and Linux's files show it."""

import os
import re
import shutil
import subprocess

import pytest

# Shapes of 8 CPUs: how they are made, and (core, socket, node, caches) of each CPU as lscpu -e shows them.
BY_PARAMETER = {
    "8x1": [(i, 0, 0, (i, i, i, 0)) for i in range(8)],
    "4x2": [(i // 2, 0, 0, (i // 2, i // 2, i // 2, 0)) for i in range(8)],
    "2x2x1x2": [(i // 2, i // 4, i // 4, (i // 2, i // 2, i // 2, i // 2)) for i in range(8)],
    "nodes=1,packages=2,cores=4": [(i, i // 4, 0, (i, i, i, i // 4)) for i in range(8)],
}
BY_QEMU = {
    "8,sockets=2,dies=1,cores=2,threads=2": [(i // 2, i // 4, i // 4, (i // 2, i // 2, i // 2, i // 4))
                                             for i in range(8)],
}


@pytest.fixture
def lscpu(guest):
    """lscpu(options, ...) runs this machine's own lscpu, with its interpreter and libraries, in the guest."""
    program = shutil.which("lscpu")
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout if program else ""
    paths = [program] + re.findall(r"(/\S+) \(0x", loaded)
    if len(paths) < 2:
        pytest.skip("no dynamically linked lscpu here")

    def run(script, **how):
        files = {f"/root/file{i}": open(path, "rb").read() for i, path in enumerate(paths)}
        put = "".join(f"mkdir -p {os.path.dirname(path)}; cp /root/file{i} {path}; " for i, path in enumerate(paths))
        return guest(f"{put} PATH=$PATH:{os.path.dirname(program)}; {script}", files=files, icount=True,
                     **how).replace("\r", "")
    return run


def rows(text):
    """CPU number -> (core, socket, node, caches), from the lines of lscpu -p=cpu,core,socket,node,cache."""
    found = re.findall(r"^(\d+),(\d+),(\d+),(\d+),,([\d,]+)$", text, re.M)
    return {int(cpu): (int(core), int(socket), int(node), tuple(map(int, caches.split(","))))
            for cpu, core, socket, node, caches in found}


@pytest.mark.parametrize("shape", BY_PARAMETER)
def test_lscpu_sees_the_shape_that_was_asked_for(lscpu, shape):
    text = lscpu("lscpu -p=cpu,core,socket,node,cache; lscpu", cpus=8, append=f"topology={shape}")
    assert rows(text) == dict(enumerate(BY_PARAMETER[shape])), text
    nodes = BY_PARAMETER[shape][-1][2] + 1
    assert re.search(rf"NUMA node\(s\): +{nodes}$", text, re.M)
    assert re.search(r"On-line CPU\(s\) list: +0-7$", text, re.M)


@pytest.mark.parametrize("shape", BY_QEMU)
def test_lscpu_sees_what_qemu_built(lscpu, shape):
    text = lscpu("lscpu -p=cpu,core,socket,node,cache", smp=shape, numa=2)
    assert rows(text) == dict(enumerate(BY_QEMU[shape])), text


@pytest.mark.parametrize("shape, why", [
    ("3x1", "topology '3x1' has 3 CPUs, this machine 4; ignored"),
    ("2xx2", "topology '2xx2': '' is not a number of cores from 1 to 256; ignored"),
    ("caches=4", "topology 'caches=4': no level 'caches'"),
    ("0", "topology '0': '0' is not a number of threads from 1 to 256; ignored"),
    ("4xa", "topology '4xa': 'a' is not a number of threads from 1 to 256; ignored"),
    ("65536x65537", "topology '65536x65537': '65536' is not a number of cores from 1 to 256; ignored"),
    ("16x16x16", "topology '16x16x16' has more than 256 CPUs; ignored"),
    ("cores=1" + 300 * "+1", ": cores lists more than 256 numbers; ignored"),
])
def test_a_shape_that_does_not_fit_is_ignored_with_the_reason(guest, shape, why):
    text = guest("cat /sys/devices/system/cpu/cpu0/topology/core_siblings_list", append=f"topology={shape}")
    assert why in text and re.search(r"^0-3\s*$", text, re.M)
    assert re.search(r"^\[[ .\d]+\] topology: 4 CPUs, 1 node\s*$", text, re.M)


DOMAINS = "cd /sys/kernel/debug/sched/domains/cpu5; "


def test_domains_are_those_of_the_shape(guest):
    text = guest(DOMAINS + "for d in domain*; do echo $d $(cat $d/name) $(cat $d/min_interval $d/imbalance_pct); done",
                 cpus=8, append="topology=2x1x2x2")
    assert re.findall(r"^(domain\d) (\w+) (\d+) (\d+)\s*$", text, re.M) == [
        ("domain0", "SMT", "2", "110"), ("domain1", "MC", "4", "117"), ("domain2", "NUMA", "8", "117")]


def test_domain_files_take_numbers_and_refuse_the_rest(guest):
    text = guest(DOMAINS + "echo 32 > domain0/busy_factor; cat domain0/busy_factor; "
                 "echo 5x > domain0/busy_factor; echo MC > domain0/name; cat domain0/busy_factor domain0/name", cpus=8)
    assert len(re.findall(r"^32\s*$", text, re.M)) == 2 and re.search(r"^MC\s*$", text, re.M)
    assert text.count("Invalid argument") == 2

# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files of Debian's kernels 6.1 and 6.12, beside perf's own table and a reader that knows only perf's layout.

Debian's linux-perf 6.1.187 recorded them, `perf sched record -e sched:sched_wakeup mix -t 120ms hog:n=3
burst:n=2,run=711us,sleep=2713us`, on two CPUs of QEMU. The kernels are those of `sh tools/setup.sh --compare`.
"""

import csv
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[1] / "tools"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
FILES = {"6.1.0-56-cloud-amd64": "linux-6.1.data.xz", "6.12.117+deb12-cloud-amd64": "linux-6.12.data.xz"}
PREEMPTED = 0x100  # of prev_state: perf 6.1 has no letter for it, and misses the wait that begins there
ROW = re.compile(r"^ +(\S.*?):(\d+) +\| +([\d.]+) ms \| +(\d+) \| avg: *([\d.]+) ms \| max: *([\d.]+) ms "
                 r"\| max start: *([\d.]+) s \| max end: *([\d.]+) s", re.MULTILINE)

pytestmark = pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")


class Switch(NamedTuple):
    ns: int
    cpu: int
    left: int
    state: int
    came: int


class Sample(NamedTuple):
    """A sample as it is in the file: @raw is the kernel's own record, whose first two bytes say which event it is."""

    ns: int
    cpu: int
    raw: bytes


def perf(*words):
    return subprocess.run(["perf", *map(str, words)], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout


def fairground(*words):
    done = subprocess.run([PYTHON, "-m", "fairground", *map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(TOOLS)}, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def samples(path):
    """The samples of a file: identifier, address, thread, time, CPU, period, and the kernel's record."""
    data, found = path.read_bytes(), []
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, length = struct.unpack_from("<I2xH", data, at)
        if kind == 9:
            _, _, _, _, ns, cpu, _, raw = struct.unpack_from("<QQIIQI4xQI", data, at + 8)
            found.append(Sample(ns, cpu, data[at + 60:at + 60 + raw]))
        at += length
    return sorted(found)


class Recorded:
    """A file, and what the reader above finds in it."""

    def __init__(self, path, release):
        self.path, self.release = path, release
        ids = {name: int(config, 16) for name, config in re.findall(
            r"^sched:(\w+):.*? config: (0x[0-9a-f]+)", perf("evlist", "-v", "--force", "-i", path), re.MULTILINE)}
        self.samples = samples(path)
        of = {name: [s for s in self.samples if s.raw[:2] == struct.pack("<H", nr)] for name, nr in ids.items()}
        self.switches = [Switch(s.ns, s.cpu, *struct.unpack_from("<i4xq", s.raw, 24),
                                *struct.unpack_from("<i", s.raw, 56)) for s in of["sched_switch"]]
        self.charges = [struct.unpack_from("<i4xQ", s.raw, 24) for s in of["sched_stat_runtime"]]

    def missed(self, pid):
        """How many waits of @pid begin with a preemption in the kernel and end in the file: perf switches its events
        on and off CPU by CPU, so that of the thread perf itself some arrivals are not there."""
        own = [s for s in self.switches if pid in (s.left, s.came)]
        return sum(one.left == pid and one.state == PREEMPTED and other.came == pid for one, other in zip(own, own[1:]))


@pytest.fixture(scope="module", params=FILES)
def recorded(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("linux") / "p.data"
    path.write_bytes(lzma.decompress((HERE / FILES[request.param]).read_bytes()))
    return Recorded(path, request.param)


def table_of(text):
    """pid -> (run time, switches, mean and longest wait in ms, begin and end of the longest in s)"""
    rows = {int(pid): tuple(map(float, values)) for _, pid, *values in ROW.findall(text)}
    assert rows, text
    return rows


def test_latency_is_perf_sched_latency(recorded):
    """Each thread has the waits that perf counts, and those that begin with a preemption in the kernel."""
    ours, perfs = (table_of(text) for text in (
        fairground("latency", "--pids", recorded.path), perf("sched", "latency", "--force", "-p", "-i", recorded.path)))
    assert set(ours) == set(perfs) and len(ours) > 10 and sum(row[1] for row in perfs.values()) > 150
    compared = 0
    for pid, (_, switches, *times) in perfs.items():
        assert ours[pid][1] == switches + recorded.missed(pid), pid
        if recorded.missed(pid):
            continue
        compared += 1
        assert all(abs(one - other) < 0.0011 for one, other in zip(ours[pid][2:4], times)), (pid, ours[pid], times)
        assert all(0 <= one - other < 1.1e-6 for one, other in zip(ours[pid][4:], times[2:])), (pid, ours[pid])
    assert compared >= len(perfs) - 1
    for pid, row in perfs.items():
        assert abs(sum(ns for who, ns in recorded.charges if who == pid) / 1e6 - row[0]) < 0.0006, pid


def test_convert_has_every_switch_of_the_file(recorded, tmp_path):
    out = tmp_path / "events.csv"
    told = fairground("convert", recorded.path, "--table", "events", "-o", out)
    assert told.endswith(f": {len(recorded.samples)} events\n") and len(recorded.switches) > 150
    with open(out, encoding="utf-8", newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["event"] == "sched_switch"]
    names = ("time_ns", "on_cpu", "prev_pid", "prev_state", "next_pid")
    assert [Switch(*(int(row[name]) for name in names)) for row in rows] == recorded.switches


def test_pictures_have_the_files_busy_time(recorded, tmp_path):
    """The time of each CPU is that between the switches to another task than the idle one, by the raw records; of the
    waits of the picture perf knows all but those that it misses, and the beginnings and ends of the recording."""
    text = fairground("graph", "dat2graph2", recorded.path, "-o", tmp_path / "x.svg")
    first, last = recorded.samples[0].ns, recorded.samples[-1].ns
    for cpu in (0, 1):
        there = [s for s in recorded.switches if s.cpu == cpu]
        spans = zip([Switch(first, cpu, 0, 0, there[0].left), *there], [s.ns for s in there] + [last])
        busy = sum(end - s.ns for s, end in spans if s.came)
        row = re.search(rf"^ +{cpu} +([\d.]+) +[\d.]+ +\d+", text, re.MULTILINE)
        assert row and float(row[1]) * 1e6 == pytest.approx(busy, rel=0.001), text
    assert f"Linux {recorded.release}" in (tmp_path / "x.svg").read_text(encoding="utf-8").replace("&#43;", "+")
    text = fairground("graph", "running_waiting", recorded.path, "-o", tmp_path / "y.svg")
    waited = float(re.search(r"waiting, red minus green +([\d.]+) task ms", text)[1])
    known = sum(row[1] * row[2] for row in table_of(
        perf("sched", "latency", "--force", "-p", "-i", recorded.path)).values())
    assert waited == pytest.approx(known, rel=0.01), text

# SPDX-License-Identifier: GPL-2.0-only
"""perf.data files of Debian's kernels 6.1 and 6.12, beside perf's own table and a reader that knows only perf's layout.

Debian's linux-perf 6.1.187 recorded them, `perf sched record -e sched:sched_wakeup mix -t 120ms hog:n=3
burst:n=2,run=711us,sleep=2713us`, on two CPUs of QEMU. The kernels are those of `sh tools/setup.sh --compare`.
"""

import csv
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[1] / "tools"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
FILES = {"6.1.0-56-cloud-amd64": "linux-6.1.data.xz", "6.12.117+deb12-cloud-amd64": "linux-6.12.data.xz"}
PREEMPTED = 0x100  # of prev_state, amid kernel code: perf 6.1 has no letter for it, and misses the wait that begins
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


def ended(*words):
    return subprocess.run([PYTHON, "-m", "fairground", *map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(TOOLS)}, check=False)


def fairground(*words):
    done = ended(*words)
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
        self.wakeups = [(s.ns, struct.unpack_from("<i", s.raw, 24)[0]) for name in ("sched_wakeup", "sched_wakeup_new")
                        for s in of.get(name, ())]
        self.charges = [struct.unpack_from("<i4xQ", s.raw, 24) for s in of["sched_stat_runtime"]]

    def delays(self):
        """For each switch how long before its turn the thread that leaves had been woken; 0 if it was not."""
        events = sorted([(s.ns, 1, s) for s in self.switches] + [(ns, 0, pid) for ns, pid in self.wakeups])
        ready, before, found = {}, {}, []
        for ns, is_switch, what in events:
            if not is_switch:
                ready.setdefault(what, ns)
                continue
            found.append(before.pop(what.cpu, 0))
            if what.state & 0xff:
                ready.pop(what.left, None)
            before[what.cpu] = ns - ready.pop(what.came, ns) if what.came else 0
        return found

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
    waited = float(re.search(r"waiting, the red area +([\d.]+) task ms", text)[1])
    known = sum(row[1] * row[2] for row in table_of(
        perf("sched", "latency", "--force", "-p", "-i", recorded.path)).values())
    assert waited == pytest.approx(known, rel=0.01), text


# A line of perf sched timehist: time, CPU, name, pid or nothing, wait, delay and run time
TURN = re.compile(r"^ +([\d.]+) \[(\d+)\]  (?:.*\[(\d+)\]|<idle>) +([\d.]+|-) +([\d.]+|-) +([\d.]+|-) *$", re.MULTILINE)


def test_timehist_is_perf_sched_timehist(recorded):
    """Every turn with perf's times. perf takes a delay from sched_waking, and sometimes one of long ago; ours is from
    the sched_wakeup. Where perf prints 0.000 of a time that the file does not tell, ours is -."""
    ours, perfs = (TURN.findall(text) for text in (
        fairground("timehist", recorded.path), perf("sched", "timehist", "--force", "-i", recorded.path)))
    assert len(ours) == len(recorded.switches)
    as_perf = [tuple("0.000" if value == "-" else value for value in row) for row in ours]
    assert [row[:4] + row[5:] for row in as_perf] == [row[:4] + row[5:] for row in perfs]
    delays = recorded.delays()
    assert [row[4] for row in as_perf] == [f"{ns // 10**6}.{ns // 1000 % 1000:03}" for ns in delays]
    assert sum(map(bool, delays)) > 60
    assert all(float(one[4]) <= float(other[4]) for one, other in zip(as_perf, perfs))
    seen, unknown = set(), []
    for switch in recorded.switches:
        who, begun = switch.left or -1 - switch.cpu, f"CPU {switch.cpu}" in seen
        unknown.append((who not in seen or not begun, not begun))
        seen |= {who, f"CPU {switch.cpu}"}
    assert [(row[3] == "-", row[5] == "-") for row in ours] == unknown


def test_the_summary_is_that_of_perf(recorded):
    """How often each thread had a CPU, how long, and how much that differed."""
    form = re.compile(r"^ +\S.*\[(\d+)\] +(?:\d+ +)?(\d+)" + r" +(\d+\.\d+|-)" * 5 + r"(?: +\d+ *)?$", re.MULTILINE)
    ours, perfs = ({pid: (int(count), *times) for pid, count, *times in form.findall(text)} for text in (
        fairground("timehist", "--summary", recorded.path),
        perf("sched", "timehist", "--force", "-s", "-i", recorded.path)))
    assert set(ours) == set(perfs) and len(ours) > 10
    cut = [str(next(s.left for s in recorded.switches if s.cpu == cpu)) for cpu in (0, 1)]  # perf takes these for 0 ms
    assert set(cut) & set(ours)
    for pid, (turns, *times) in ours.items():
        assert turns == perfs[pid][0], pid
        places = (0, 3) if pid in cut else range(5)  # sum and longest, or least, mean and deviation as well
        assert [float(times[place]) for place in places] == pytest.approx(
            [float(perfs[pid][1 + place]) for place in places], abs=0.0101), pid


def test_latency_and_timehist_agree_on_turns(recorded):
    """A turn ends with a switch: so many are of each thread in both, and in the raw records."""
    latency, timehist = (json.loads(fairground(*words, "--json", recorded.path))["rows"]
                         for words in (["latency", "--pids"], ["timehist", "--summary"]))
    left = Counter(s.left for s in recorded.switches if s.left)
    told = {int(row["task"].rpartition("[")[2][:-1]): row["turns"] for row in timehist}
    assert told == left and len(latency) > 10
    assert {row["pid"]: row["turns"] for row in latency} == {row["pid"]: left[row["pid"]] for row in latency}


def test_the_map_is_that_of_perf(recorded):
    """Line by line, but for perf's explanation of the idle task and its names of threads of the kernel."""
    def lines(text):
        found = [re.sub(r"  ?(?=\S+ => )", " ", line.rstrip()) for line in text.splitlines() if " secs" in line]
        return [re.sub(r" => .*:(\d+)$", r" => \1", line).replace(" .  => 0", "").replace(" . => 0", "").rstrip()
                for line in found]

    ours, perfs = (lines(text) for text in (
        fairground("map", recorded.path), perf("sched", "map", "--force", "-i", recorded.path)))
    explained = {line.partition(" => ")[0].rpartition(" secs ")[0] for line in ours if " => " in line}
    assert len(ours) == len(recorded.switches) and len(explained) > 8
    assert [line.partition(" secs")[0] for line in ours] == [line.partition(" secs")[0] for line in perfs]
    assert [line.partition(" secs ")[2] for line in ours] == [line.partition(" secs ")[2] for line in perfs]


def test_turns_and_switches_are_chosen(recorded):
    pids = {switch.came for switch in recorded.switches if switch.came}
    some = sorted(pids)[-2:]
    rows = TURN.findall(fairground("timehist", "--cpus", "1", "--pid", f"{some[0]},{some[1]}", recorded.path))
    wanted = [(s.cpu, s.left) for s in recorded.switches if s.cpu == 1 and s.left in some]
    assert [(int(row[1]), int(row[2])) for row in rows] == wanted and wanted
    text = fairground("map", "--pid", some[0], recorded.path)
    assert text.count(" => ") == 1 and text.count(" secs") == sum(some[0] in (s.left, s.came)
                                                                  for s in recorded.switches)
    for words in (["timehist", "--pid", "x"], ["map", "--pid", "7,"], ["map", "--cpus", "3-1"]):
        done = ended(*words, recorded.path)
        assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, done

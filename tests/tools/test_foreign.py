# SPDX-License-Identifier: GPL-2.0-only
"""Traces of machines of other kinds, and what a trace does not tell: nothing of that is a zero."""

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import foreign
from fairground.machine.image import event_values
from fairground.trace.timeline import Timeline
from fairground.trace.tracefile import TraceFile

ROOT = Path(__file__).resolve().parents[2]
LINUX = ROOT / "tests/sim/linux-6.1.dat"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
MODULES = Path(os.environ.get("B", "build")).resolve() / "web/node_modules"
MACHINES = [("<", 4), (">", 4), (">", 8)]

pytestmark = pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")


def command(*words):
    done = subprocess.run([PYTHON, "-m", "fairground", *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
    assert done.returncode == 0, done.stderr
    return done


def rows(*words):
    return json.loads(command(*words, "--json").stdout)["rows"]


def report(path):
    """The events that trace-cmd prints of @path. Of a long of 32 bits it writes hexadecimal digits."""
    text = subprocess.run(["trace-cmd", "report", "-t", "-R", path], capture_output=True, text=True, check=True).stdout
    return [re.sub("0x[0-9a-f]+", lambda found: str(int(found[0], 16)), line) for line in text.splitlines()
            if re.search(r"\[\d+\]", line)]


@pytest.mark.parametrize("order, long", MACHINES)
def test_another_machines_trace_has_the_same_events(order, long, tmp_path):
    """trace-cmd is the judge of the file, and each of our readers finds in it what it finds in the one of x86-64."""
    path = tmp_path / "foreign.dat"
    path.write_bytes(foreign.trace_dat(LINUX, order, long))
    assert len(report(path)) > 400 and report(path) == report(LINUX)
    one, other = TraceFile(LINUX), TraceFile(path)
    assert one.spans() == other.spans()
    assert [(a[:2], a.format.name, a.pid, event_values(a)) for a in one.events()] == [
        (b[:2], b.format.name, b.pid, event_values(b)) for b in other.events()]
    for words in (["latency", "--pids"], ["timehist"], ["timehist", "--summary"], ["map"], ["stat", "--per-thread"]):
        assert rows(*words, LINUX) == rows(*words, path), words
    assert Timeline(LINUX).runs == Timeline(path).runs and Timeline(LINUX).waits == Timeline(path).waits


@pytest.mark.parametrize("order, long", [("<", 8), *MACHINES])
def test_gaps_without_a_number_are_at_least_so_many_events(order, long, tmp_path):
    path = tmp_path / "gaps.dat"
    path.write_bytes(foreign.trace_dat(LINUX, order, long, lost={0: None, 1: 5}))
    assert TraceFile(path).lost() == 6 and TraceFile(path).lost().at_least
    assert "at least 6 events were lost before" in command("latency", path).stderr
    path.write_bytes(foreign.trace_dat(LINUX, order, long, lost={0: 2, 1: 5}))
    said = command("timehist", path).stderr
    assert "7 events were lost before" in said and "least" not in said


def test_a_machine_of_no_kind_is_one_sentence(tmp_path):
    path = tmp_path / "x.dat"
    for mark in (b"\2\x08", b"\0\x10"):
        data = foreign.trace_dat(LINUX)
        path.write_bytes(data[:12] + mark + data[14:])
        done = subprocess.run([PYTHON, "-m", "fairground", "latency", path], capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "neither 32 nor 64 bits" in done.stderr


@pytest.fixture
def unwoken(tmp_path):
    """The trace without the events that tell of wakeups, which its list of formats still has."""
    path = tmp_path / "unwoken.dat"
    path.write_bytes(foreign.trace_dat(LINUX, keep=lambda event: event.format.name not in (
        "sched_wakeup", "sched_wakeup_new", "sched_waking")))
    return path


def test_waits_whose_begin_is_not_recorded_are_unknown(unwoken):
    """No number is made up: text and object say -, null, and how many waits are unknown; the turns are the same."""
    full = {row["pid"]: row for row in rows("latency", "--pids", LINUX)}
    done, told = command("latency", "--pids", unwoken), {row["pid"]: row for row in rows("latency", "--pids", unwoken)}
    unknown = Timeline(unwoken).unknown
    assert unknown > 40 and f"no sched_wakeup: waits after a sleep are unknown, {unknown} of them" in done.stderr
    never = [pid for pid, row in told.items() if not row["switches"]]
    assert len(never) > 3 and all(told[pid][name] is None for pid in never
                                  for name in ("average_ns", "longest_ns", "longest_start_ns", "longest_end_ns"))
    assert all(told[pid]["turns"] == full[pid]["turns"] and told[pid]["run_ns"] == full[pid]["run_ns"] for pid in never)
    assert len(re.findall(r"avg: +- ms \| max: +- ms \| max start: +- s \| max end: +- s$", done.stdout,
                          re.MULTILINE)) == len(never)
    assert not command("latency", LINUX).stderr and Timeline(LINUX).unknown == 0
    turns = rows("timehist", unwoken)
    assert sum(row["delay_ns"] is None for row in turns) > unknown - 5
    before = [(row["time_ns"], row["pid"], row["run_ns"]) for row in rows("timehist", LINUX)]
    assert [(row["time_ns"], row["pid"], row["run_ns"]) for row in turns] == before


@pytest.mark.parametrize("kind", ["running_waiting", "latency", "dat2graph2"])
def test_a_picture_says_what_it_cannot_know(kind, unwoken, tmp_path):
    out = tmp_path / "x.svg"
    done = command("graph", kind, unwoken, "-o", out, *["--all"] * (kind == "latency"))
    assert "waits after a sleep are unknown" in done.stderr
    assert "waits after a sleep are unknown" in " ".join(out.read_text(encoding="utf-8").split())


def test_who_names_no_task_is_not_told_of_a_name(unwoken, tmp_path):
    done = subprocess.run([PYTHON, "-m", "fairground", "graph", "latency", unwoken, "-o", tmp_path / "x.svg"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
    assert done.returncode == 2 and done.stderr.endswith(": no task was woken, waited and then ran there\n")


# --- the same files in the page ---------------------------------------------------------------------------------------


def in_page(*paths):
    """Each file as the page reads it."""
    words = ["node", ROOT / "tests/tools/trace_files.mjs", MODULES, *paths]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


needs_page = pytest.mark.skipif(not (MODULES / "esbuild").exists() or not shutil.which("node"), reason="make page")


def kinds_of_files(to):
    """The trace of LINUX, which is of version 7 and packed by zstd, as other files: name -> path."""
    found = {"as it is": LINUX}
    for order, long in [("<", 8), *MACHINES]:
        path = found[f"6, {order}{8 * long}"] = to / f"{'big' if order == '>' else 'little'}{long}.dat"
        path.write_bytes(foreign.trace_dat(LINUX, order, long))
    for how in ("none", "zstd"):
        path = found[f"7, {how}"] = to / f"{how}.dat"
        subprocess.run(["trace-cmd", "convert", "--file-version", "7", "--compression", how, "-i", LINUX, "-o", path],
                       check=True, capture_output=True)
    found["7, zlib"] = to / "zlib.dat"
    found["7, zlib"].write_bytes(foreign.zlib_packed((to / "none.dat").read_bytes()))
    return found


@needs_page
def test_the_page_reads_what_the_tools_read(tmp_path):
    """Version 6 and 7, plain and packed, and all machines: the runs and waits of Timeline."""
    files = kinds_of_files(tmp_path)
    line = Timeline(LINUX)
    waits = sorted(zip(line.waits.pid, line.waits.start, line.waits.end))
    for name, told in zip(files, in_page(*files.values())):
        assert isinstance(told, dict), (name, told)
        runs = [(span["cpu"], span["pid"], span["from"], span["to"]) for span in told["spans"]]
        known = {(cpu, pid, start, end) for cpu, pid, start, end in zip(*line.runs) if end > start}
        first = {cpu: min(start for at, _, start, _ in known if at == cpu) for cpu in range(4)}
        known -= {run for run in known if run[2] == first[run[0]]} - set(runs)  # the page does not know who began
        late = [(cpu, pid, start, min(end, line.end)) for cpu, pid, start, end in runs]
        assert len(known) > 100 and known == {run for run in late if run[3] > run[2]}, name
        shown = sorted((span["pid"], span["from"], min(span["to"], line.end)) for span in told["waiting"])
        assert shown == [wait for wait in waits if wait[2] > wait[1]], name


@needs_page
def test_the_page_knows_no_waits_without_wakeups_and_names_perfs_files(unwoken, tmp_path):
    perf = tmp_path / "p.data"
    perf.write_bytes(lzma.decompress((ROOT / "tests/tools/linux-6.1.data.xz").read_bytes()))
    cut, packed = tmp_path / "cut.dat", tmp_path / "other.dat"
    cut.write_bytes(LINUX.read_bytes()[:-3000])
    packed.write_bytes(LINUX.read_bytes().replace(b"zstd\x00", b"lzma\x00", 1))
    spoilt = tmp_path / "spoilt.dat"
    zipped = foreign.zlib_packed(kinds_of_files(tmp_path)["7, none"].read_bytes())
    at = zipped.rindex(b"\x78\x9c")  # where zlib's first bytes are last
    spoilt.write_bytes(zipped[:at + 40] + bytes(100) + zipped[at + 140:])
    told, perfs, early, other, broken = in_page(unwoken, perf, cut, packed, spoilt)
    assert broken.endswith(": it is damaged.")
    assert told["waiting"] == [] and len(told["spans"]) > 100
    assert "it is a perf.data, which only perf can read" in perfs and "fairground report" in perfs
    assert early.endswith((": it ends too early.", ": it is damaged.")) and "versions 6 and 7" in other

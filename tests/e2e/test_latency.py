# SPDX-License-Identifier: GPL-2.0-only
"""`fairground latency FILE`: run time, switches and delays from a trace.dat, as perf sched latency prints them."""

import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple

import pytest

from tests.e2e.conftest import BUILD, ROOT, settings
from fairground.machine.image import Event, Field, Format, Image, memory_file
from fairground.trace.latency import latencies, merged, table
from fairground.machine.machine import Machine
from fairground.trace.trace import convert, with_tracing
from fairground.trace.tracefile import TraceFile

pytestmark = pytest.mark.exact

SLEEP, PREEMPTED = 1, 0x100
Line = namedtuple("Line", "run switches average longest start end")
ROW = re.compile(r"^ +(\S+) +\| +([\d.]+) ms \| +(\d+) \| avg: +([\d.]+) ms \| max: +([\d.]+) ms "
                 r"\| max start: +([\d.]+) s \| max end: +([\d.]+) s$", re.MULTILINE)


def rows(text):
    return {name: Line(float(run), int(nr), *map(float, rest)) for name, run, nr, *rest in ROW.findall(text)}


def event(time, name, cpu=0, **values):
    """An Event with these fields: 16 bytes for a text, 8 for a number."""
    fields, data = [], b""
    for key, value in values.items():
        raw = value.encode().ljust(16, b"\0") if isinstance(value, str) else value.to_bytes(8, "little")
        fields.append(Field(key, len(data), len(raw), False, isinstance(value, str)))
        data += raw
    return Event(time, cpu, Format("sched", name, sum(name.encode()), tuple(fields), ""), 0, 0, 0, data)


def switch(time, prev, state, following, cpu=0):
    comm = {0: "swapper"}
    return event(time, "sched_switch", cpu, prev_comm=comm.get(prev, f"t{prev}"), prev_pid=prev, prev_prio=120,
                 prev_state=state, next_comm=comm.get(following, f"t{following}"), next_pid=following, next_prio=120)


def wakeup(time, pid, cpu=0):
    return event(time, "sched_wakeup", cpu, comm=f"t{pid}", pid=pid)


def test_waits_begin_at_wakeups_and_preemptions():
    found = latencies([
        wakeup(100, 1), switch(105, 0, 0, 1),             # 1 waits 5
        wakeup(110, 2), switch(120, 1, PREEMPTED, 2),     # 2 waits 10
        switch(150, 2, SLEEP, 1),                         # 1 waits 30
        wakeup(160, 1),                                   # it runs, so no wait begins
        switch(170, 1, SLEEP, 0), wakeup(200, 2), switch(203, 0, 0, 2),
    ])
    one, two = found.tasks[1], found.tasks[2]
    assert (one.run_ns, one.switches, one.delay_ns, one.longest) == (15 + 20, 2, 35, 30)
    assert (one.longest_start, one.longest_end) == (120, 150)
    assert (two.run_ns, two.switches, two.delay_ns) == (30, 2, 13)
    assert found.waits == [(1, 100, 105, True), (2, 110, 120, True), (1, 120, 150, False), (2, 200, 203, True)]


def test_what_runs_at_the_end_ran_until_then():
    assert latencies([wakeup(0, 1), switch(10, 0, 0, 1), wakeup(25, 2)]).tasks[1].run_ns == 15


def test_one_cpu_of_two():
    found = latencies([switch(10, 0, 0, 1, 0), switch(10, 0, 0, 2, 1), switch(20, 1, SLEEP, 0, 0),
                       switch(40, 2, SLEEP, 0, 1)], cpus={1})
    assert found.tasks[1].run_ns == 0 and found.tasks[2].run_ns == 30


def test_threads_of_one_name_are_one_line():
    events = [switch(0, 0, 0, 1), wakeup(1, 2), switch(10, 1, SLEEP, 2), switch(15, 2, SLEEP, 0)]
    tasks = list(latencies(events).tasks.values())
    for task in tasks:
        task.comm = "same"
    row, = merged(tasks)
    assert (row.label, row.run_ns, row.switches, row.longest) == ("same:(2)", 15, 1, 9)
    assert list(rows(table([row]))) == ["same:(2)"]


def command(*words):
    return subprocess.run([sys.executable, "-m", "fairground", "latency", *map(str, words)], capture_output=True,
                          text=True, check=False, env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools")))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two hogs on CPU 1 of 2 for a second: (console, trace.dat, the memory it was made from)."""
    directory = tmp_path_factory.mktemp("latency")
    ram, out = str(directory / "ram"), str(directory / "x.dat")
    events = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new"
    with Machine(with_tracing(settings("hog -n 2 -a 1 -t 1s", cpus=2, icount=True), ram, events)) as machine:
        outcome = machine.run()
    assert outcome.status == 0, outcome.console
    convert(ram, out)
    return outcome.console, out, ram


def test_the_table_agrees_with_the_hogs(recorded):
    """Each hog's longest wait and CPU time, which it measures itself, agree with the trace.

    A turn of the emulator on another CPU comes between the switch and the hog's own look at the clock.
    """
    console, out, _ = recorded
    done = command(out, "--pids")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    hogs = re.findall(r"^ *(\d+) +0 +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+ .* ([\d.]+) +[\d.]+$", console, re.MULTILINE)
    assert len(hogs) == 2
    for pid, cpu_ms, longest_ms in hogs:
        line = found[f"hog:{pid}"]
        assert line.run == pytest.approx(float(cpu_ms), abs=1)
        assert line.longest == pytest.approx(float(longest_ms), abs=0.2)
        assert line.average <= line.longest == pytest.approx(1e3 * (line.end - line.start), abs=0.002)


def test_options(recorded):
    _, out, _ = recorded
    names = list(rows(command(out).stdout))
    assert any(re.fullmatch(r"hog:\(3\)", name) for name in names)
    by_runtime = [line.run for line in rows(command(out, "--pids", "--sort", "runtime").stdout).values()]
    assert by_runtime == sorted(by_runtime, reverse=True) and len(by_runtime) > 3
    assert not any(line.run > 100 for line in rows(command(out, "-C", "0").stdout).values())
    assert any(line.run > 900 for line in rows(command(out, "-C", "0-1").stdout).values())


def test_the_file_holds_what_the_memory_held(recorded):
    _, out, ram = recorded
    trace, image = TraceFile(out), Image(memory_file(ram))
    assert list(trace.events()) == list(image.events())
    assert trace.comms() == image.comms() and trace.cpus == 2 and trace.lost() == 0
    assert {e.format.name for e in trace.events(["sched_wakeup"])} == {"sched_wakeup"}


@pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")
def test_trace_cmd_counts_the_same(recorded):
    _, out, _ = recorded
    text = subprocess.run(["trace-cmd", "report", out], capture_output=True, text=True, check=True).stdout
    assert text.count(" sched_switch: ") == len(list(TraceFile(out).events(["sched_switch"])))


@pytest.mark.parametrize("content, message", [
    (None, "No such file"), (b"", "the file is empty"), (b"hello world, this is text", "not a trace.dat file"),
    (b"\x17\x08\x44tracing7\0", "trace-cmd cannot read it"), (b"\x17\x08\x44tracing6\0\0\x08", "ends too early")])
def test_what_is_no_trace_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "x.dat"
    if content is not None:
        path.write_bytes(content)
    done = command(path)
    assert done.returncode == 2 and message in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not done.stdout


@pytest.mark.parametrize("cut", [100, 5000, 20000, -4096])
def test_a_cut_off_file_is_one_sentence(recorded, tmp_path, cut):
    with open(recorded[1], "rb") as f:
        (tmp_path / "x.dat").write_bytes(f.read()[:cut])
    done = command(tmp_path / "x.dat")
    assert done.returncode == 2 and "ends too early" in done.stderr and len(done.stderr.splitlines()) == 1


def test_bad_options_say_what_is_expected(recorded):
    assert "such as 0,2-5" in command(recorded[1], "-C", "one").stderr
    assert command(recorded[1], "-C", "3-1").returncode == 2
    assert command(recorded[1], "--sort", "color").returncode == 2


def test_lost_events_are_mentioned(tmp_path):
    ram, out = str(tmp_path / "ram"), str(tmp_path / "x.dat")
    how = settings("hack -g 1 -l 200", cpus=1, append="trace_buf_size=64")
    with Machine(with_tracing(how, ram, "sched:*")) as machine:
        assert machine.run().status == 0
    convert(ram, out)
    done = command(out)
    assert done.returncode == 0 and re.search(r"[1-9]\d* events were lost", done.stderr)

# SPDX-License-Identifier: GPL-2.0-only
"""KernelShark's own library reads the traces of the simulator and of the machine, and sees what trace-cmd sees."""

import ctypes
import re
import subprocess
from dataclasses import dataclass

import pytest

from tests.e2e.conftest import BUILD
from tests.e2e.test_trace import record


class Entry(ctypes.Structure):
    """struct kshark_entry of libkshark 2.2: one event, as the graphs are drawn from it."""

    _fields_ = [("next", ctypes.c_void_p), ("visible", ctypes.c_uint16), ("stream", ctypes.c_int16),
                ("event", ctypes.c_int16), ("cpu", ctypes.c_int16), ("pid", ctypes.c_int32),
                ("offset", ctypes.c_int64), ("ts", ctypes.c_int64)]


@dataclass
class Event:
    cpu: int
    pid: int
    ns: int


def load(path):
    """The events of a trace in KernelShark's order, and the pids for which it has a graph."""
    try:
        library = ctypes.CDLL("libkshark.so.2")
    except OSError:
        pytest.skip("KernelShark's library is not installed (Debian: apt-get install libkshark2)")
    library.kshark_load_entries.restype = library.kshark_get_task_pids.restype = ctypes.c_ssize_t
    session, rows, pids = ctypes.c_void_p(), ctypes.POINTER(ctypes.POINTER(Entry))(), ctypes.POINTER(ctypes.c_int)()
    assert library.kshark_instance(ctypes.byref(session))
    stream = library.kshark_open(session, str(path).encode())
    assert stream >= 0
    number = library.kshark_load_entries(session, stream, ctypes.byref(rows))
    events = [Event(row.contents.cpu, row.contents.pid, row.contents.ts) for row in rows[:number]]
    tasks = set(pids[:library.kshark_get_task_pids(session, stream, ctypes.byref(pids))])
    library.kshark_close(session, stream)
    return events, tasks


def check(path, cpus):
    """Returns KernelShark's events once they have been compared with trace-cmd's."""
    events, tasks = load(path)
    text = subprocess.run(["trace-cmd", "report", "-t", str(path)], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^ *\S.*-(\d+) +\[(\d+)\] +(?:\S{5} +)?(\d+)\.(\d{9}):", text, re.M)
    assert len(events) == len(lines) > 1000
    for event, (pid, cpu, seconds, ns) in zip(events, lines, strict=True):
        assert (event.ns, event.cpu, event.pid) == (int(seconds + ns), int(cpu), int(pid))
    assert {event.cpu for event in events} == set(range(cpus))
    assert {event.pid for event in events} <= tasks
    return events


def test_cpus_of_the_simulator_begin_together(tmp_path):
    """Every CPU has an event at the start. KernelShark once drew them as idle for up to 232 ms."""
    path = tmp_path / "sim.dat"
    workload = ["hogs:n=6", "bursts:n=3,run=2ms,sleep=5ms"]
    subprocess.run([f"{BUILD}/schedsim", "--cpus", "4", "--time", "1s", "--trace", path, *workload], check=True,
                   stdout=subprocess.DEVNULL)
    events = check(path, cpus=4)
    for cpu in range(4):
        assert next(event.ns for event in events if event.cpu == cpu) == 1


def test_traces_of_the_machine(tmp_path):
    path = tmp_path / "machine.dat"
    status, text = record(path, "hack -g 2", smp=4, icount=1)
    assert status == 0, text
    check(path, cpus=4)

# SPDX-License-Identifier: GPL-2.0-only
"""perf_event_open(2) as the distribution's perf uses it, and as no program should."""

import collections
import re
import shutil

import pytest

from conftest import dynamic_program, settings
from fairground import trace
from fairground.image import Image, event_values, memory_file
from fairground.latency import latencies
from fairground.machine import Machine
from fairground.timeline import EVENTS

ROW = re.compile(r"^\s*hack:(?P<pid>\d+) +\| +(?P<run>[\d.]+) ms \| +(?P<switches>\d+) \| avg: *(?P<avg>[\d.]+) ms "
                 r"\| max: *(?P<max>[\d.]+) ms", re.MULTILINE)

needs_perf = pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")


@needs_perf
def test_perf_sched_latency_is_make_latency(tmp_path):
    """perf records in the machine while the tracer does. The two tables agree on each thread that lived in between."""
    put, files = dynamic_program(shutil.which("perf"), most=40)
    ram = str(tmp_path / "ram")
    run = settings(f"{put} export HOME=/root; cd /tmp; set -e; p=/root/perf; "
                   "$p sched record -e sched:sched_wakeup -o p.data hack -g 1 -l 5; $p sched latency -p -i p.data; "
                   "$p sched timehist -i p.data | tail -n 3; $p script -i p.data | grep -c sched_switch:; "
                   "$p stat -a -e context-switches,cpu-clock sleep 0.05", cpus=2, icount=True, mem=1024, files=files)
    with Machine(trace.with_tracing(run, ram, "sched:*")) as machine:
        outcome = machine.run()
    assert outcome.status == 0, outcome.console
    assert "LOST" not in outcome.console and "lost" not in outcome.console, outcome.console
    recorded = list(Image(memory_file(ram)).events())
    events = [e for e in recorded if e.format.name in EVENTS]
    ours, charged_ns = latencies(events), collections.Counter()
    for values in (event_values(e) for e in recorded if e.format.name == "sched_stat_runtime"):
        charged_ns[values["pid"]] += values["runtime"]
    # perf 6.1 has no letter for the state of a task that was preempted, so it misses the wait that begins then.
    preempted = {(e.pid, e.time) for e in events if e.format.name == "sched_switch" and
                 event_values(e)["prev_state"] == 0x100}
    rows = {int(row["pid"]): row for row in ROW.finditer(outcome.console)}
    first = min(rows)  # perf forked it before it began to record
    assert len(rows) == 41
    for pid, row in rows.items():
        waits = [wait.end - wait.start for wait in ours.waits
                 if wait.pid == pid and (pid, wait.start) not in preempted]
        if pid == first:
            continue
        assert len(waits) == int(row["switches"]), (pid, row.group())
        assert abs(sum(waits) / len(waits) / 1e6 - float(row["avg"])) < 0.0011, (pid, row.group())
        assert abs(max(waits) / 1e6 - float(row["max"])) < 0.0011, (pid, row.group())
        assert abs(charged_ns[pid] / 1e6 - float(row["run"])) < 0.0011, (pid, row.group())
        # perf adds up charges, the host tool times between switches. A task that came by a wakeup is charged from that,
        # and who preempts pays for the 5 us of the switch: its clock stands still since the wakeup.
        run_ns, turns = ours.tasks[pid].run_ns, int(row["switches"])
        left_ms = 0.005 * sum(who == pid for who, _ in preempted)
        assert abs(run_ns / 1e6 - float(row["run"])) < 0.2 + 0.05 * turns + left_ms + run_ns / 1e8, (pid, row.group())
    stat = outcome.console[outcome.console.index("Performance counter stats"):]
    assert re.search(r"[1-9]\d* +context-switches", stat) and re.search(r"[\d.]+ msec cpu-clock", stat), stat


@pytest.mark.parametrize("cpus", [1, 4])
def test_bad_arguments_and_rings(guest, cpus):
    assert re.search(r"^[1-9]\d* passed, 0 failed$", guest("perfcheck", cpus=cpus), re.M)

# SPDX-License-Identifier: GPL-2.0-only
"""What perf prints of its samples, as records of a trace: forms of several kernels, odd names, and what is no event.
tests/e2e/test_perf.py compares with perf itself."""

import io
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from fairground.machine.image import TraceError, event_values
from fairground.trace.latency import latencies
from fairground.trace.perfdata import Recording, state
from fairground.trace.timeline import Timeline, events_of
from fairground.trace.trace_dat import trace_dat
from fairground.trace.tracefile import TraceFile

HEAD = """# ========
# os release : 6.1.0-13-amd64
# perf version : 6.1.187
# nrcpus online : 4
# cmdline : /usr/bin/perf sched record sleep 1\x20
# ========
"""
SWITCH = ("sched:sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm={} next_pid={} "
          "next_prio=98")


def trace_of(tmp_path, *lines, lost=0, head=HEAD):
    recording = Recording(io.StringIO(head + "".join(f"{line}\n" for line in lines)), lost)
    path = tmp_path / "x.dat"
    path.write_bytes(trace_dat(recording))
    return TraceFile(path)


def test_states_are_bits():
    assert [state(letters) for letters in ("R", "R+", "S", "D", "D|Z", "I", "x")] == [0, 0x100, 1, 2, 0x22, 0x80, 0x10]


def test_names_and_times_are_kept(tmp_path):
    """A name with spaces, and with what looks like a field; a CPU that did nothing for seconds; more than a page."""
    odd = "a pid=3 prio=1"
    lines = [f"  7 [001]  1.000000001: {SWITCH.format('Web Content', 7, 'S', 'swapper/1', 0)}",
             f"  0 [003]  1.000000002: sched:sched_waking: comm={odd} pid=9 prio=120 target_cpu=001",
             f"  0 [001] 99.123456789: {SWITCH.format('swapper/1', 0, 'R', odd, 9)}"]
    lines += [f"  9 [001] 99.2{nr:08}:  sched:sched_stat_runtime: comm={odd} pid=9 runtime={nr} [ns]"
              for nr in range(500)]
    trace = trace_of(tmp_path, *lines)
    events = list(trace.events())
    assert trace.cpus == 4 and trace.lost() == 0 and len(events) == 503
    assert trace.about == "Linux 6.1.0-13-amd64, recorded by perf 6.1.187: /usr/bin/perf sched record sleep 1"
    assert [(e.time, e.cpu, e.pid) for e in events[:3]] == [(1000000001, 1, 7), (1000000002, 3, 0), (99123456789, 1, 0)]
    assert event_values(events[1]) == {"comm": odd, "pid": 9, "prio": 120, "target_cpu": 1}
    assert event_values(events[-1]) == {"comm": odd, "pid": 9, "runtime": 499}
    assert [event_values(e)["runtime"] for e in events[3:]] == list(range(500))
    wait, = latencies(trace.events(events_of(trace))).waits
    assert (wait.pid, wait.start, wait.end) == (9, 1000000002, 99123456789)  # sched_waking began it: there is no other
    timeline = Timeline(trace)
    assert list(timeline.waits.start) == [1000000002] and timeline.comms[9] == odd


def test_older_kernels_tell_the_virtual_runtime_too(tmp_path):
    trace = trace_of(tmp_path, "  9 [000]  5.000000000: sched:sched_stat_runtime: comm=x pid=9 runtime=5 [ns] "
                     "vruntime=18446744073708503040 [ns]")
    assert [event_values(e)["vruntime"] for e in trace.events()] == [18446744073708503040]


def test_other_events_are_texts_and_other_lines_are_none(tmp_path):
    trace = trace_of(tmp_path, "  9 [000]  5.000000000:     cpu-clock:", "some text: of perf's", "",
                     "  9 [000]  5.000000007: irq:softirq_entry: vec=1 [action=TIMER]",
                     "  9 [000]  5.000000009: irq:softirq_entry:", lost=3)
    assert [(e.format.system, e.format.name, event_values(e)) for e in trace.events()] == [
        ("irq", "softirq_entry", {"text": "vec=1 [action=TIMER]"}), ("irq", "softirq_entry", {"text": ""})]
    assert trace.lost() == 3
    with pytest.raises(TraceError, match="the trace knows no event sched_switch or sched_wakeup"):
        events_of(trace)


@pytest.mark.parametrize("lines, message", [
    ((), "the file has no samples of tracepoints"),
    (("  9 [000]  5.000000000:  sched:sched_switch: x:9 [120] S ==> y:8 [120]",),
     "a form that this tool does not know: x:9"),
])
def test_what_cannot_be_read_is_one_sentence(tmp_path, lines, message):
    with pytest.raises(TraceError, match=message):
        trace_of(tmp_path, *lines)

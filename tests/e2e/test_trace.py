# SPDX-License-Identifier: GPL-2.0-only
"""The tracer from outside: `make trace` leaves a file that the distribution's trace-cmd reads, its events are
consistent with each other, the text files in the guest agree with it, and control files answer as Linux's do."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S, dynamic_program, settings
from fairground.trace import trace
from fairground.machine.image import Image, event_values, memory_file
from fairground.machine.machine import Machine

pytestmark = pytest.mark.exact

TRACING = "/sys/kernel/tracing"
LINE = re.compile(r"\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?:\S{5} )?\s*(?P<time>\d+\.\d+): "
                  r"(?P<event>\w+): +(?P<text>.*)")

needs_trace_cmd = pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")


def record(out, cmd, *options, **texts):
    """`make trace`: (exit status, console)."""
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools"), KVM="0", CMD=cmd,
               **{name.upper(): str(value) for name, value in texts.items()})
    words = [sys.executable, "-m", "fairground", "--build", BUILD, "trace", "--out", str(out), *options]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.returncode, done.stdout + done.stderr


def report(path, *options):
    done = subprocess.run(["trace-cmd", "report", *options, str(path)], capture_output=True, text=True, check=True)
    assert "UNKNOWN" not in done.stdout
    return [m.groupdict() for m in map(LINE.match, done.stdout.splitlines()) if m]


def traced_events(tmp_path, cmd, **how):
    """Run @cmd with everything but system calls recorded. Returns the console and the events as Image reads them."""
    ram = str(tmp_path / "ram")
    with Machine(trace.with_tracing(settings(cmd, **how), ram, "*:*,!raw_syscalls:*")) as machine:
        outcome = machine.run()
    assert outcome.status == 0, outcome.console
    return outcome.console, list(Image(memory_file(ram)).events())


@needs_trace_cmd
def test_named_tasks_switch_on_four_cpus(tmp_path):
    out = tmp_path / "x.dat"
    status, text = record(out, "hack -g 2", smp=4)
    assert status == 0, text
    events = report(out)
    switches = [e for e in events if e["event"] == "sched_switch"]
    assert {e["cpu"] for e in switches} == {"000", "001", "002", "003"}
    assert len([e for e in switches if "hack:" in e["text"]]) > 100
    assert {"sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_process_fork", "sched_process_exec",
            "sched_process_exit", "local_timer_entry", "local_timer_exit"} <= {e["event"] for e in events}


@needs_trace_cmd
@pytest.mark.parametrize("events", ["", "*:*"])
def test_charges_are_recorded_only_when_asked_for(tmp_path, events):
    """A hog reads its CPU time all the time, and each reading is a charge."""
    out = tmp_path / "x.dat"
    status, text = record(out, "hog -t 20ms", smp=1, icount=1, events=events)
    assert status == 0, text
    kinds = [e["event"] for e in report(out)]
    assert "sched_switch" in kinds and (kinds.count("sched_stat_runtime") > 1000) == (events == "*:*")
    assert ("sched_stat_runtime" in kinds) == ("sched_decision_pick" in kinds) == (events == "*:*")


@needs_trace_cmd
def test_forms_of_the_report(tmp_path):
    out = tmp_path / "x.dat"
    status, text = record(out, f"echo hello > {TRACING}/trace_marker; sleep 0.01", smp=1)
    assert status == 0, text
    states = re.findall(r"prev_state=(\S+) ==>", "\n".join(e["text"] for e in report(out, "-N")))
    assert states and set(states) <= {"R", "R+", "S", "D", "Z", "I"} and {"R+", "S"} & set(states)
    assert "Z" in states  # of sleep: its last switch
    assert any("prev_state=1 " in e["text"] for e in report(out, "-R") if e["event"] == "sched_switch")
    assert any(e["event"] == "print" and e["text"] == "tracing_mark_write: hello" for e in report(out))


def test_switches_chain(tmp_path):
    """The task switched out is the one switched in before, and a task is on one CPU at a time."""
    _, events = traced_events(tmp_path, "hack -g 1 -l 50", cpus=4, icount=True)
    on_cpu, where = {}, {}
    for event in events:
        if event.format.name != "sched_switch":
            continue
        v = event_values(event)
        assert on_cpu.get(event.cpu, v["prev_pid"]) == v["prev_pid"], event
        assert event.pid == v["prev_pid"]
        where.pop(v["prev_pid"], None)
        if v["next_pid"]:
            assert where.get(v["next_pid"], event.cpu) == event.cpu, event
            where[v["next_pid"]] = event.cpu
        on_cpu[event.cpu] = v["next_pid"]
    assert len(on_cpu) == 4


def test_handlers_nest(tmp_path):
    _, events = traced_events(tmp_path, "hog -t 50ms", cpus=2, icount=True)
    open_on = {}
    for event in events:
        kind, _, edge = event.format.name.rpartition("_")
        if event.format.system != "irq_vectors":
            continue
        if edge == "entry":
            assert event.cpu not in open_on
            open_on[event.cpu] = kind
        else:
            assert open_on.pop(event.cpu, kind) == kind


def test_runs_repeat_to_the_byte(tmp_path):
    """Two of three runs agree, because a busy host may disturb one (docs/adr/003-deterministic-smp.md)."""
    seen = []
    for out in (tmp_path / name for name in ("a.dat", "b.dat", "c.dat")):
        status, text = record(out, "hack -g 1 -l 50", smp=4, icount=1)
        assert status == 0, text
        if out.read_bytes() in seen:
            return
        seen.append(out.read_bytes())
    pytest.fail("three runs, three traces")


def test_full_rings_keep_the_newest(tmp_path):
    out = tmp_path / "x.dat"
    status, text = record(out, "hack -g 1 -l 200", smp=1, append="trace_buf_size=64")
    assert status == 0, text
    written, lost = map(int, re.search(r"(\d+) events, (\d+) older ones were overwritten", text).groups())
    assert 500 < written < 64 * 1024 // 16 and lost > written


@pytest.mark.nightly("a trace that is lost when its run is cut off")
def test_a_run_that_is_cut_off_leaves_its_trace(tmp_path):
    out = tmp_path / "x.dat"
    status, text = record(out, "sleep 1000", smp=1, timeout=15)
    assert status == 124, text
    assert re.search(r"x\.dat: [1-9]\d* events", text)


def test_no_trace_is_one_sentence(tmp_path):
    """The kernel panics before its tracer starts."""
    status, text = record(tmp_path / "x.dat", "true", smp=1, append="hz=123")
    assert status == 1
    assert text.splitlines()[-1].endswith("x.dat: no trace in this memory: the kernel did not get as far as "
                                          "starting its tracer")
    assert not (tmp_path / "x.dat").exists()


def test_unknown_events_are_named(tmp_path):
    status, text = record(tmp_path / "x.dat", "true", "--events", "sched:sched_switch,bogus", smp=1)
    assert status == 2 and "no event is called bogus" in text
    assert not (tmp_path / "x.dat").exists()


@pytest.mark.nightly("a line of the text that the binary trace does not have")
def test_text_agrees_with_the_image(tmp_path):
    """The lines of `trace`, made in the guest, are the events that the host finds in memory."""
    console, events = traced_events(
        tmp_path, f"cd {TRACING}; hack -g 1 -l 5 > /dev/null; echo 0 > tracing_on; cat trace", cpus=2, icount=True)
    lines = [m.groupdict() for m in map(LINE.match, console.splitlines()) if m]
    assert len(lines) == len(events)
    # Printed under another name, or by a rule of its own.
    other = ("prev_state", "delay", "runtime", "vruntime", "target_cpu")
    for line, event in zip(lines, events):
        assert (int(line["cpu"]), int(line["pid"]), line["event"]) == (event.cpu, event.pid, event.format.name)
        assert abs(float(line["time"]) - event.time / 1e9) < 1e-6
        names = re.findall(r"__print_symbolic\(REC->(\w+)", event.format.source)
        for field, value in event_values(event).items():
            if field not in (*other, *names) and isinstance(value, int):
                assert re.search(rf"=({value}|{value:#x})\b", line["text"]), (line, field)


CONTROL = r"""
cd /sys/kernel/tracing
t() { # file, text: the file's content after the write, or the error
    if echo "$2" 2>/dev/null > $1; then echo "$1 <- $2: $(tr '\n' ' ' < $1)"; else echo "$1 <- $2: error"; fi
}
t tracing_on 5; t tracing_on 0; t tracing_on x
t set_event sched:sched_switch; t set_event nonsense
t events/sched/enable 1; t events/enable 2; t events/sched/sched_switch/enable 0
cat events/sched/enable events/enable
t events/sched/sched_switch/filter 0; t events/sched/sched_switch/filter 'prev_pid==1'
t current_tracer nop; t current_tracer function
t trace_clock global; t trace_clock x86-tsc
t buffer_size_kb 100; t buffer_size_kb 0; t buffer_size_kb abc
t per_cpu/cpu0/buffer_size_kb 50; cat buffer_size_kb
t tracing_cpumask 1; t tracing_cpumask zz; t tracing_cpumask ff
t options/markers 0; t options/markers 2; t trace_options nooverwrite; t trace_options bogus
cat events/sched/sched_switch/id available_tracers
"""

ANSWERS = """\
tracing_on <- 5: 1
tracing_on <- 0: 0
tracing_on <- x: error
set_event <- sched:sched_switch: sched:sched_switch
set_event <- nonsense: error
events/sched/enable <- 1: 1
events/enable <- 2: error
events/sched/sched_switch/enable <- 0: 0
X
X
events/sched/sched_switch/filter <- 0: none
events/sched/sched_switch/filter <- prev_pid==1: prev_pid==1
current_tracer <- nop: nop
current_tracer <- function: error
trace_clock <- global: local [global] perf mono mono_raw boot
trace_clock <- x86-tsc: error
buffer_size_kb <- 100: 103
buffer_size_kb <- 0: error
buffer_size_kb <- abc: error
per_cpu/cpu0/buffer_size_kb <- 50: 51
X
tracing_cpumask <- 1: 1
tracing_cpumask <- zz: error
tracing_cpumask <- ff: error
options/markers <- 0: 0
options/markers <- 2: error
trace_options <- nooverwrite: context-info irq-info nomarkers nooverwrite noevent-fork
trace_options <- bogus: error
319
nop
""".splitlines()


def test_control_files(boot):
    outcome = boot(CONTROL, cpus=2)
    answers = [line.rstrip() for line in outcome.console.splitlines()]
    start = answers.index(ANSWERS[0])
    assert answers[start:start + len(ANSWERS)] == ANSWERS


def test_pipe_and_marker(boot):
    outcome = boot(cpus=2, cmd=f"""
cd {TRACING}
echo one > trace_marker; echo two > trace_marker
head -n 2 trace_pipe
(sleep 0.1; echo three > trace_marker) & head -n 1 trace_pipe; wait
grep -c tracing_mark_write trace
dd if=/dev/zero of=trace_marker bs=1 count=1 seek=1 conv=notrunc
echo 0 > tracing_on; echo four > trace_marker || echo refused
""")
    assert re.search("trace_marker.*(Illegal|Invalid) seek", outcome.console), "a stream has no position"
    texts = re.findall(r"tracing_mark_write: (\w+)$", outcome.console, re.M)
    assert texts == ["one", "two", "three"]
    assert re.search(r"^0\n(.*\n)*?refused$", outcome.console, re.M)


@needs_trace_cmd
@pytest.mark.parametrize("how", ["", "--nosplice"])
def test_trace_cmd_records_inside_the_machine(guest, how):
    """The distribution's own program, live: by splice(2) and by read(2)."""
    put, files = dynamic_program(shutil.which("trace-cmd"))
    text = guest(f"{put} cd /tmp; set -e; t=/root/trace-cmd; $t record {how} -e sched_switch -e sched_wakeup -o x.dat "
                 "hack -g 1 -l 5; $t report x.dat > x.txt; grep -c 'sched_switch: .*prev_comm=hack' x.txt; "
                 "grep -c 'sched_wakeup: .*comm=hack' x.txt; cat /sys/kernel/tracing/tracing_on",
                 cpus=2, mem=512, files=files)
    switches, wakeups, on = map(int, re.findall(r"^(\d+)$", text, re.MULTILINE)[-3:])
    assert switches > 40 and wakeups > 20 and on == 1, text


PROFILE = """i=/sys/kernel/tracing/instances/mine; mkdir $i; echo 4000 > $i/buffer_size_kb; cd /tmp; set -e
for e in sched_switch sched_wakeup; do echo 1 > $i/events/sched/$e/enable; done
/root/trace-cmd profile hack -g 1 -l 5 > profile.txt; echo 0 > $i/tracing_on; cat profile.txt; echo THE TRACE
cat $i/trace"""


def intervals(lines):
    """(pid, what) -> [how often, us] of what a task spent between two records: asleep, until its wakeup; then woken, or
    preempted, until the switch to it."""
    found, since = {}, {}

    def end(key, now):
        if begun := since.pop(key, 0):
            entry = found.setdefault(key, [0, 0])
            entry[0], entry[1] = entry[0] + 1, entry[1] + now - begun
        return begun

    for line in lines:
        now = round(float(line["time"]) * 1e6)
        if line["event"] == "sched_wakeup":
            pid = re.search(r" pid=(\d+)", line["text"])[1]
            if end((pid, "asleep"), now):
                since[pid, "woken"] = now
            continue
        prev, state, following = re.search(r"prev_pid=(\d+) .* prev_state=(\S+) ==> .* next_pid=(\d+)",
                                           line["text"]).groups()
        since[prev, {"S": "asleep", "R+": "preempted"}.get(state, state)] = now
        for what in ("asleep", "preempted", "woken"):
            end((following, what), now)
    return found


@needs_trace_cmd
def test_trace_cmd_profile_adds_up_what_tasks_wait_for(guest):
    """The distribution's program in the machine. How often each thread of hack slept, was preempted and was woken, and
    for how long until it ran, is what another instance of the tracer recorded meanwhile, to the us of its text."""
    put, files = dynamic_program(shutil.which("trace-cmd"))
    profile, _, trace_text = guest(put + PROFILE, cpus=2, icount=True, mem=512, files=files).partition("THE TRACE")
    expected = intervals(m.groupdict() for m in map(LINE.match, trace_text.splitlines()) if m)
    compared = dict.fromkeys(("asleep", "preempted", "woken"), 0)
    for pid, rows in re.findall(r"^task: hack-(\d+)\n((?:  Event: .*\n)+)", profile, re.MULTILINE):
        names = {"sched_switch:S": "asleep", "sched_switch:W": "preempted",
                 f"sched_wakeup:{int(pid):#x}": "woken"}
        told = {names[name]: (int(count), int(total)) for name, count, total in re.findall(
            r"Event: (\S+) \((\d+)\) Total: (\d+)", rows) if name in names}
        assert "sys_enter:0 " in rows or "sys_enter:1 " in rows, rows
        for what, (count, total) in told.items():
            assert count == expected[pid, what][0], (pid, what, count, expected[pid, what])
            assert abs(total / 1e3 - expected[pid, what][1]) <= count + 1, (pid, what, total, expected[pid, what])
            compared[what] += count
    assert min(compared.values()) > 20, compared

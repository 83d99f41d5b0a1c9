# SPDX-License-Identifier: GPL-2.0-only
"""Programs for sched_ext beside Debian's Linux 7.2: the order of operations about each task, and the end of one that
stalls. sh tools/setup.sh --compare --scx fetches what these tests need.
"""

import dataclasses
import glob
import pathlib
import re

import pytest

from tests.e2e.conftest import BUILD, ROOT
from tests.e2e.test_scx import CALLED, CALLS, CHANGES
from fairground.base.expect import expect
from fairground.base.settings import make_settings
from fairground.machine.linux import on_linux
from fairground.machine.linux_scx import RELEASE, make, under
from fairground.machine.machine import run_batch

ORDER = pathlib.Path(ROOT, "tests/e2e/scx/order.bpf.c")
# As in that file: what an operation's arguments say is part of its name. prev is the task that had the CPU.
OPS = ("enable", "select_cpu", "runnable woken", "runnable", "enqueue woken", "enqueue", "running", "tick",
       "stopping runnable", "stopping", "dispatch prev", "dispatch prev asleep", "quiescent asleep", "quiescent",
       "disable")
COUNTED = ("select_cpu", "runnable", "enqueue", "running", "tick")
OPERATIONS = 100_000
DUMPED = "/sys/kernel/tracing/events/sched_ext/sched_ext_dump/enable"
LOADS = ("taskset -c 1 mix -t 1s hog:n=2 burst:n=2,run=311us,sleep=2713us",
         "mix -t 200ms pair:n=2 burst:n=2,run=311us,sleep=2713us",
         "mix -t 1s hog yield fork:run=731us burst:n=2,run=311us,sleep=2713us")
# Pairs that one side may have and the other not in a run, and why.
CHANCE = {
    # dispatch is not asked if something waits in the local queue already
    "quiescent asleep > select_cpu", "quiescent asleep > runnable woken", "tick > stopping runnable",
    # another class, or a task that waits in the local queue, takes the CPU from one that has some of its slice left
    "running > stopping runnable", "stopping runnable > running", "dispatch prev > stopping runnable",
    "running > dispatch prev",
    # woken before its CPU has switched from it: it waits in the local queue here; Linux waits for the switch
    "runnable woken > running",
    # a task that ends is given back before the CPU looks for another one; on Linux after that
    "quiescent asleep > disable", "dispatch prev asleep > disable"}
needed = pytest.mark.skipif(
    not (glob.glob(f"{BUILD}/linux/boot/vmlinuz-{RELEASE}.*") and pathlib.Path(BUILD, "linux/vmlinux.h").exists()
         and pathlib.Path(BUILD, "scx/crates/linux").exists()), reason="setup.sh --compare --scx fetches it")


def machines(cpus):
    settings = make_settings({"smp": str(cpus), "icount": "1", "kvm": "0", "mem": "512"}, build=BUILD)
    return {"here": settings, "Linux": on_linux(settings, RELEASE, "")}


@needed
@pytest.mark.nightly("an example that the verifier of Linux refuses")
def test_linux_takes_each_example():
    sources = sorted([*pathlib.Path(ROOT, "examples/scx").glob("*.bpf.c"),
                      pathlib.Path(ROOT, "labs/13-sched-ext/cache.bpf.c")])
    settings = under(machines(1)["Linux"], sources[0], "")
    objects = {f"/root/{path.name}": path.read_bytes() for path in
               (make("scx-linux", source, settings.build, ".bpf.o") for source in sources)}
    script = "cd /root && chmod 755 attach /trixie/*\nfor i in *.bpf.o; do ./attach $i -- true && echo took $i; done\n"
    told = run_batch(dataclasses.replace(settings, cmd=script + "sleep 1", files=settings.files | objects)).console
    assert re.findall(r"^took (\S+)\.bpf\.o", told, re.MULTILINE) == sorted(
        source.name.removesuffix(".bpf.c") for source in sources), told[-3000:]


def order(settings, kind):
    """Which operation followed which, as "a > b", and how often each of COUNTED was called."""
    script = "sleep 4\nwhile grep -q enabled /sys/kernel/sched_ext/state; do " + "; ".join(LOADS) + "; done >/dev/null"
    told = run_batch(under(settings, ORDER, script, f"kind={kind}", f"limit={OPERATIONS}")).console
    *words, _ = [int(word, 16) for word in expect(r"order: (?:\S+: )?((?:[0-9a-f]+ ){9}[0-9a-f]+)", told)[1].split()]
    pairs = {f"{a} > {b}" for i, a in enumerate(OPS) for j, b in enumerate(OPS)
             if words[i // 4] >> (i % 4 * 16 + j) & 1}
    return pairs, dict(zip(COUNTED, words[4:]))


@needed
@pytest.mark.nightly("an operation of a program that is called when Linux does not call it")
@pytest.mark.parametrize("kind", ["0", "1", "2"], ids=["fifo", "vtime", "local"])
def test_operations_about_a_task_follow_each_other_as_on_linux(kind):
    (here, counts), (linux, linux_counts) = (order(settings, kind) for settings in machines(2).values())
    assert here ^ linux <= CHANCE and len(here & linux) >= 20, (here - linux, linux - here)
    for name, count in linux_counts.items():
        # Inserts of select_cpu are of tasks whose CPU idles: two boots of Linux differ by half of the others.
        if (kind, name) != ("2", "enqueue"):
            assert counts[name] == pytest.approx(count, rel=0.05, abs=30), name


@needed
@pytest.mark.nightly("an operation that hears of a change on Linux only, or of other numbers")
def test_linux_calls_the_same_operations_for_changes():
    script = (f"mount -t tracefs none /sys/kernel/tracing\necho 1 >{DUMPED}\n{CHANGES}\nsleep 1\n"
              "cat /sys/kernel/tracing/trace")
    told = run_batch(under(machines(2)["Linux"], CALLS, script)).console
    assert re.findall(r"calls> (.*)", told.replace("\r", "")) == CALLED, told[-3000:]


# Of each runnable task: the state in which its scheduler has it, and which of its queues.
HELD = re.compile(r"R (\S+)\[\d+\] (?:\*root )?-(\d+)ms\n.*? +scx_state/flags=\d+/0x\w+ dsq_flags=0x0 "
                  r"ops_state/qseq=(\d)/\d+\n.*? +sticky/holding_cpu=-1/-1 dsq_id=(\S+)")
@needed
@pytest.mark.nightly("a dump of a stall in which readers of Linux's find nothing")
def test_a_stall_ends_and_is_dumped_as_on_linux():
    script = (f"[ -e {DUMPED} ] && echo 1 >{DUMPED}\nsleep 4\nhog -n 3 -t 6s\n"
              f"[ -e {DUMPED} ] && cat /sys/kernel/tracing/trace")
    for name, settings in machines(1).items():
        told = run_batch(under(settings, pathlib.Path(ROOT, "examples/scx/stall.bpf.c"), script)).console
        assert "triggered exit kind 1026" in told, name
        victim, seconds = expect(r"runnable task stall \((\S+)\[\d+\] failed to run for (\d+\.\d+)s\)", told).groups()
        assert 2 <= float(seconds) < 4, name
        held = {task: state for task, ms, state, queue in HELD.findall(told)
                if float(ms) >= 2000 and queue == "(n/a)"}
        assert held[victim] == "2", (name, held)
        assert 'sched_ext: BPF scheduler "stall" disabled (runnable task stall)' in told, name

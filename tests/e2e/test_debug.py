# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that check themselves, under the kernel's own tests and under absurd input. A debug build checks every
invariant of the scheduler every few ticks and every rule about locks at every lock; a sanitized one panics at undefined
behaviour (SAN=undefined) or at an access beyond or after its object (SAN=address), or says which accesses race
(SAN=thread).
"""

import os
import re
import shutil
import subprocess

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S, settings
from tests.e2e.test_scx import ENDS, HEARS, heard, hears_and_refuses, late
from fairground.machine.machine import run_batch

FUZZ = "fuzz -s {seed} -n {number} && cat /proc/schedstat /proc/[0-9]*/stat > /dev/null && hog -n 8 -w 20ms"


def build_kernel(directory, name, *words):
    """Fill @directory with a kernel built with @words and the usual programs. One process builds, others wait."""
    build = f"{BUILD}-{name}"
    make = ["make", "kernel", *words, f"B={os.path.relpath(build, ROOT)}"]
    subprocess.run(["flock", BUILD, *make], cwd=ROOT, check=True, stdout=subprocess.DEVNULL, timeout=2 * TIMEOUT_S)
    shutil.copy(os.path.join(build, "fairground.elf"), directory)
    shutil.copy(os.path.join(BUILD, "initramfs.cpio"), directory)
    return str(directory)


@pytest.fixture(scope="module")
def debug_build(tmp_path_factory):
    return build_kernel(tmp_path_factory.mktemp("debug"), "debug", "DEBUG=1")


@pytest.fixture(scope="module")
def sanitized_build(tmp_path_factory):
    return build_kernel(tmp_path_factory.mktemp("san"), "san", "SAN=undefined")


@pytest.fixture(scope="module")
def address_build(tmp_path_factory):
    return build_kernel(tmp_path_factory.mktemp("kasan"), "kasan", "SAN=address")


@pytest.fixture(scope="module")
def thread_build(tmp_path_factory):
    return build_kernel(tmp_path_factory.mktemp("kcsan"), "kcsan", "SAN=thread")


def boot_build(build, command, **how):
    how = settings(command, **how)
    how.build = build
    return run_batch(how)


@pytest.mark.nightly("a rule of the kernel that a scheduler for sched_ext breaks as it comes, works and goes")
def test_a_program_for_sched_ext(debug_build, tmp_path):
    outcome = boot_build(debug_build, HEARS + "; echo cfs > /sys/kernel/debug/sched/fair_class; sleep 0.1", cpus=2,
                         icount=True, files=heard(tmp_path))
    hears_and_refuses(outcome.console)
    assert outcome.status == 0, outcome.console


@pytest.mark.nightly("a task that is freed while an operation of a loaded scheduler knows it")
def test_a_task_that_ends_while_a_call_has_it_is_kept(debug_build, tmp_path):
    """Memory that is freed has other contents there, which dispatch would take for the task's class."""
    outcome = boot_build(debug_build, ENDS, cpus=2, icount=True, files=late(tmp_path))
    assert outcome.status == 0 and "late: 5 have ended meanwhile\n" in outcome.console, outcome.console


@pytest.mark.nightly("an invariant that breaks in the kernel alone")
def test_selftests(debug_build):
    outcome = boot_build(debug_build, "", append="selftest=all")
    assert outcome.status == 0 and re.search(r"# [1-9]\d+ passed, 0 failed", outcome.console), outcome.console


@pytest.mark.nightly("a lock that is held for long and is not told of")
def test_a_lock_that_is_held_for_long_is_said(debug_build):
    """With its name, the CPU and the place of its release, and once."""
    provoke = "echo LONG_LOCK > /sys/kernel/debug/provoke-crash/DIRECT; "
    outcome = boot_build(debug_build, 2 * provoke, cpus=1, icount=True)
    said = r"lockdep: provoke long kept cpu 0 for (1999|20\d\d) ms\n(.*\n)*?.* provoke_long_lock\+"
    assert outcome.status == 0 and re.search(said, outcome.console), outcome.console
    assert outcome.console.count("lockdep: ") == 1


@pytest.mark.nightly("a stack that is written over")
def test_a_stack_that_is_written_over_is_said(debug_build):
    """With the function whose array was too short, and who called it."""
    outcome = boot_build(debug_build, "echo CORRUPT_STACK > /sys/kernel/debug/provoke-crash/DIRECT", cpus=1)
    said = (r"panic: stack-protector: Kernel stack is corrupted in: provoke_corrupt_stack\+\w+\n"
            r"(.*\n){2,4}.* provoke_corrupt_stack\+\w+\n.* provoke\+")
    assert outcome.status != 0 and re.search(said, outcome.console), outcome.console


@pytest.mark.nightly("a write to an object or a page that was freed")
@pytest.mark.parametrize(("way", "said"), [
    ("WRITE_AFTER_FREE", r"BUG: slab write after free at addr \w+\n.* 16 bytes behind the start of an object of "
                         r"kmalloc .*\n.*Allocated by {0}\+.*\n.*Freed by {0}\+.*\n.*panic: slab write after free"),
    ("WRITE_BUDDY_AFTER_FREE", r"BUG: page write after free at addr \w+\n.*Freed by {0}\+.*\n.*panic: page write"),
], ids=["object", "page"])
def test_a_write_after_a_free_is_said(debug_build, way, said):
    """With the object, and the places that allocated and freed it."""
    outcome = boot_build(debug_build, f"echo {way} > /sys/kernel/debug/provoke-crash/DIRECT", cpus=1)
    assert outcome.status != 0 and re.search(said.format(f"provoke_{way.lower()}"), outcome.console), outcome.console


@pytest.mark.nightly("a wrong order of locks in an order by SysRq")
def test_orders_by_sysrq_keep_the_rules_of_locks(debug_build):
    """The scheduler's locks are for code without interrupts: a tick inside would wait for its own CPU."""
    orders = "for key in t l t; do echo $key > /proc/sysrq-trigger; done"
    outcome = boot_build(debug_build, f"hog -n 4 -t 1s > /dev/null & {orders}; wait")
    assert outcome.status == 0, outcome.console
    assert outcome.console.count("\ncpu#0") == 2 and "NMI backtrace for cpu 3" in outcome.console


# Each part of the tracer, instances, filters, histograms and events of perf, while CPUs come and go.
TRACER = """cd /sys/kernel/tracing; echo 1 > events/enable; echo 'prev_prio < 200' > events/sched/sched_switch/filter
switch=events/sched/sched_switch; echo 'hist:keys=next_pid:vals=hitcount' > $switch/trigger
echo $$ > set_event_pid; hog -n 4 -t 100ms > /dev/null; echo mark > trace_marker
echo 'hist:keys=next_pid:vals=hitcount:clear' > $switch/trigger
mkdir instances/a; echo 1 > instances/a/events/enable; hog -t 50ms > /dev/null; rmdir instances/a
cat trace > /dev/null; echo '!hist:keys=next_pid:vals=hitcount' > $switch/trigger
for i in 1 2; do for on in 0 1; do echo $on > /sys/devices/system/cpu/cpu3/online; done; done
perfcheck > /dev/null; true"""  # its times are those of another kernel


@pytest.mark.nightly("a demand of a function that a caller does not meet: a lock, interrupts, a context, a count")
@pytest.mark.parametrize(("sched", "command", "append"), [
    ("cfs", "taskcheck && filecheck", ""), ("eevdf", "memcheck && cgroupcheck", ""), ("fdl", TRACER, ""),
    ("eevdf", "hog -n 4 -t 300ms", "opp=juno-a53 governor=schedutil"),
], ids=["tasks-files", "memory-groups", "tracer", "speeds"])
def test_callers_meet_every_demand(debug_build, sched, command, append):
    """debug_assert() of kernel/contract.h: the kernel stops at the first demand that is not met."""
    outcome = boot_build(debug_build, command, sched=sched, append=append)
    assert outcome.status == 0 and "assertion failed" not in outcome.console, outcome.console


@pytest.mark.nightly("a byte of the kernel's stack in a program")
def test_no_left_over_byte_reaches_a_program(debug_build):
    """The kernel of a debug build fills variables, objects and pages with a pattern before their first use."""
    outcome = boot_build(debug_build, "leakcheck", cpus=1, icount=True)
    assert outcome.status == 0 and re.search(r"^[67]\d passed, 0 failed$", outcome.console, re.M), outcome.console
    assert len(re.findall(r"^[^[].* not implemented$", outcome.console, re.M)) < 5  # its own lines, not the kernel's


@pytest.mark.nightly("an invariant that random calls break")
@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_fuzz_with_every_check(debug_build, sched):
    outcome = boot_build(debug_build, FUZZ.format(seed=1, number=5000), sched=sched)
    assert outcome.status == 0, outcome.console


@pytest.mark.nightly("a call that breaks the machine for another seed than 1")
@pytest.mark.parametrize("seed", [2, 3])
def test_fuzz(boot, seed):
    outcome = boot(FUZZ.format(seed=seed, number=10000))
    assert outcome.status == 0, outcome.console
    assert re.search(r"calls: 10000 in 100 processes", outcome.console)
    assert re.search(r"files: 10000 in 100 processes", outcome.console)


# --- failures on order ----------------------------------------------------------------------------

SITES = "/sys/kernel/debug/fail_sites"


def calls_of_the_table():
    with open(os.path.join(ROOT, "kernel/syscall/syscall.def"), encoding="utf-8") as table:
        return set(re.findall(r"^SYSCALL\(\d+, (\w+)\)", table.read(), re.M))


@pytest.mark.nightly("a wrong error, a loss or a panic where an allocation or a copy fails")
def test_every_way_out_of_every_call(debug_build):
    """Each call of the table with its first, second, ... allocation and copy failing; each place fails once."""
    outcome = boot_build(debug_build, f"failcheck && cat {SITES}", cpus=2, icount=True)
    total = re.search(r"^\d{4} failures came: .*; 0 wrong$", outcome.console, re.M)
    assert outcome.status == 0 and total, outcome.console
    tried = {line.split()[0] for line in re.findall(r"^[a-z]\w* .*-?\d+ +\d+$", outcome.console, re.M)}
    assert calls_of_the_table() <= tried
    taken = [int(n) for n in re.findall(r"^fail\w+ \S+ \d+ (\d+) \S+ \S+$", outcome.console, re.M)]
    assert len(taken) > 500 and sum(n > 0 for n in taken) > 0.97 * len(taken)


@pytest.mark.nightly("two threads that break what they share, or lose it")
@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_scripts_of_calls(debug_build, sched):
    """Drawn calls of two threads on the same objects; each script gives back what it takes."""
    outcome = boot_build(debug_build, f"fuzz -n 20000 -s {len(sched)} scripts", sched=sched)
    total = re.search(r"^ *scripts: 400 of calls in 3\d\d ways, .*; 0 wrong$", outcome.console, re.M)
    assert outcome.status == 0 and total, outcome.console


@pytest.mark.nightly("a way out of a call that random failures take, and that the table of calls does not reach")
@pytest.mark.parametrize("seed", [1, 2])
def test_fuzz_with_failures(debug_build, seed):
    """One in 250 allocations and copies of the fuzzer fails. The machine goes on."""
    set_all = ("cd /sys/kernel/debug; for kind in failslab fail_page_alloc fail_usercopy; do "
               "for number in {}; do echo ${{number#*=}} > $kind/${{number%=*}}; done; done; cd /; ")
    begin = (set_all.format("verbose=0 times=-1 task-filter=Y interval=50 probability=20")
             + "echo 0 > /sys/kernel/debug/fail_page_alloc/min-order; ")
    fuzz = f"fuzz -f -s {seed} -n 3000 && fuzz -f -s {seed + 10} -n 3000 calls || exit; "
    end = set_all.format("probability=0") + "failcheck open mkdir > /dev/null && taskcheck wait-some > /dev/null"
    outcome = boot_build(debug_build, begin + fuzz + end)
    assert outcome.status == 0, outcome.console


# A subshell opens a file four times, which copies a path each time. Its status has a bit for each that failed.
FOUR_COPIES = """cd /sys/kernel/debug/fail_usercopy; echo 0 > verbose; echo Y > task-filter
try() {
  for number in "$@"; do echo ${number#*=} > ${number%=*}; done
  (echo 1 > /proc/self/make-it-fail
   f=0; for bit in 1 2 4 8; do true 2>&- > /dev/null || f=$((f + bit)); done; exit $f)
  echo "$* fails $?"; echo 0 > probability
}
try interval=2 times=1 probability=100; try interval=1 times=2 probability=100; try times=9 probability=0
try space=3 times=1 probability=100; try times=-1 probability=100; cat times
echo 0 > /proc/self/make-it-fail; (true > /dev/null) && echo others pass
(echo 2 > /proc/self/fail-nth; true 2>&- > /dev/null || cat < /proc/self/fail-nth); cat < /proc/self/fail-nth
for wrong in probability=101 times=-2 verbose=3 task-filter=x; do echo ${wrong#*=} > ${wrong%=*} || echo refused; done
"""


@pytest.mark.nightly("a number of Linux's fault injection that is not obeyed")
def test_numbers_of_failures(debug_build):
    outcome = boot_build(debug_build, FOUR_COPIES, cpus=1)
    said = outcome.console.replace("\r", "")
    for number in ("interval=2 times=1 probability=100 fails 2", "interval=1 times=2 probability=100 fails 3",
                   "times=9 probability=0 fails 0", "space=3 times=1 probability=100 fails 4",
                   "times=-1 probability=100 fails 15\n-1\nothers pass\n"):
        assert number in said, said
    assert re.search(r"forcing a failure.*\nname failslab,(.*\n)+?.* file_open_at\+.*\n(.*\+.*\n)+0\n0\n", said), said
    assert len(re.findall(r"^refused$", said, re.M)) == 4


# --- undefined behaviour --------------------------------------------------------------------------

@pytest.mark.nightly("undefined behaviour in the kernel")
def test_selftests_without_undefined_behaviour(sanitized_build):
    outcome = boot_build(sanitized_build, "", append="selftest=all", sched="eevdf")
    assert outcome.status == 0 and re.search(r"# [1-9]\d+ passed, 0 failed", outcome.console), outcome.console
    assert " undefined_behaviour_is_noticed\n" in outcome.console.replace("\r", "")


EVERY_EVENT = ("echo 1 > /sys/kernel/tracing/events/enable; echo text > /sys/kernel/tracing/trace_marker; hog -t 20ms; "
               "cat /sys/kernel/tracing/trace | wc -l; ")


@pytest.mark.nightly("undefined behaviour in the kernel")
@pytest.mark.parametrize(("sched", "command"), [
    ("fdl", "for check in taskcheck memcheck filecheck; do $check || exit 1; done"),
    ("bore", EVERY_EVENT + "swapstorm -n 20; hotplugstorm -n 40"),
    ("eevdf", FUZZ.format(seed=7, number=8000)),
], ids=["checks", "storms", "fuzz"])
def test_programs_meet_no_undefined_behaviour(sanitized_build, sched, command):
    outcome = boot_build(sanitized_build, command, sched=sched, icount=True)
    assert outcome.status == 0, outcome.console


# --- accesses beyond or after an object -----------------------------------------------------------

@pytest.mark.nightly("an access of the kernel beyond its object, or after that was freed")
def test_a_wrong_access_is_noticed(address_build):
    outcome = boot_build(address_build, "", append="selftest=accesses*", sched="eevdf")
    assert outcome.status == 0 and "# 4 passed, 0 failed" in outcome.console, outcome.console


@pytest.mark.nightly("an access of the kernel beyond its object, or after that was freed, in a selftest")
def test_selftests_meet_no_wrong_access(address_build):
    outcome = boot_build(address_build, "", append="selftest=all")
    assert outcome.status == 0 and re.search(r"# [1-9]\d+ passed, 0 failed", outcome.console), outcome.console


@pytest.mark.nightly("an access of the kernel beyond its object, or after that was freed")
@pytest.mark.parametrize("command", ["taskcheck; true", "filecheck; true", "fuzz -s 7 -n 1000"])
def test_programs_meet_no_wrong_access(address_build, command):
    """Each access is a call in such a kernel: it is too slow for bounds on time, so only the machine's end counts."""
    outcome = boot_build(address_build, command)
    assert outcome.status == 0 and "KASAN" not in outcome.console, outcome.console


# --- races ----------------------------------------------------------------------------------------

@pytest.mark.nightly("two CPUs that access the same data at the same time, and one of them writes")
@pytest.mark.parametrize("icount", [False, True])
def test_a_race_is_noticed(thread_build, icount):
    """With both places; by the instruction, too, where a CPU waits for turns of the others."""
    outcome = boot_build(thread_build, "", append="selftest=races*", icount=icount)
    assert outcome.status == 0 and "# 1 passed, 0 failed" in outcome.console, outcome.console


@pytest.mark.nightly("two CPUs that access the same data at the same time in a selftest, and one of them writes")
def test_selftests_meet_no_race(thread_build):
    outcome = boot_build(thread_build, "", append="selftest=all", sched="fdl")
    assert outcome.status == 0 and re.search(r"# [1-9]\d+ passed, 0 failed", outcome.console), outcome.console
    assert "KCSAN" not in outcome.console, outcome.console


@pytest.mark.nightly("two CPUs that access the same data at the same time, and one of them writes")
@pytest.mark.parametrize("command", ["taskcheck; true", "filecheck; true", "swapstorm -n 10; hotplugstorm -n 10; true"],
                         ids=["tasks", "files", "storms"])
def test_programs_meet_no_race(thread_build, command):
    """Each access is a call: too slow for bounds on time, so only the machine's end counts, and the silence."""
    outcome = boot_build(thread_build, command)
    assert outcome.status == 0 and "KCSAN" not in outcome.console, outcome.console

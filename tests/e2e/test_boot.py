# SPDX-License-Identifier: GPL-2.0-only
"""Both ways to boot, on machines of many shapes; and how runs end."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.e2e.conftest import BUILD, PASSED, ROOT, TIMEOUT_S
from tests.e2e.test_debug import boot_build, build_kernel
from fairground.machine.qemu import EXIT_FAILURE, candidates


def tree(console):
    """The topology that the kernel printed: (numbers of packages, LLCs, cores, CPUs, nodes)."""
    lines = re.findall(r"^\[ *[\d.]+\] ( *(?:package|LLC|core|topology:).*)$", console, re.MULTILINE)
    count = {word: sum(line.strip().startswith(word) for line in lines) for word in ("package", "LLC", "core")}
    cpus = len(re.findall(r"\bcpu \d+", "\n".join(lines)))
    nodes = {node for line in lines for node in re.findall(r"node (\d+)", line)}
    return count["package"], count["LLC"], count["core"], cpus, len(nodes)


@pytest.mark.parametrize("how, loader", [("pvh", "PVH"), ("iso", "multiboot2")])
def test_both_ways(guest, how, loader):
    text = guest("uname -a; nproc", boot=how, cpus=2)
    assert f"by {loader}" in text
    assert re.search(r"^Linux fairground 6\.1\S* .* x86_64 GNU/Linux$", text, re.MULTILINE)
    assert re.search(r"^2$", text, re.MULTILINE)


@pytest.mark.parametrize("cpus", [1, 3, 16, 64])
def test_numbers_of_cpus(guest, cpus):
    text = guest("nproc; grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat", cpus=cpus)
    assert re.findall(r"^\d+$", text, re.MULTILINE) == [str(cpus)] * 3
    assert tree(text)[3] == cpus


@pytest.mark.nightly("the 255th CPU, the last that a byte numbers, or a table that ends before it")
def test_as_many_cpus_as_there_may_be(guest):
    text = guest("nproc; taskset -c 254 hack -g 1 -l 5", cpus=255, mem=512)
    assert re.search(r"^255$", text, re.MULTILINE) and "2000 messages" in text and tree(text)[3] == 255


@pytest.mark.nightly("code that one compiler, or one level of its optimisation, makes wrong")
@pytest.mark.parametrize("name, words", [
    ("O0", ["OPTIMIZE=0"]), ("O1", ["OPTIMIZE=1"]), ("O3", ["OPTIMIZE=3"]), ("lto", ["OPTIMIZE=2 -flto"]),
    ("clang", ["CC=clang"]),
])
def test_compilers_and_levels_of_optimisation(tmp_path, name, words):
    outcome = boot_build(build_kernel(tmp_path, name, *words), "hack -g 2 -l 20 && taskcheck", timeout=TIMEOUT_S)
    assert outcome.status == 0 and PASSED.search(outcome.console), outcome.console


@pytest.mark.parametrize("machine", ["microvm", "pc,acpi=off"])
def test_a_machine_without_tables_is_told_so(machine):
    """The runner makes no such machine; who writes QEMU's command line may."""
    words = [candidates()[0].path, "-machine", machine, "-accel", "tcg", "-cpu", "max", "-m", "128", "-nodefaults",
             "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio", "-kernel",
             os.path.join(BUILD, "fairground.elf"), "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)
    said = "panic: no HPET and no ACPI timer to measure the clock with (a microvm, or acpi=off?)"
    assert done.returncode == EXIT_FAILURE and said in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("qemu", candidates(), ids=lambda qemu: qemu.name)
@pytest.mark.parametrize("cpu", ["max", "amd", "qemu64", "Skylake-Server"])
def test_processor_models(guest, monkeypatch, qemu, cpu):
    """xAPIC and x2APIC, with and without SMEP, SMAP, UMIP, FSGSBASE, RDTSCP."""
    monkeypatch.setenv("FAIRGROUND_QEMU", qemu.path)
    assert "640 messages" in guest("hack -g 2 -f 4 -l 20", cpu=cpu, cpus=2)


@pytest.mark.parametrize("cpu", ["intel", "amd"])
@pytest.mark.parametrize("smp, shape", [
    ("8,sockets=2,cores=2,threads=2", (2, 2, 4, 8, 1)),
    ("16,sockets=2,dies=2,cores=2,threads=2", (2, 4, 8, 16, 1)),
    ("6,sockets=1,cores=3,threads=2", (1, 1, 3, 6, 1)),
])
def test_topology(guest, cpu, smp, shape):
    assert tree(guest("true", smp=smp, cpu=cpu)) == shape


def test_numa_nodes(guest):
    text = guest("true", smp="8,sockets=2,cores=4", numa=2)
    assert tree(text) == (2, 2, 8, 8, 2)
    for cpu in range(8):
        assert re.search(rf"node {cpu // 4}\b.*\bcpu {cpu}\b", text)


def test_memory_size(guest):
    total = {mem: int(re.search(r"MemTotal: +(\d+) kB", guest("cat /proc/meminfo", mem=mem))[1])
             for mem in ("64", "256", "2G")}
    assert 50 << 10 < total["64"] < 64 << 10
    assert 240 << 10 < total["256"] < 256 << 10
    assert 1900 << 10 < total["2G"] < 2048 << 10


@pytest.mark.exact
def test_icount_starts_fast(guest):
    """From reset to init in a few milliseconds of instructions, so short experiments stay short."""
    text = guest("cat /proc/uptime", cpus=4, icount=True)
    end = float(re.search(r"\[ *([\d.]+)\] fairground: exit status 0", text)[1])
    assert end < 0.02


def test_demonstration_ends_by_itself(guest):
    """What `make run </dev/null` does."""
    text = guest("")
    assert "share CPU 0" in text and "how late it wakes" in text


@pytest.mark.nightly("a demonstration that does not blame the host")
def test_demonstration_on_a_busy_host(tmp_path):
    """The task that runs while the host keeps a CPU waiting is charged for it. The message says that the host is to
    blame."""
    with open(tmp_path / "console", "wb") as console:
        run = start_runner(stdout=console, ICOUNT="0")
    try:
        while run.poll() is None and "longest wait" not in (text := (tmp_path / "console").read_text("utf-8")):
            time.sleep(0.05)
            if "1. Four" in text:
                stop_for_a_while(run.pid)
    finally:
        status = run.wait(TIMEOUT_S)
    text = (tmp_path / "console").read_text("utf-8")
    assert status == 0 and re.search(r"The host is busy: of this time it stopped the CPU for [1-9]\d+ ms", text), text


def start_runner(stdout, **environment):
    """The process behind `make run`."""
    return subprocess.Popen([sys.executable, "-m", "fairground", "--build", BUILD, "run"], stdin=subprocess.DEVNULL,
                            stdout=stdout, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools"),
                                                "KVM": "0", "TIMEOUT": str(TIMEOUT_S), **environment})


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


def stop_for_a_while(runner):
    """The QEMU that is a child of the process @runner."""
    qemus = children_of(runner)
    for send in (signal.SIGSTOP, signal.SIGCONT):
        for qemu in qemus:
            os.kill(qemu, send)
        time.sleep(0.3)


@pytest.mark.parametrize("script, status", [("exit 7", 7), ("true; false", 1), ("kill -TERM $$", 143)])
def test_status_of_the_command(boot, script, status):
    assert boot(script, cpus=1).status == status


def test_a_command_may_have_many_lines_and_any_characters(guest):
    text = guest("a='x  $y'\necho \"$a\" 'é' | sed s/x/z/\n", cpus=1)
    assert "z  $y é" in text


def test_time_limit(boot):
    outcome = boot("sleep 1000", cpus=1, timeout=3)
    assert outcome.status == 124 and "TIMEOUT=3" in outcome.problem


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_killed_runner_takes_its_machine_along(tmp_path, number):
    with start_runner(subprocess.PIPE, CMD="echo up; sleep 1000", SMP="1", TMPDIR=str(tmp_path)) as run:
        while run.stdout.readline() not in (b"up\n", b""):
            pass
        machine, = children_of(run.pid)
        run.send_signal(number)
        assert run.wait(TIMEOUT_S) == 128 + number
    assert not os.path.exists(f"/proc/{machine}") and not os.listdir(tmp_path)


def test_bad_kernel_parameter_panics_with_its_name(boot):
    outcome = boot("true", cpus=2, append="hz=77")
    assert outcome.status == 1
    assert re.search(r"panic: .*hz=77", outcome.console)
    assert "kernel_main" in outcome.console  # the backtrace


def test_a_quiet_boot_is_in_dmesg_only(boot):
    outcome = boot("dmesg | grep -c topology:", cpus=2, append="quiet")
    assert outcome.status == 0 and "\n1\n" in outcome.console.replace("\r", "")
    assert outcome.console.lstrip().startswith("Linux version ")  # of init
    console = boot("true", cpus=2, append="quiet hz=77").console
    assert re.search(r"by PVH, commit(.*\n)*?.* topology: 2 CPUs(.*\n)*?.*panic: .*hz=77", console), console


def test_an_unknown_policy_gives_way_to_the_default(boot, monkeypatch):
    """The runner refuses it; another loader would not."""
    monkeypatch.setattr("fairground.base.settings.SCHEDULERS", ("cfs", "nonsense"))
    outcome = boot("cat /sys/kernel/debug/sched/fair_class", cpus=2, append="sched=nonsense")
    assert outcome.status == 0 and "sched=nonsense: there is no such policy, using the default" in outcome.console
    assert "[cfs]" in outcome.console


@pytest.mark.parametrize("how", ["pvh", "iso"])
def test_a_32_bit_processor_is_told_so(boot, how):
    outcome = boot("true", boot=how, cpu="pentium3")
    assert outcome.status == 1 and "panic: this processor (CPU=) has no 64-bit mode" in outcome.console


@pytest.mark.parametrize("feature", ["sse2", "fxsr", "syscall"])
def test_a_processor_without_a_feature_is_told_so(boot, feature):
    outcome = boot("true", cpus=1, cpu=f"max,-{feature}")
    assert outcome.status == 1
    assert f"panic: this processor (CPU=) has no {feature}, which every x86-64 processor has" in outcome.console


def test_unusable_init_panics(boot):
    outcome = boot("true", cpus=2, files={"/init": b"not a program"})
    assert outcome.status == 1 and "panic: " in outcome.console and "runnable tasks:" in outcome.console

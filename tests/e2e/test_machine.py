# SPDX-License-Identifier: GPL-2.0-only
"""The machine itself: every way to boot, every kind of processor, and how it ends when it cannot go on."""

import re

import pytest

pytestmark = pytest.mark.exact

CPUS = ["max", "qemu64", "EPYC", "Skylake-Server"]


@pytest.mark.parametrize("cpu", CPUS)
def test_processors(guest, cpu):
    """Registers survive on each processor, whatever features it has (SMAP, NX, x2APIC, ...)."""
    assert "every register kept" in guest("regs -d 300ms", cpus=3, cpu=cpu)


def test_registers_under_icount(guest):
    assert "every register kept" in guest("regs -d 100ms", icount=True, cpus=2)


@pytest.mark.parametrize("cpus", [1, 2])
def test_no_wakeup_is_lost(guest, cpus):
    """Lab 12's program: store, timeout and signal come at every place of a wait."""
    text = guest("wakecheck -p -n 500", icount=True, cpus=cpus, hz=1000)
    assert "5 tests, all right" in text
    rounds = [int(found) for found in re.findall(r"^# (\d+) of 500 rounds had", text, re.M)]
    assert len(rounds) == 4 and all(0 < rounds[race] < 500 for race in (0, 1, 3)), "each race has both outcomes"


def test_nobody_is_kept_waiting(guest):
    """Under a lock nothing is longer than 50,000 instructions, whatever a user makes long."""
    assert re.search(r"^[1-9]\d* passed, 0 failed$", guest("boundcheck", icount=True, cpus=1), re.M)


def test_grub(guest):
    """The multiboot2 path: command line, memory map, ACPI and initramfs come from GRUB."""
    text = guest("nproc; dmesg | grep 'by multiboot2'", cpus=2, boot="iso")
    assert re.search(r"^2$", text, re.M) and "by multiboot2" in text


@pytest.mark.parametrize("cpus", [1, 16, 64])
def test_many_cpus(guest, cpus):
    assert re.search(rf"^{cpus}$", guest("nproc; hack -g 1 -l 20", cpus=cpus, mem=512), re.M)


def test_topology_tree(guest):
    """AMD style: two LLCs of two cores of two threads in a package."""
    text = guest("true", smp="8,sockets=1,dies=2,cores=2,threads=2", cpu="EPYC")
    assert text.count("    LLC ") == 2
    assert text.count("      core ") == 4
    assert re.search(r"core 3  node 0  cpu 6 \(apic 6\)  cpu 7 \(apic 7\)", text)


def test_models_of_preemption(guest):
    """`preempt=` and its file, as Linux has them; a model that nobody knows changes nothing."""
    file = "/sys/kernel/debug/sched/preempt"
    text = guest(f"cat {file}; echo lazy > {file}; cat {file}; echo fully > {file} || cat {file}", cpus=1,
                 append="preempt=voluntary")
    assert re.findall(r"^none.*lazy\)? $", text, re.M) == [
        "none (voluntary) full lazy ", "none voluntary full (lazy) ", "none voluntary full (lazy) "]
    assert "Invalid argument" in text
    text = guest(f"cat {file}", cpus=1, append="preempt=some")
    assert "Dynamic Preempt: unsupported mode: some" in text and "none voluntary (full) lazy \n" in text


def test_panic(boot):
    """A crash stops every CPU, says where, shows the runqueues, and fails the run."""
    outcome = boot("echo c > /proc/sysrq-trigger", cpus=3)
    assert outcome.status != 0
    assert "panic: crash asked for" in outcome.console
    assert re.search(r"[0-9a-f]{16} sysrq_store\+0x", outcome.console)
    assert re.search(r"[0-9a-f]{16} x86_syscall_entry\+0x", outcome.console)
    assert all(f"cpu#{cpu}" in outcome.console for cpu in range(3))

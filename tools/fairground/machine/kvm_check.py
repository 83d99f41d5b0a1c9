# SPDX-License-Identifier: GPL-2.0-only
"""A short list of programs on this computer's own processor (KVM), and a report that one can send.

The project's tests emulate the processor, so that every host gives the same results. Whether the kernel runs on the
hardware is for those to see who have it.
"""

import argparse
import os
import platform
import re
from collections.abc import Iterator
from typing import Any

from .. import result
from ..base.settings import Settings, UsageError, make_settings
from ..words import Command
from .machine import Outcome, commit, run_batch
from .qemu import choose, kvm_works

COMMAND = Command("kvm-check", machine=True, built="image", examples=(
    ("", "does the kernel run on this computer's processor?"),
))

# Name, number of CPUs, command, and an expression that its console must match.
CHECKS = (
    ("boots on one CPU", 1, "nproc", r"^1\r?$"),
    ("boots on eight CPUs", 8, "nproc", r"^8\r?$"),
    ("knows the time", 2, "sleep 1; cat /proc/uptime", r"^[1-9]\d*\.\d+ "),
    ("sends messages", 4, "hack -g 2 -l 20", r"^16000 messages"),
    ("shares by weight", 1, "hog -N 0,5 -t 2s", r"^ *\d+ +0 .*\n *\d+ +5 "),
    ("keeps registers", 3, "regs -d 300ms", r"every register kept"),
    ("balances", 4, "hog -n 8 -t 1s", r"involuntary"),
    ("changes policies", 2, "echo eevdf > /sys/kernel/debug/sched/fair_class && hack -g 1 -l 20 && echo done",
     r"^done\r?$"),
    ("takes CPUs out of service", 4, "hotplugstorm -n 20; true", r"tasks lost 0"),
    ("passes its own tests", 4, "", r"# \d+ passed, 0 failed"),
)
LAST_LINES = 12  # of the console of a check that failed


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        name = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return name[1] if name else platform.machine()


def run(settings: Settings, cpus: int, command: str) -> Outcome:
    append = settings.append if command else f"{settings.append} selftest=all".strip()
    given = {**settings.given, "kvm": "1", "icount": "0", "smp": str(cpus), "append": append}
    return run_batch(make_settings({**given, "cmd": command or "true"}, build=settings.build))


def report(settings: Settings) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The lines about each check, and the same for programs."""
    for name, cpus, command, expected in CHECKS:
        outcome = run(settings, cpus, command)
        good = not outcome.status and re.search(expected, outcome.console, re.MULTILINE) is not None
        lines = [f"{'ok' if good else 'FAILED':8} {name}"]
        if not good:
            lines += [f"         {outcome.problem or f'status {outcome.status}'}"]
            lines += [f"         | {line}" for line in outcome.console.rstrip().splitlines()[-LAST_LINES:]]
        yield lines, {"check": name, "ok": good, "status": outcome.status}


def options(parser: argparse.ArgumentParser) -> None:
    del parser


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run a short list of programs on the hardware (KVM) and print a report to send"""
    del arguments
    qemu, _ = choose(settings)
    if not os.path.exists("/dev/kvm"):
        raise UsageError("kvm-check: KVM cannot be used here: there is no /dev/kvm")
    if not kvm_works(qemu):
        raise UsageError("kvm-check: /dev/kvm cannot be used here: there is no hardware behind it, or no permission "
                         "(the group kvm has it)")
    print(f"Fairground {commit()} on {processor()}, Linux {platform.release()}, QEMU {qemu.name}", flush=True)
    rows = []
    for lines, row in report(settings):
        print("\n".join(lines), flush=True)
        rows.append(row)
    bad = sum(not row["ok"] for row in rows)
    result.tell([f"{len(rows) - bad} of {len(rows)} are good. Please send this report in either case."],
                result.of_settings(settings), rows)
    return bool(bad)

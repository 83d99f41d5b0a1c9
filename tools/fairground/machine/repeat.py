# SPDX-License-Identifier: GPL-2.0-only
"""Run one experiment several times and compare everything it recorded.

A run under ICOUNT=1 is a function of image, command line and settings, with one known exception. When all CPUs sleep,
QEMU's main thread moves the clock. If that thread comes late, it may do so when the last CPU has halted and its
instructions are not yet counted. The runner pins QEMU to one host CPU and, where that is allowed, lets the main thread
run first. Elsewhere a busy host may disturb a run. A run that disagrees with the majority is therefore repeated, once
for every ten runs asked for, and reported. If the runs then still disagree, that is a failure
(docs/adr/003-deterministic-smp.md).
"""

import argparse
import hashlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable

from .. import result
from ..base.settings import Settings, UsageError, make_settings
from ..trace.trace import convert, memory_directory, with_tracing
from ..words import Command
from .image import commit_in
from .machine import STATUS_PANIC, Machine, Outcome

COMMAND = Command("repeat", machine=True, built="image", examples=(
    ("--smp 4 --cmd 'hack -g 2' --runs 5", "five runs: are all traces the same?"),
))

RUNS = 3  # unless somebody says how many
SHORT = 16  # characters of a digest to show


def fingerprint(settings: Settings) -> tuple[Outcome, str]:
    """Run once. Returns the outcome, and a digest of the console and of every CPU's trace, whatever the commit."""
    with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory:
        ram, out = os.path.join(directory, "ram"), os.path.join(directory, "trace.dat")
        with Machine(with_tracing(settings, ram, "*:*,!decision:*,!raw_syscalls:*,!task:*")) as machine:
            outcome = machine.run()
        convert(ram, out)
        with open(out, "rb") as f:
            left = outcome.console.encode() + f.read()
    return outcome, hashlib.sha256(left.replace(commit_in(left), b"")).hexdigest()


def repeat(settings: Settings, runs: int,
           progress: Callable[[str], object] = lambda digest: None) -> tuple[Outcome, list[tuple[str, int]]]:
    """Run until @runs runs agree. Returns the last outcome and how often each digest came, the most frequent first.

    Gives up when more runs disagree than a busy host explains: one in ten, and at least one.
    """
    seen: Counter[str] = Counter()
    allowed = max(1, runs // 10)
    while not seen or max(seen.values()) < runs and seen.total() - max(seen.values()) <= allowed:
        outcome, digest = fingerprint(settings)
        seen[digest] += 1
        progress(digest)
    return outcome, seen.most_common()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=RUNS)


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run CMD several times under ICOUNT=1 and compare the traces"""
    if "icount" not in settings.given:
        settings = make_settings({**settings.given, "icount": "1"}, build=settings.build)
    if not settings.icount:
        raise UsageError("only runs with ICOUNT=1 repeat themselves")
    if not 2 <= arguments.runs <= 1000:
        raise UsageError(f"--runs {arguments.runs}: an integer from 2 to 1000 is expected")
    with Machine(settings) as machine:
        print(machine.header("repeat", args=f"--runs {arguments.runs}" if arguments.runs != RUNS else None), flush=True)
    outcome, seen = repeat(settings, arguments.runs, lambda digest: print(digest[:SHORT], flush=True))
    sys.stdout.write(outcome.console)
    total = sum(times for _, times in seen)
    result.tell([f"{times} of {total} runs: {digest[:SHORT]}" for digest, times in seen], result.of_settings(settings),
                ({"digest": digest, "runs": times} for digest, times in seen))
    return outcome.status if seen[0][1] >= arguments.runs else STATUS_PANIC

# SPDX-License-Identifier: GPL-2.0-only
"""The same moment under other policies: a simulated run again, with another policy from that moment on."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from ..base.errors import FileError, why_failed
from ..base.settings import SCHEDULERS
from ..machine.simulator import program
from ..trace.timeline import Timeline
from .lateness import Wait, waits_of

MS = 1_000_000
OUTPUTS = ("--json", "--trace", "--schedstat", "--decisions")
LEAST = 100 * MS  # after the moment, at least


class Future(NamedTuple):
    """How long the wait would have been under a policy, in ns. None: it would not have begun."""

    policy: str
    length: int | None
    ended: bool  # False: it would have gone on longer


def without(words: Sequence[str], option: str) -> list[str]:
    """@words without @option and its value."""
    kept, skip = [], False
    for word in words:
        if not skip and word != option and not word.startswith(f"{option}="):
            kept.append(word)
        skip = not skip and word == option
    return kept


def command_of(about: str) -> list[str]:
    """The words of the simulator's command in @about, what a trace or a record says of its run, without the files that
    it writes; [] of another run."""
    for line in about.split("\n"):
        if line.startswith("command: schedsim "):
            words = shlex.split(line)[2:]
            for option in OUTPUTS:
                words = without(words, option)
            return words
    return []


def run(build: str, words: Sequence[str], option: str, path: str) -> None:
    """Run the simulator, which writes @path because of @option. Raises FileError if it cannot."""
    done = subprocess.run([program(build), *words, option, path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FileError(f"the run cannot be repeated: {why_failed(done)}")


def _under(line: Timeline, wait: Wait, past: Sequence[Wait], policy: str) -> Future:
    """What became of @wait in @line, whose past must have the same waits as @past."""
    waits = waits_of(line, {wait.pid})
    if sorted(each for each in waits if each.end < wait.start) != sorted(past):
        raise FileError("the run cannot be repeated: this simulator decides otherwise even before the wait")
    for each in waits:
        if each.start == wait.start:
            return Future(policy, each.length, each.ended)
    return Future(policy, None, True)


def futures(build: str, words: Sequence[str], wait: Wait, past: Sequence[Wait], current: str) -> list[Future]:
    """@wait, of the run of these @words, under each policy but @current, the shortest first. @past: the task's waits
    that ended before. A program for sched_ext is thrown out then. Raises FileError if the run cannot be repeated."""
    found = []
    length = wait.start + max(4 * wait.length, LEAST)
    moment = wait.start - 1 if wait.woken else wait.start + 1  # a wakeup is decided anew; the end of a turn stands
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        path = os.path.join(directory, "future.dat")
        for policy in SCHEDULERS:
            if policy == current:
                continue
            run(build, [*without(words, "--time"), "--time", f"{length}ns", "--swap", f"{moment}ns/{policy}"],
                "--trace", path)
            found.append(_under(Timeline(path), wait, past, policy))
    return sorted(found, key=lambda future: (future.length or 0, not future.ended))

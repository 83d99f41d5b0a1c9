# SPDX-License-Identifier: GPL-2.0-only
"""A program that may be anything, run in a process group of its own with limits and without network.

It may not write files, except into pipes that it is given; it has limits of CPU time, time and memory; what it prints
is kept up to a limit. Where the host allows user namespaces it has no network either.
"""

import contextlib
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import threading
from dataclasses import dataclass

OUTPUT_LIMIT = 256 << 10
DRAIN_S = 120  # for what is still in the pipes of a program that has ended


@dataclass(frozen=True)
class Ended:
    """How a program ended: its status, negative for a signal, and what it printed."""

    status: int
    text: str
    timed_out: bool

    @property
    def how(self) -> str:
        """What a student is told of it."""
        if self.timed_out:
            return "it did not end"
        if self.status < 0:
            return f"it was ended by {signal.Signals(-self.status).name}"
        return f"it ended with status {self.status}"


@dataclass(frozen=True)
class Limits:
    """@cpu_s of CPU time, @wall_s on the clock, which only ends what sleeps; @memory_mb: 0, no limit."""

    cpu_s: int
    wall_s: int
    memory_mb: int = 0
    writes_files: bool = False


@functools.cache
def isolation() -> tuple[str, ...]:
    """The words before a command that take its network away; none where the host does not let us."""
    words = ("unshare", "--user", "--map-current-user", "--net", "--")
    if not shutil.which("unshare"):
        return ()
    works = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if works else ()


def _limit(limits: Limits) -> list[str]:
    words = ["prlimit", f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}", "--core=0"]
    if limits.memory_mb:
        words.append(f"--as={limits.memory_mb << 20}")
    if not limits.writes_files:
        words.append("--fsize=0")
    return [*words, "--"]


class _Reader(threading.Thread):
    """Keeps the first bytes of a stream and lets the rest go by."""

    def __init__(self, stream: int, limit: int) -> None:
        super().__init__(daemon=True)
        self._stream, self._limit, self.data = stream, limit, bytearray()

    def run(self) -> None:
        with open(self._stream, "rb", buffering=0, closefd=True) as stream:
            while part := stream.read(1 << 16):
                if len(self.data) < self._limit:
                    self.data += part[:self._limit - len(self.data)]


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def run(words: list[str], cwd: pathlib.Path, limits: Limits, environment: dict[str, str] | None = None,
        record: pathlib.Path | None = None, record_limit: int = 64 << 20, reads: pathlib.Path | None = None) -> Ended:
    """Run @words in @cwd, with the file @reads as its input. The word RECORD is a pipe, of which @record gets what is
    written there.
    """
    out, into = os.pipe()
    reader = _Reader(out, OUTPUT_LIMIT)
    pipes, recorder = [], None
    if record:
        source, sink = os.pipe()
        recorder = _Reader(source, record_limit)
        pipes.append(sink)
        words = [word if word != "RECORD" else f"/dev/fd/{sink}" for word in words]
    with open(reads or os.devnull, "rb") as source_of_input:
        process = subprocess.Popen(
            [*isolation(), *_limit(limits), *words], cwd=cwd, stdin=source_of_input, stdout=into, stderr=into,
            env=environment, pass_fds=pipes, start_new_session=True)
    for end in (into, *pipes):
        os.close(end)
    reader.start()
    if recorder:
        recorder.start()
    timed_out = False
    try:
        status = process.wait(limits.wall_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        _kill(process)
        status = process.wait()
    finally:
        _kill(process)  # its group: children that it left behind go, too
    reader.join(DRAIN_S)
    if record and recorder:
        recorder.join(DRAIN_S)
        record.write_bytes(recorder.data)
    timed_out = timed_out or status == -signal.SIGXCPU or (status == -signal.SIGKILL and not timed_out)
    return Ended(status, bytes(reader.data).decode(errors="replace"), timed_out)

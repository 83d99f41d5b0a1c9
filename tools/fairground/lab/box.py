# SPDX-License-Identifier: GPL-2.0-only
"""A program that may be anything, run in namespaces of its own (bubblewrap), with limits and without network.

A program under test sees itself, its libraries and what it is given, all of it read-only, and may make the few system
calls of calls.py. A tool, which is a compiler or a machine, sees the host read-only, and of our tree only the copy that
it works in. Of either, no process outlives its box. What is printed is kept up to a limit.
"""

import contextlib
import functools
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..base.tree import ROOT
from . import calls, variants
from .spec import LabError

OUTPUT_LIMIT = 256 << 10
FILE_LIMIT = 256 << 20  # of each file that a tool writes
DRAIN_S = 120  # for what is still in the pipes of a program that has ended
CONFINE = ROOT / "tools/box/confine.c"
UNCONFINED = 125  # the status of a program whose system calls could not be taken away
LEFT = 256        # in place of a status 0 with which a program ended before its main() did
INSIDE = pathlib.PurePath("/box")  # where a program under test works
ALONE = ("bwrap", "--unshare-all", "--unshare-user", "--die-with-parent")
LIBRARY = re.compile(r"(/\S+) \(0x")
NO_BOX = ("this host gives a program no namespaces of its own (bubblewrap{}): what a submission does could reach the "
          "files and processes of whoever grades; --trusted grades your own work without them, and no class")

trusted = False  # the user's word that programs may run without namespaces: their own


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
        if self.status == -signal.SIGSYS:
            return ("it was ended for a system call that is not for a program under test: these compute, read and "
                    "print, and have no files, processes or network")
        if self.status == LEFT:
            return "it ended before it was through: your code left it by itself"
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


@dataclass(frozen=True)
class View:
    """What a program under test can read: files and directories @gives below the directory it is run in, and others
    of the host, @also, where they are. Only with @opens may it open a file itself. With @traces it may start processes
    that it traces, with @loads use libraries later than at its start.
    """

    gives: tuple[str, ...]
    also: tuple[str, ...] = ()
    opens: bool = False
    traces: bool = False
    loads: bool = False


# --- namespaces -------------------------------------------------------------------------------------------------


@functools.cache
def why_not() -> str:
    """Why programs cannot have namespaces of their own here; "" if they can."""
    if not shutil.which("bwrap"):
        return NO_BOX.format(" is not installed")
    done = subprocess.run([*ALONE, "--ro-bind", "/", "/", "--proc", "/proc", "true"], capture_output=True, text=True,
                          check=False)
    said = (done.stderr.strip().splitlines() or ["it fails"])[0].removeprefix("bwrap: ")
    return NO_BOX.format(f": {said}") if done.returncode else ""


def demand() -> None:
    """Refuse to run what students wrote where it cannot be kept apart."""
    if not trusted and why_not():
        raise LabError(why_not())


def _around_tool(cwd: pathlib.Path, writes: Sequence[pathlib.Path]) -> list[str]:
    """The host read-only, without our tree; @cwd and @writes as they are."""
    words = [*ALONE, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for path in filter(None, (variants.trunk(), ROOT)):
        words += ["--tmpfs", str(path)]
    for path in (cwd, *writes):
        words += ["--bind", str(path), str(path)]
    return [*words, "--chdir", str(cwd), "--"]


@functools.cache
def _libraries(program: str, _: float) -> tuple[str, ...]:
    """The libraries that @program, as it was at that time, is linked with."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return tuple(LIBRARY.findall(done.stdout))


def libraries(program: pathlib.Path) -> tuple[str, ...]:
    return _libraries(str(program), program.stat().st_mtime) if program.exists() else ()


def _with_values(values: dict[str, str]) -> list[str]:
    return ["env", "-i", *(f"{name}={value}" for name, value in values.items())]


def _around_program(program: pathlib.Path, cwd: pathlib.Path, view: View, values: dict[str, str]) -> list[str]:
    """Nothing of the host but @program, its libraries and what is in its @view."""
    words = [*ALONE, "--clearenv", "--proc", "/proc", "--dir", str(INSIDE)]
    for name, value in values.items():
        words += ["--setenv", name, value]
    ours = program.is_relative_to(cwd)
    for name in (*view.gives, *([str(program.relative_to(cwd))] if ours else [])):
        words += ["--ro-bind", str(cwd / name), str(INSIDE / name)]
    for name in sorted({*libraries(program), *view.also, str(_library()), *([] if ours else [str(program)])}):
        words += ["--ro-bind", name, name]
    return [*words, "--remount-ro", "/", "--chdir", str(INSIDE), "--"]


# --- system calls -----------------------------------------------------------------------------------------------


@functools.cache
def _place() -> tempfile.TemporaryDirectory[str]:
    """A directory for this process's life."""
    return tempfile.TemporaryDirectory(prefix="fairground-")


@functools.cache
def _library() -> pathlib.Path:
    """The library that takes away system calls."""
    path = pathlib.Path(_place().name) / "confine.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, CONFINE], check=True, capture_output=True)
    return path


def _rules(view: View, number: bytes) -> tuple[socket.socket, int]:
    """(our end of a socket, the descriptor of the program's), from which the library reads @number and the filter."""
    ours, theirs = socket.socketpair()
    ours.sendall(number + calls.filter_of(view.opens, view.traces, view.loads))
    return ours, theirs.detach()


def _is_through(ours: socket.socket, number: bytes) -> bool:
    """Did the program end by itself? Its library then sent @number back. One that could not begin read none."""
    with ours, contextlib.suppress(ConnectionResetError):
        return ours.recv(len(number) + 1) == number
    return False


# --- running ----------------------------------------------------------------------------------------------------


def _limit(limits: Limits) -> list[str]:
    words = ["prlimit", f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}", "--core=0"]
    if limits.memory_mb:
        words.append(f"--as={limits.memory_mb << 20}")
    words.append(f"--fsize={FILE_LIMIT if limits.writes_files else 0}")
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


def _run(words: list[str], cwd: pathlib.Path, limits: Limits, environment: dict[str, str], given: Sequence[int] = (),
         reads: pathlib.Path | None = None) -> Ended:
    """Run @words with the descriptors @given, which are closed here."""
    out, into = os.pipe()
    reader = _Reader(out, OUTPUT_LIMIT)
    with open(reads or os.devnull, "rb") as source_of_input:
        process = subprocess.Popen([*_limit(limits), *words], cwd=cwd, stdin=source_of_input, stdout=into, stderr=into,
                                   env=environment, pass_fds=given, start_new_session=True)
    for end in (into, *given):
        os.close(end)
    reader.start()
    timed_out = False
    try:
        status = process.wait(limits.wall_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        _kill(process)
        status = process.wait()
    finally:
        _kill(process)  # its group: without namespaces, children that it left behind go, too
    reader.join(DRAIN_S)
    return Ended(status, bytes(reader.data).decode(errors="replace"), timed_out)


def tool(words: list[str], cwd: pathlib.Path, limits: Limits, environment: dict[str, str],
         writes: Sequence[pathlib.Path] = ()) -> Ended:
    """Run a compiler or a machine in the tree @cwd. It may change that tree, and @writes."""
    demand()
    around = [] if why_not() else _around_tool(cwd, writes)
    ended = _run([*around, *words], cwd, limits, environment)
    over = ended.status in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU)
    return replace(ended, timed_out=ended.timed_out or over)


def program(words: list[str], cwd: pathlib.Path, limits: Limits, view: View, environment: dict[str, str] | None = None,
            record: pathlib.Path | None = None, record_limit: int = 64 << 20,
            reads: pathlib.Path | None = None) -> Ended:
    """Run the program under test @words[0], below @cwd, with the file @reads as its input. The word RECORD is a pipe,
    of which @record gets what is written there.
    """
    demand()
    number = secrets.token_bytes(16)
    ours, rules = _rules(view, number)
    given, recorder = [rules], None
    if record:
        source, sink = os.pipe()
        recorder = _Reader(source, record_limit)
        given.append(sink)
        words = [word if word != "RECORD" else f"/dev/fd/{sink}" for word in words]
        recorder.start()
    values = {**(environment or {}), "LD_PRELOAD": str(_library()), "CONFINE_FD": str(rules)}
    around = _with_values(values) if why_not() else _around_program(cwd / words[0], cwd, view, values)
    bare = {"PATH": os.environ.get("PATH", os.defpath)}  # the program can read that of process 1, which is bubblewrap
    ended = _run([*around, *words], cwd, limits, bare, given, reads)
    if record and recorder:
        recorder.join(DRAIN_S)
        record.write_bytes(recorder.data)
    status = ended.status if ended.status < 128 or why_not() else 128 - ended.status
    if status == UNCONFINED:
        raise LabError(f"{words[0]}: its system calls could not be taken away: {ended.text[:200]}")
    if not _is_through(ours, number) and not status:
        status = LEFT
    over = status in (-signal.SIGXCPU, -signal.SIGKILL)
    return Ended(status, ended.text, ended.timed_out or over)

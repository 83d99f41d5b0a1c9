# SPDX-License-Identifier: GPL-2.0-only
"""Boot the machine, pass its console on, and find out how the run ended.

The contract of the exit status (docs/adr/005-exit-status.md):

    status of the command   the guest said `fairground: exit status N` and left through the exit port
    1                       the kernel panicked, the machine was reset, or the scheduler of SCHED=scx:FILE had ended
    124                     the time limit passed
    125                     the machine could not be started

To the host a reset looks like a power-off. So a run has finished only if both signs are there: the line on the console
and the exit port.
"""

import concurrent.futures
import contextlib
import fcntl
import functools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..base import tree
from ..base.errors import reading
from ..base.printable import printable
from ..base.settings import Settings, UsageError
from . import cpio, guestfiles, scheduler_end, terminal
from .qemu import EXIT_FAILURE, EXIT_ORDERLY, QemuError, accelerator, choose, command

Echo = Callable[[str], object]  # is called with each piece of console output as it comes

STATUS_PANIC = 1
STATUS_TIMEOUT = 124
STATUS_NOT_STARTED = 125
COMMAND_FILE = "/run/cmd"
POLL_S = 0.02
PANIC_LINE = re.compile(r"^(?:\[ *[\d.]+\] )?panic: (.*)$", re.MULTILINE)
STATUS_LINE = re.compile(r"fairground: exit status (\d+)\s*$")


@dataclass
class Outcome:
    """How a run ended: the exit status, the console's text, and one sentence if the run went wrong."""

    status: int
    console: str
    problem: str = ""
    scheduler_ended: bool = False  # the sentence is about the end of the scheduler of SCHED=scx:FILE

    def as_row(self) -> dict[str, Any]:
        """The end of the run, for programs."""
        return {"status": self.status, "problem": self.problem or None, "console": self.console}


@functools.cache
def commit() -> str:
    """The commit of the working tree, with -dirty if it was changed; its version where git knows none. A program
    says the same as long as it runs: the name is part of what a run leaves, and somebody may commit between two runs
    that are compared."""
    try:
        out = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        return out.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return tree.version()


@contextlib.contextmanager
def claimed_cpu() -> Iterator[tuple[int, list[int]]]:
    """A host CPU to which no other machine is pinned, if there is one, and the file that claims it.

    The claim is a lock on the CPU's directory in /sys. A child that inherits the file keeps it while it lives.
    """
    allowed = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        for cpu in allowed:
            try:
                claim = os.open(f"/sys/devices/system/cpu/cpu{cpu}", os.O_RDONLY)
                stack.callback(os.close, claim)
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield cpu, [claim]
            return
        yield allowed[os.getpid() % len(allowed)], []


def take_turns(cpu: int) -> None:
    """In the child that becomes QEMU: all threads on @cpu and, where that is allowed, the main thread first.

    The threads that it starts have their usual policy (docs/adr/003-deterministic-smp.md).
    """
    os.sched_setaffinity(0, {cpu})
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


stopping = threading.Event()


def _children(process: str) -> list[int]:
    """The processes that threads of @process, a number or "self", have started."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{task}/children", encoding="ascii") as f:
                found += map(int, f.read().split())
    return found


def _end(pid: int) -> None:
    """End process @pid, which we have started, all that it has started, and its group if it leads one."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGSTOP)  # so that it starts nothing more meanwhile
        for child in _children(str(pid)):
            _end(child)
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)


def stop_all() -> None:
    """End the machines and simulators that threads of ours wait for, what these have started, and let none begin. For
    signals.
    """
    stopping.set()
    for _ in range(2):  # a thread may have been about to start one
        for pid in _children("self"):
            _end(pid)
        time.sleep(0.1)


@contextlib.contextmanager
def at_once(threads: int | None = None) -> Iterator[concurrent.futures.Executor]:
    """A pool of @threads, or of one for each processor. If it is left early, nothing more is begun."""
    pool = concurrent.futures.ThreadPoolExecutor(threads or os.cpu_count())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class Machine:
    """One boot of one configuration. Its files are in a directory of its own until it is closed."""

    def __init__(self, settings: Settings, extra: Iterable[str] = ()) -> None:
        self.settings = settings
        self.qemu, self.why = choose(settings)
        self.mode = accelerator(settings, self.qemu)
        self._directory = tempfile.TemporaryDirectory(prefix="fairground-")
        self.console = self.path("console.log")
        self.command = self._command() + list(extra)

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def path(self, name: str) -> str:
        return os.path.join(self._directory.name, name)

    def _command(self) -> list[str]:
        s = self.settings
        for file in (s.kernel, s.initramfs):
            if not os.path.exists(file):
                raise QemuError(f"{file} is missing: run make image" + (
                    " in the project's tree, and name its build directory with --build" if tree.IS_PACKED else ""))
        initramfs = s.initramfs
        if s.cmd or s.files or s.own_files or s.root:
            initramfs = self.path("initramfs.cpio")
            self._pack(initramfs)
        return command(s, self.qemu, self.mode, initramfs, self._iso(initramfs) if s.boot == "iso" else None)

    def _pack(self, out: str) -> None:
        """Write to @out the command, the initramfs and the archives of this run."""
        s = self.settings
        job = {COMMAND_FILE: s.cmd.encode() + b"\n"} if s.cmd else {}
        with open(out, "w+b") as f:
            room = cpio.Limited(f, s.mem << 20)
            cpio.archive(job, room)
            with open(s.initramfs, "rb") as usual:
                cpio.copy(usual, room)
            guestfiles.add(s.own_files, s.root, room)
            cpio.archive({**s.files, **(job if s.root else {})}, room)  # a tree may have a command of its own
            if s.own_files or s.root:
                with reading(f"ROOT={s.root}", UsageError):
                    guestfiles.check_fits(f, room, s.mem)
                    guestfiles.add_links(f)

    def _iso(self, initramfs: str) -> str:
        """Make the medium for GRUB. The kernel's command line is part of it, so each run has its own."""
        out = self.path("boot.iso")
        made = subprocess.run(["sh", "tools/scripts/mkiso.sh", out, self.settings.kernel, initramfs,
                               self.settings.command_line()], capture_output=True, text=True, check=False)
        if made.returncode:
            raise QemuError(made.stderr.strip())
        return out

    def header(self, target: str = "run", **more: str | None) -> str:
        """Two lines: the configuration of the run, and the command that repeats it, with @more of its variables."""
        s = self.settings
        return (f"Fairground {commit()} on {self.qemu.name} ({self.why}), {self.mode}: SCHED={s.sched} HZ={s.hz} "
                f"SMP={s.smp} MEM={s.mem} CPU={s.cpu} SEED={s.seed} BOOT={s.boot}"
                f"{f' SHIFT={s.shift}' if s.shift else ''}\nAgain: {s.repeat(target, **more)}")

    def start(self, console: str, files: tuple[int, ...] = (), repeats: bool = True,
              **streams: Any) -> subprocess.Popen[bytes]:
        """Start QEMU with the character device @console as the serial port, and with our open @files.

        Under icount its threads take turns anyway. On one host CPU they do so in an order that repeats
        (docs/adr/003-deterministic-smp.md). That is slow beside other programs, so a run that need not repeat says so.
        """
        if stopping.is_set():
            raise QemuError("stopped")
        words = self.command + ["-chardev", console, "-serial", "chardev:console"]
        if os.environ.get("V") == "1":
            print(" ".join(words), file=sys.stderr)
        if self.mode != "icount" or not repeats:
            return subprocess.Popen(words, env=self.qemu.environment(), pass_fds=files, **streams)
        with claimed_cpu() as (cpu, claims):
            return subprocess.Popen(words, env=self.qemu.environment(), pass_fds=[*claims, *files],
                                    preexec_fn=lambda: take_turns(cpu), **streams)

    # --- without a terminal ------------------------------------------------------------

    def run(self, echo: Echo | None = None) -> Outcome:
        """Run to the end and return the Outcome. @echo is called with each piece of console output as it comes."""
        open(self.console, "wb").close()
        return self._supervise(f"file,id=console,path={self.console}",
                               lambda process: self._follow(process, echo or (lambda text: None)),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def _follow(self, process: subprocess.Popen[bytes], echo: Echo) -> bool:
        """Pass the console on until QEMU ends (False) or the time limit passes (True)."""
        deadline = time.monotonic() + self.settings.timeout
        held = ""  # half of a line's end: the other half comes with the next piece
        with open(self.console, encoding="utf-8", errors="replace", newline="") as console:
            while True:
                ended = process.poll() is not None
                text = held + console.read()
                held = "\r" if text.endswith("\r") and not ended else ""
                echo(text.removesuffix(held).replace("\r\n", "\n"))
                if ended or time.monotonic() > deadline:
                    return not ended
                time.sleep(POLL_S)

    # --- with a terminal ------------------------------------------------------------------

    def interact(self) -> Outcome:
        """Run with the terminal as the machine's console. Ctrl-A X ends QEMU, Ctrl-A C is its monitor."""
        ours, theirs = socket.socketpair()

        def wait(process: subprocess.Popen[bytes]) -> None:
            theirs.close()
            terminal.relay(ours)
            process.wait()

        with ours, theirs:
            return self._supervise(f"socket,id=console,fd={theirs.fileno()},mux=on,logfile={self.console}", wait,
                                   files=(theirs.fileno(),), stdin=subprocess.DEVNULL)

    def _supervise(self, console: str, wait: Callable[[subprocess.Popen[bytes]], object], **how: Any) -> Outcome:
        """Start QEMU and return how it ended. @wait(process) waits for that; true means that the time limit passed."""
        with open(self.path("qemu.log"), "w+", encoding="utf-8", errors="replace") as log:
            process = self.start(console, stderr=log, **how)
            try:
                timed_out = wait(process)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
            log.seek(0)
            return self.outcome(process.returncode, timed_out is True, log.read())

    # --- the end ----------------------------------------------------------------------------

    def outcome(self, code: int, timed_out: bool, log: str) -> Outcome:
        """The Outcome that QEMU's exit @code and the console tell."""
        with open(self.console, encoding="utf-8", errors="replace", newline="") as f:
            text = f.read().replace("\r\n", "\n")
        lines = text.rstrip().splitlines() or [""]
        said = STATUS_LINE.search(lines[-1])
        if timed_out:
            advice = "; KVM=0 emulates the processor instead" if self.mode == "kvm" else ""
            return Outcome(STATUS_TIMEOUT, text, f"no end within TIMEOUT={self.settings.timeout} s{advice}")
        if code == EXIT_ORDERLY and said:
            ended = scheduler_end.at_boot(self.settings.sched, text) if self.settings.program else ""
            return Outcome(int(said[1]) or int(ended != ""), text, ended, ended != "")
        if code == EXIT_FAILURE:
            why = PANIC_LINE.search(text)
            return Outcome(STATUS_PANIC, text, "the kernel reported a failure and stopped"
                           + (f": {printable(why[1])}" if why else ""))
        if code == EXIT_ORDERLY:
            return Outcome(STATUS_PANIC, text, "the machine was switched off without an exit status")
        if code == 0:
            return Outcome(STATUS_PANIC, text, "the machine was reset (a triple fault?) or QEMU was told to quit")
        reason = log.strip().splitlines()[-1:] or [f"exit code {code}"]
        return Outcome(STATUS_NOT_STARTED, text, f"QEMU failed: {reason[0]}")


def run_batch(settings: Settings, echo: Echo | None = None) -> Outcome:
    """Boot, run, and return the Outcome; for tests and tools."""
    with Machine(settings) as machine:
        return machine.run(echo)


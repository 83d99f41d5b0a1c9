# SPDX-License-Identifier: GPL-2.0-only
"""The machine under gdb: QEMU stopped before its first instruction, gdb connected, our commands loaded."""

import argparse
import os
import shutil
import subprocess
import time

from ..base.settings import Settings, UsageError
from ..words import Command
from .machine import Machine
from .qemu import QemuError

COMMAND = Command("gdb", machine=True, built="image", tree="tools/gdb", no_object="it is a session", examples=(
    ("--smp 1 --cmd 'hog -n 4'", "then: break fair_tick, continue, rq, why 8"),
))

# gdb must know the architecture before it connects. The machine starts in 16-bit mode, and gdb would keep that
# register set when the kernel enters 64-bit mode.
PRELUDE = ("set pagination off", "set confirm off", "set architecture i386:x86-64")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--script", help="run this gdb script instead of a session")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """start QEMU stopped and connect gdb"""
    if not shutil.which("gdb"):
        raise QemuError("gdb is missing: sh tools/setup.sh --for gdb, or install the package gdb")
    if arguments.script and not os.path.isfile(arguments.script):
        raise UsageError(f"--script {arguments.script}: there is no such file")
    with Machine(settings) as machine:
        socket = machine.path("gdb.sock")
        machine.command += ["-S", "-chardev", f"socket,id=gdb,path={socket},server=on,wait=off", "-gdb", "chardev:gdb"]
        console = os.path.join(settings.build, "gdb-console.log")
        print(machine.header("gdb") + f"\nThe console goes to {console}", flush=True)
        qemu = machine.start(f"file,id=console,path={console}", stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            while not os.path.exists(socket) and qemu.poll() is None:
                time.sleep(0.05)  # a busy host needs a moment to start QEMU, and gdb does not try twice
            return subprocess.run(_gdb(settings, socket, arguments.script), check=False).returncode
        finally:
            qemu.kill()
            qemu.wait()


def _gdb(settings: Settings, socket: str, script: str | None) -> list[str]:
    words = ["gdb", "-q", settings.kernel]
    for line in PRELUDE + (f"target remote {socket}", "source tools/gdb/fairground.py"):
        words += ["-ex", line]
    return words + (["-batch", "-x", script] if script else [])

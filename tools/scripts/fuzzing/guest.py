# SPDX-License-Identifier: GPL-2.0-only
"""The machine that runs scripts. Its kernel, of COVER=1, has the variable cover_link (kernel/base/cover.c), and the
guest's memory is a file, so a script is a write to that file and what it reached is a read. That file and the console
have no names, and QEMU ends with the process that started it, so a fuzzer that is killed leaves nothing."""

import dataclasses
import mmap
import os
import struct
import subprocess
import time

from fairground.base.settings import Settings, make_settings
from fairground.machine.machine import Machine
from fairground.machine.qemu import QemuError

IMAGE_BASE = 0xffffffff80000000  # linker.ld
MAX_PROGRAM = 1024  # kernel/base/cover.c
HEAD = struct.Struct("<IIIII")  # ready, asked, answered, status, length
POLL_S = 0.0002
MOST_CONSOLE = 1 << 26  # in bytes
TIED = ["setpriv", "--pdeathsig", "KILL"]
VERDICTS = ("", "it loses objects or pages each time", "its process does not end")


def symbols(kernel: str) -> dict[str, int]:
    """The addresses of the image's symbols."""
    lines = subprocess.run(["nm", kernel], capture_output=True, text=True, check=True).stdout.splitlines()
    return {words[2]: int(words[0], 16) for words in map(str.split, lines) if len(words) == 3}


def machine_of(build: str, sched: str, smp: str) -> Settings:
    """The machine that runs scripts: its time is counted, and what hangs is a panic."""
    return make_settings({"sched": sched, "smp": smp, "icount": "1", "kvm": "0", "append": "watchdog=panic"},
                         build=build)


class Guest:
    """A machine whose fuzz --link waits for scripts. It is started when the first comes, and anew after its end."""

    def __init__(self, settings: Settings) -> None:
        names = symbols(settings.kernel)
        self._link = names["cover_link"] - IMAGE_BASE
        self._places = slice(names["cover_reached"] - IMAGE_BASE, names["cover_reached_end"] - IMAGE_BASE)
        self.nr_places = self._places.stop - self._places.start
        self._settings = dataclasses.replace(settings, cmd="fuzz --link")
        self._files: list[int] = []  # the memory, the console
        self._process: subprocess.Popen[bytes] | None = None
        self._ram: mmap.mmap | None = None
        self._ever = 0  # the bytes of all scripts, as one number
        self._asked = 0
        self.calls = 0  # and accesses, that scripts have made

    @property
    def pid(self) -> int:
        """That of QEMU."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Boot, unless a machine is there."""
        if self._process and self._process.poll() is None:
            return
        self.stop()
        self._files = [os.memfd_create(name) for name in ("ram", "console")]
        os.truncate(self._files[0], self._settings.mem << 20)
        self._ram = mmap.mmap(self._files[0], 0)
        self._asked = 0
        ram, console = (f"/proc/{os.getpid()}/fd/{file}" for file in self._files)
        with Machine(dataclasses.replace(self._settings, ram_file=ram)) as machine:
            machine.command = TIED + machine.command
            self._process = machine.start(f"file,id=console,path={console}", repeats=False, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not HEAD.unpack_from(self._ram, self._link)[0]:
                if self._process.poll() is not None:
                    raise QemuError(f"the machine ended before it took a script:\n{self.console()[-2000:]}")
                time.sleep(POLL_S)

    def stop(self) -> None:
        """End the machine, if there is one."""
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._ram:
            self._ram.close()
        for file in self._files:
            os.close(file)
        self._process, self._ram, self._files = None, None, []

    def run(self, script: bytes) -> str:
        """Run @script. Returns what was wrong, or ""."""
        self.start()
        assert self._ram and self._process
        script, ram, at = script[:MAX_PROGRAM], self._ram, self._link
        self._asked += 1
        ram[at + HEAD.size:at + HEAD.size + len(script)] = script
        ram[self._places] = bytes(self.nr_places)
        ram[at + 12:at + 20] = struct.pack("<II", 0, len(script))
        ram[at + 4:at + 8] = struct.pack("<I", self._asked)
        while True:
            _, _, answered, status, _ = HEAD.unpack_from(ram, at)
            if answered == self._asked:
                self.calls += status >> 2
                return VERDICTS[status & 3]
            if (ended := self._process.poll()) is not None:
                return "the machine stopped" if ended >= 0 else f"signal {-ended} ended the emulator"
            time.sleep(POLL_S)

    def reached(self) -> bytes:
        """How often the last script reached each place."""
        assert self._ram
        reached = self._ram[self._places]
        self._ever |= int.from_bytes(reached, "little")
        return reached

    def console(self) -> str:
        """What the machine has said."""
        return os.pread(self._files[1], MOST_CONSOLE, 0).decode(errors="replace")

    def ever(self) -> bytes:
        """A byte for each place: 1 if any script reached it whose reached() was asked for."""
        return bytes(map(bool, self._ever.to_bytes(self.nr_places, "little")))

# SPDX-License-Identifier: GPL-2.0-only
"""A machine with a screen and a keyboard, as somebody sees it who starts the boot image: pictures of its screen are
taken through QEMU's monitor and read back by comparing dots with the glyphs of kernel/tty/font.hex.
"""

import contextlib
import functools
import json
import os
import re
import socket
import subprocess
import time

from tests.e2e.conftest import ROOT
from fairground.machine.qemu import candidates

WIDTH, HEIGHT = 8, 16  # of a glyph
TIMEOUT_S = 240  # only for machines that hang: all of them are through in seconds

KEYS = {" ": "spc", "\n": "ret", "-": "minus", "=": "equal", "[": "bracket_left", "]": "bracket_right",
        ";": "semicolon", "'": "apostrophe", "`": "grave_accent", "\\": "backslash", ",": "comma", ".": "dot",
        "/": "slash"}
SHIFTED = dict(zip('!@#$%^&*()_+{}:"~|<>?', "1234567890-=[];'`\\,./"))


@functools.cache
def glyphs():
    """The character of each pattern of dots; of two that look the same, the first."""
    found = {}
    with open(os.path.join(ROOT, "kernel/tty/font.hex"), encoding="ascii") as font:
        for code, dots in (line.strip().split(":") for line in font if not line.startswith("#")):
            found.setdefault(bytes.fromhex(dots), chr(int(code, 16)))
    return found


class Picture:
    """A PPM file of the kind P6."""

    def __init__(self, path):
        with open(path, "rb") as file:
            kind, size, _, self.dots = file.read().split(b"\n", 3)
        assert kind == b"P6"
        self.width, self.height = map(int, size.split())

    def dot(self, x, y):
        at = 3 * (y * self.width + x)
        return self.dots[at:at + 3]

    def cell(self, column, line):
        """The dots of one character."""
        row = 3 * self.width
        at = line * HEIGHT * row + column * 3 * WIDTH
        return b"".join(self.dots[start:start + 3 * WIDTH] for start in range(at, at + HEIGHT * row, row))

    def lines(self):
        return ["".join(character(self.cell(column, line)) for column in range(self.width // WIDTH)).rstrip()
                for line in range(self.height // HEIGHT)]


@functools.cache
def character(cell):
    """What is drawn in a cell. The dot at its top left is background in all glyphs but those of boxes."""
    dots = [cell[i:i + 3] for i in range(0, len(cell), 3)]
    rows = (sum((dots[row * WIDTH + i] != dots[0]) << (7 - i) for i in range(WIDTH)) for row in range(HEIGHT))
    return glyphs().get(bytes(rows), "\N{REPLACEMENT CHARACTER}")


class Machine:
    """A running QEMU with default devices, unless @words say otherwise."""

    def __init__(self, directory, *words):
        self.picture_path = os.path.join(directory, "screen.ppm")
        monitor = os.path.join(directory, "monitor")
        self.process = subprocess.Popen(
            [candidates()[0].path, "-accel", "tcg", "-display", "none",
             "-qmp", f"unix:{monitor},server,nowait", *words],
            stdin=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        self.until(lambda: self.try_connect(monitor), "QEMU's monitor")
        self.replies = self.socket.makefile("r", encoding="utf-8")
        self.monitor("qmp_capabilities")

    def try_connect(self, monitor):
        with contextlib.suppress(OSError):
            self.socket.connect(monitor)
            return True
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.socket.close()

    def monitor(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        for line in self.replies:
            reply = json.loads(line)
            if "return" in reply or "error" in reply:
                return reply.get("return")
        return None

    def until(self, happened, what):
        """Ask again and again until @happened() has an answer, which is returned."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            found = happened()
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what}: not seen. The screen:\n" + "\n".join(self.lines()))

    def picture(self):
        self.monitor("screendump", filename=self.picture_path)
        return Picture(self.picture_path)

    def lines(self):
        return self.picture().lines()

    def wait_for(self, pattern):
        """The lines of the screen, once one of them matches all of @pattern."""
        def look():
            lines = self.lines()
            return lines if any(re.fullmatch(pattern, line) for line in lines) else None
        return self.until(look, pattern)

    def press(self, *keys):
        self.monitor("send-key", keys=[{"type": "qcode", "data": key} for key in keys], **{"hold-time": 10})
        time.sleep(0.03)  # QEMU's keyboard remembers 16 codes

    def type(self, text):
        for c in text:
            if c in SHIFTED or c.isupper():
                c = SHIFTED.get(c, c.lower())
                self.press("shift", KEYS.get(c, c))
            else:
                self.press(KEYS.get(c, c))


def make_image(path, build, *words, alone=False, kernel=None):
    """A boot image of @build whose kernel command line is @words."""
    subprocess.run(["sh", "tools/scripts/mkiso.sh", *(["--alone"] if alone else []), path,
                    kernel or os.path.join(build, "fairground.elf"), os.path.join(build, "initramfs.cpio"), *words],
                   cwd=ROOT, check=True, timeout=TIMEOUT_S)
    return str(path)

# SPDX-License-Identifier: GPL-2.0-only
"""The terminal of the user as the console of a machine: keys one way, text the other, and its size when that changes.

The kernel takes a size out of what is typed (kernel/tty/tty.c): byte 255, ROWS, a blank, COLUMNS, a newline. No key of
a terminal that speaks UTF-8 sends such a byte, and none gets through.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import sys
import termios
import tty
from collections.abc import Iterator

SIZE_BEGINS = b"\xff"
PIECE = 4096


@contextlib.contextmanager
def keys_at_once(also_ctrl_c: bool = False) -> Iterator[None]:
    """Keys are not echoed and need no Enter. Ctrl-C ends the command, as ever, unless it is a key like others."""
    before = termios.tcgetattr(sys.stdin)
    now = termios.tcgetattr(sys.stdin)
    now[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON)
    now[tty.CC][termios.VMIN], now[tty.CC][termios.VTIME] = 1, 0
    if also_ctrl_c:
        now[tty.IFLAG] &= ~(termios.ICRNL | termios.IXON)
        now[tty.LFLAG] &= ~(termios.ISIG | termios.IEXTEN)
        now[tty.OFLAG] &= ~termios.OPOST  # the guest has put carriage returns
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, now)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextlib.contextmanager
def resized() -> Iterator[int]:
    """A file that has a byte for each time that the terminal got another size."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.signal(signal.SIGWINCH, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield read
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGWINCH, before)
        os.close(read)
        os.close(write)


def relay(line: socket.socket) -> None:
    """Join the terminal with @line until that ends. A guest that does not read its keys still writes."""
    keys, typed, out = sys.stdin.fileno(), b"", sys.stdout.fileno()
    with keys_at_once(also_ctrl_c=True), resized() as sizes:
        while True:
            readable, writable, _ = select.select([line, sizes] + [keys] * (not typed and keys >= 0),
                                                  [line] * bool(typed), [])
            if line in readable:
                text = line.recv(PIECE)
                if not text:
                    return
                while text:
                    text = text[os.write(out, text):]
            if sizes in readable:
                os.read(sizes, PIECE)
                columns, rows = shutil.get_terminal_size()
                typed += SIZE_BEGINS + f"{rows} {columns}\n".encode()
            if keys in readable:
                pressed = os.read(keys, PIECE)
                keys = keys if pressed else -1
                typed += pressed.replace(SIZE_BEGINS, b"")
            if line in writable:
                typed = typed[line.send(typed):]

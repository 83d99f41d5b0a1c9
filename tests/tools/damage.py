# SPDX-License-Identifier: GPL-2.0-only
"""Damage for files of any format: what disks, networks and editors do to them, and numbers that nobody meant."""

import random
import struct

NUMBERS = (0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 1 << 63, (1 << 64) - 1)
PIECES = (b"", b"\0", b"\xff\xfe", b"\xc3", b"\x1b[2J", b"$", b"[" * 4000, b"{" * 4000, b'"', b"\n", b"-1", b"1e999",
          b"99999999999999999999", b"null", b"%s")


def _flip(data, chosen):
    data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)


def _set(data, chosen):
    data[chosen.randrange(len(data))] = chosen.choice((0, 0xff, 0x20, 0x7f, 0x80))


def _number(data, chosen):
    size, code = chosen.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    at = chosen.randrange(len(data))
    data[at:at + size] = struct.pack("<" + code, chosen.choice(NUMBERS) & (1 << 8 * size) - 1)


def _digits(data, chosen):
    """A decimal number of a text becomes another one."""
    places = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    if places:
        at = chosen.choice(places)
        data[at:at + 1] = chosen.choice(PIECES) or b"0"


def _insert(data, chosen):
    at = chosen.randrange(len(data))
    data[at:at] = chosen.choice(PIECES)


def _piece(data, chosen):
    start = chosen.randrange(len(data))
    return start, start + 1 + int(chosen.expovariate(1 / 64))


def _lose(data, chosen):
    start, end = _piece(data, chosen)
    del data[start:end]


def _repeat(data, chosen):
    start, end = _piece(data, chosen)
    data[start:start] = data[start:end] * chosen.choice((1, 2, 50))


def _move(data, chosen):
    start, end = _piece(data, chosen)
    at = chosen.randrange(len(data))
    data[at:at + end - start] = data[start:end]


def _end(data, chosen):
    del data[chosen.randrange(len(data)):]


WAYS = (_flip, _set, _number, _digits, _insert, _lose, _repeat, _move, _end)


def damaged(data, seed, number):
    """@data with a few damages, drawn by @seed and the @number of the attempt."""
    chosen, found = random.Random(f"{seed} {number}"), bytearray(data)
    for _ in range(chosen.choice((1, 1, 1, 2, 3, 8))):
        # Most formats say in the beginning what follows.
        near = bytearray(found[:400]) if chosen.random() < 0.4 else None
        if found:
            chosen.choice(WAYS)(found if near is None else near, chosen)
        if near is not None:
            found[:400] = near
    return bytes(found)

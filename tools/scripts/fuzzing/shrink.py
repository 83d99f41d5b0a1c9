# SPDX-License-Identifier: GPL-2.0-only
"""The shortest script that is still wrong: what the fault does not need is left out, entry by entry."""

from collections.abc import Callable, Iterator

from .mutator import CHANGE, ENTRY, KEEP, TIMES_SHIFT, Entries, entries_of

Judge = Callable[[bytes], bool]


def script_of(flags: int, entries: Entries) -> bytes:
    return bytes([flags]) + b"".join(entries)


def leave_out(flags: int, entries: Entries, is_wrong: Judge) -> Entries:
    """Fewer entries: halves of them first, then quarters, and so on."""
    size = len(entries) // 2
    while size:
        at = 0
        while at < len(entries):
            fewer = entries[:at] + entries[at + size:]
            if fewer and is_wrong(script_of(flags, fewer)):
                entries = fewer
            else:
                at += size
        size //= 2
    return entries


def simpler(entry: bytearray) -> Iterator[bytearray]:
    """The entry @entry once, without a failure, and with its arguments as the table has them."""
    once = bytearray([entry[0] & (1 << TIMES_SHIFT) - 1]) + entry[1:]
    yield from (once, entry[:1] + b"\0" + entry[2:])
    if entry[0] & 3 != CHANGE:
        yield entry[:4] + bytes([KEEP, 0, 0, 0])


def simplify(flags: int, entries: Entries, is_wrong: Judge) -> Entries:
    for at in range(len(entries)):
        for way in range(len(list(simpler(entries[at])))):
            new = list(simpler(entries[at]))[way]
            if new != entries[at] and is_wrong(script_of(flags, entries[:at] + [new] + entries[at + 1:])):
                entries = entries[:at] + [new] + entries[at + 1:]
    return entries


def shortest(script: bytes, is_wrong: Judge) -> bytes:
    """A script of entries of @script, which is wrong, too."""
    assert len(script) > ENTRY
    entries = leave_out(script[0], entries_of(script), is_wrong)
    return script_of(script[0], simplify(script[0], entries, is_wrong))

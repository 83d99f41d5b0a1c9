# SPDX-License-Identifier: GPL-2.0-only
"""Changes of a script that AFL++ asks for. It knows the form of scripts (tests/guest/fuzz/script.h), and the kinds of
the arguments of each call, which `fuzz --table` prints: p, a pointer to memory of the program; h, a descriptor; n, a
number."""

import os
import random
from collections.abc import Callable

ENTRY = 8
MOST_ENTRIES = 120
KEEP = 7  # as argument: none is changed
ROW_CALL, ANY_CALL, FILE_ACCESS, CHANGE = range(4)
OTHER_THREAD = 4
TIMES_SHIFT = 3
# Ways to change an argument, enum how, that fit its kind.
TO_EDGE, TO_SMALL, TO_HANDLE, TO_POINTER, TO_FIELD, TO_BIT, TO_PATH, TO_RESULT, TO_OTHERS = range(9)
WAYS = {"p": (TO_FIELD, TO_FIELD, TO_FIELD, TO_POINTER, TO_PATH, TO_OTHERS), "h": (TO_HANDLE, TO_RESULT, TO_OTHERS),
        "n": (TO_EDGE, TO_SMALL, TO_BIT, TO_OTHERS)}
ROWS = [line.split("\t")[2] for line in os.environ.get("FUZZ_TABLE", "").splitlines()] or ["nnnnnn"]

rng = random.Random(1)
Entries = list[bytearray]


def init(seed: int) -> None:
    """AFL++ begins."""
    rng.seed(seed)


def deinit() -> None:
    """AFL++ ends; it insists on this function."""


def entries_of(script: bytes) -> Entries:
    return [bytearray(script[at:at + ENTRY]) for at in range(1, len(script) - ENTRY + 1, ENTRY)]


def change(entry: bytearray, kinds: str) -> None:
    """Another value for one of the arguments, of a kind that fits."""
    used = max(len(kinds.rstrip("n")), 3)
    argument = rng.randrange(used)
    entry[4:8] = bytes([argument, rng.choice(WAYS[kinds[argument]]), rng.randrange(256), rng.randrange(256)])


def call_of(row: int) -> bytearray:
    """The call of @row as the table has it, or a little changed; by any thread."""
    entry = bytearray([ROW_CALL | rng.choice((0, 0, OTHER_THREAD)), 0, row & 255, row >> 8, KEEP, 0, 0, 0])
    if rng.random() < 0.5:
        change(entry, ROWS[row])
    return entry


def any_entry() -> bytearray:
    """Mostly a call of the table."""
    if rng.random() < 0.9:
        return call_of(rng.randrange(len(ROWS)))
    return bytearray([rng.choice((ANY_CALL, FILE_ACCESS)), 0, *rng.randbytes(6)])


def place_of(entries: Entries) -> int:
    return rng.randrange(len(entries))


def kinds_of(entry: bytearray) -> str:
    return ROWS[(entry[2] | entry[3] << 8) % len(ROWS)]


def insert(entries: Entries) -> None:
    entries.insert(rng.randint(0, len(entries)), any_entry())


def remove(entries: Entries) -> None:
    del entries[place_of(entries)]


def exchange(entries: Entries) -> None:
    a, b = place_of(entries), place_of(entries)
    entries[a], entries[b] = entries[b], entries[a]


def change_argument(entries: Entries) -> None:
    entry = entries[place_of(entries)]
    if entry[0] & 3 == FILE_ACCESS:
        entry[4:8] = rng.randbytes(4)  # others to the same file
    else:
        change(entry, kinds_of(entry))


def change_more(entries: Entries) -> None:
    """One more argument of a call changes."""
    at = place_of(entries)
    more = bytearray([CHANGE, 0, 0, 0, KEEP, 0, 0, 0])
    change(more, kinds_of(entries[at]))
    entries.insert(at, more)


def to_other_thread(entries: Entries) -> None:
    entries[place_of(entries)][0] ^= OTHER_THREAD


def repeat(entries: Entries) -> None:
    entry = entries[place_of(entries)]
    entry[0] = entry[0] & 7 | rng.choice((0, 0, 1, 3, 3)) << TIMES_SHIFT


def fail(entries: Entries) -> None:
    """One of the call's allocations and copies fails, or none does."""
    entries[place_of(entries)][1] = rng.choice((0, 1, 2, 3, rng.randrange(64)))


def pair(entries: Entries) -> None:
    """Two threads make calls on the same objects at once."""
    mine = entries[place_of(entries)]
    other = bytearray(mine) if rng.random() < 0.3 else any_entry()
    mine[0] = mine[0] & 3 | 3 << TIMES_SHIFT
    other[0] = other[0] & 3 | OTHER_THREAD | 3 << TIMES_SHIFT
    entries.append(other)


CHANGES: tuple[Callable[[Entries], None], ...] = (insert, insert, remove, exchange, change_argument, change_argument,
                                                  change_more, to_other_thread, repeat, fail, pair, pair, pair)


def fuzz(script: bytearray, other: bytearray, most: int) -> bytearray:
    """A changed copy of @script, now and then with a part of the script @other."""
    entries = entries_of(script) or [any_entry()]
    if rng.random() < 0.15 and (others := entries_of(other)):
        at = rng.randrange(len(others))
        entries += others[at:at + rng.randint(1, 6)]
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        rng.choice(CHANGES)(entries)
        entries = entries or [any_entry()]
    flags = script[0] & 3 if script else 0
    if rng.random() < 0.1:
        flags ^= rng.choice((1, 2))
    return bytearray([flags]) + b"".join(entries[:min(MOST_ENTRIES, (most - 1) // ENTRY)])

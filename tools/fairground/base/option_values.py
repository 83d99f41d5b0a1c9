# SPDX-License-Identifier: GPL-2.0-only
"""What the values of options mean that several commands have: times, numbers, CPUs, and names of a list."""

import argparse
import re
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal

from .names import nearest
from .settings import UsageError

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
U16, U32, U64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1  # the largest numbers that fields of a record hold


def as_number(text: str, low: int, high: int) -> int | None:
    """The number that the digits of @text say, if it is one from @low to @high; else None."""
    digits = text.lstrip("0") or text[-1:]
    if not re.fullmatch("[0-9]+", digits) or len(digits) > len(str(high)):
        return None
    return number if low <= (number := int(digits)) <= high else None


def parse_number(option: str, text: str, low: int, high: int) -> int:
    """The number @text of the @option. UsageError unless it is one from @low to @high."""
    number = as_number(text, low, high)
    if number is None:
        raise UsageError(f"{option} {shortened(text)}: a number from {low} to {high} is expected")
    return number


def whole(low: int, high: int) -> Callable[[str], int]:
    """The type of an argparse option whose values are whole numbers from @low to @high."""
    def parse(text: str) -> int:
        number = as_number(text, low, high)
        if number is None:
            raise argparse.ArgumentTypeError(f"{shortened(text)}: a number from {low} to {high} is expected")
        return number
    return parse


def parse_cpus(text: str | None) -> set[int] | None:
    """The CPU numbers in a text such as "2,4-7". None stays None."""
    if text is None:
        return None
    cpus: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = as_number(first, 0, U16)
        high = as_number(last, 0, U16) if dash else low
        if low is None or high is None or high < low:
            raise UsageError(f"CPUs {shortened(text)!r}: a list such as 0,2-5 is expected")
        cpus.update(range(low, high + 1))
    return cpus


def ranges(numbers: Collection[int]) -> str:
    """0,2-4 for 0, 2, 3 and 4: what parse_cpus() reads."""
    out: list[list[int]] = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def listed(option: str, text: str) -> list[str]:
    """The items of the list @text of the @option, which commas separate. UsageError if one is empty. What is set by
    ,NAME=VALUE behind an item belongs to that."""
    items = re.split(r",(?!\w+=)", text)
    if not all(items):
        raise UsageError(f"{option} {text}: an item of this list is empty")
    return items


def parse_pids(text: str | None) -> set[int] | None:
    """The pids in a text such as "7,9". None stays None."""
    return None if text is None else {parse_number("--pid", pid, 0, U32) for pid in listed("--pid", text)}


def shortened(text: str) -> str:
    """@text as a message quotes it: without its middle if it is long."""
    return text if len(text) <= 60 else f"{text[:40]}...{text[-10:]}"


def parse_time(option: str, text: str | None) -> int | None:
    """The ns of a text such as "500ms" or "1.5s"."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)(ns|us|ms|s)", text)
    if not match:
        raise UsageError(f"{option} {shortened(text)}: a time such as 500ms or 1.5s is expected")
    return int(Decimal(match[1]) * UNITS[match[2]])


def known(option: str, given: Sequence[str] | None, names: Collection[str]) -> set[str] | None:
    """The names given, each of them one of @names."""
    if not given:
        return None
    for name in given:
        if name not in names:
            meant = nearest(name, names)
            raise UsageError(f"{option} {name}: " + (f"is {meant} meant? " if meant else "")
                             + f"There are {', '.join(sorted(names))}")
    return set(given)

# SPDX-License-Identifier: GPL-2.0-only
"""What the values of options mean that several commands have: times, and names of a list."""

import re
from collections.abc import Collection, Sequence
from decimal import Decimal

from .names import nearest
from .settings import UsageError

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def parse_time(option: str, text: str | None) -> int | None:
    """The ns of a text such as "500ms" or "1.5s"."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not match:
        raise UsageError(f"{option} {text}: a time such as 500ms or 1.5s is expected")
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

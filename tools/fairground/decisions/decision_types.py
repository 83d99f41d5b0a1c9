# SPDX-License-Identifier: GPL-2.0-only
"""What the fields of decisions hold, from sched/observe/decision.def: a reader refuses what no record can have."""

import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..base.option_values import shortened
from ..base.tree import ROOT

SOURCE = ROOT / "sched" / "observe" / "decision.def"
CODES = {"s8": "b", "u8": "B", "s16": "h", "u16": "H", "s32": "i", "u32": "I", "s64": "q", "u64": "Q"}  # of struct
EVENT = re.compile(r"^EVENT\(decision, sched_decision_(\w+), \d+,\s*(.*?)(?:\"|\w+_PRINT\))", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"\bFIELD\((\w+), (\w+)\)|\bPID\((\w+)\)")
NAME = re.compile(r"\w{1,40}|\?")  # of a list in rule.def; the simulator writes "?" for a number that has no name
COMM_MAX = 15
NO_COMM = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # what moves the cursor, and what is no text


@lru_cache
def number_types() -> dict[str, dict[str, str]]:
    """By kind of record or row: the type of each field that is a number."""
    text = SOURCE.read_text(encoding="utf-8").replace("\\\n", " ")
    shared = dict(re.findall(r"^#define (\w+_FIELDS) +(.*)", text, re.MULTILINE))
    found = {}
    for kind, fields in EVENT.findall(text):
        of_all = re.sub(r"\w+_FIELDS", lambda name: str(shared[name[0]]), fields)
        found[kind] = {name or pid: of or "s32" for of, name, pid in FIELD.findall(of_all)}
    return found


@lru_cache(maxsize=1 << 16)
def is_name(text: str) -> bool:
    """Can @text be the name of a choice?"""
    return NAME.fullmatch(text) is not None


@lru_cache(maxsize=1 << 16)
def is_comm(text: str) -> bool:
    """Can @text be the name of a task?"""
    return len(text) <= COMM_MAX and not NO_COMM.search(text)


def limits(of: str) -> tuple[int, int]:
    """The least and the greatest number of the type @of."""
    bits = int(of[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if of[0] == "s" else (0, (1 << bits) - 1)


class Numbers:
    """The fields @names of a kind of record, in this order, which are all numbers."""

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        types = {"time": "u64", **number_types().get(kind, {})}
        self._names, self._types = names, [types[name] for name in names]
        self._pack = struct.Struct("<" + "".join(CODES[of] for of in self._types)).pack

    def check(self, values: Sequence[Any]) -> None:
        """Raises TypeError if one of @values is no number, ValueError with a sentence if its field cannot hold it."""
        try:
            self._pack(*values)
        except struct.error:
            for name, of, value in zip(self._names, self._types, values):
                low, high = limits(of)
                if type(value) is not int:
                    raise TypeError(name) from None
                if not low <= value <= high:
                    raise ValueError(f"{name} is {shortened(str(value))}, a number from {low} to {high} is expected") \
                        from None

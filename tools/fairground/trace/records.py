# SPDX-License-Identifier: GPL-2.0-only
"""Decode the records of one kind of event fast: what image.event_values() does for any event, prepared once."""

import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from ..machine.image import Format, TraceError

NUMBERS = {(size, signed): code.lower() if signed else code
           for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q")) for signed in (False, True)}

Decoder = Callable[[bytes], tuple[Any, ...]]


def decoder(event: Format, names: Sequence[str], texts: Sequence[str] = ("comm",)) -> Decoder:
    """A function from a record of @event to the values of the fields @names. Those of @texts are bytes for text_of(),
    the others numbers. TraceError if the event does not have such fields."""
    by_name = {field.name: field for field in event.fields}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise TraceError(f"{event.name} has no field {missing[0]}: the file is of another version than this tool")
    ordered = sorted((by_name[name] for name in names), key=lambda field: field.offset)
    code, at = "<" if event.little else ">", 0
    for field in ordered:
        known = field.text or (field.size, field.signed) in NUMBERS
        if not known or field.text != (field.name in texts) or field.offset < at:
            raise TraceError(f"{event.name}: field {field.name} is of another kind than this tool expects")
        code += f"{field.offset - at}x" + (f"{field.size}s" if field.text else NUMBERS[field.size, field.signed])
        at = field.offset + field.size
    unpack = struct.Struct(code).unpack_from
    if len(names) == 1:
        return unpack
    positions = {field.name: place for place, field in enumerate(ordered)}
    in_order = itemgetter(*(positions[name] for name in names))
    return lambda data: in_order(unpack(data))

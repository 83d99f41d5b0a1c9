# SPDX-License-Identifier: GPL-2.0-only
"""A failed check of a unit test as a sentence: what was compared, both values, and where.

cmocka prints two numbers, or a condition, and the line of the test. The words are in the source there.
"""

import pathlib
import re

UNEQUAL = re.compile(r"^(0x[0-9a-f]+|0) != (0x[0-9a-f]+|0)$")
EQUAL = re.compile(r"^(0x[0-9a-f]+|0) == \1$")
RANGE = re.compile(r"^(\d+) is not within the range (\d+)-(\d+)$")
FUNCTION = re.compile(r"^(?:static |void |inline )*[\w *]*?\b(\w+)\(.*$")
NUMBER = re.compile(r"-?(?:0x)?\d+\w*|true|false|NULL")
MOST = 90  # characters of an expression; more say less


def _arguments(text: str) -> list[str]:
    """Those of the call at the beginning of @text, each on one line."""
    found, depth, quoted, start = [], 0, "", text.index("(") + 1
    for at in range(start - 1, len(text)):
        char = text[at]
        if quoted:
            quoted = "" if char == quoted and text[at - 1] != "\\" else quoted
        elif char in "\"'":
            quoted = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if not quoted and (depth == 1 and char == "," or not depth):
            found.append(" ".join(text[start:at].split()))
            start = at + 1
        if not depth:
            return found
    return []


def asserted(source: pathlib.Path, line: int) -> tuple[str, list[str], str]:
    """(the macro, its arguments, the function around it) of the check at @line; ("", [], "") if there is none."""
    try:
        lines = source.read_text(encoding="utf-8").splitlines()
    except OSError:
        return "", [], ""
    call = re.search(r"\b(assert_\w+)\(", lines[line - 1]) if 0 < line <= len(lines) else None
    if not call:
        return "", [], ""
    around = next((match[1] for text in reversed(lines[:line]) if text[:1] not in ("\t", " ", "{", "}", "/", "#")
                   and (match := FUNCTION.match(text))), "")
    return call[1], _arguments("\n".join([lines[line - 1][call.start():], *lines[line:line + 12]])), around


def _number(text: str) -> int:
    """What cmocka printed, which has no sign."""
    number = int(text, 0)
    return number - (1 << 64) if number >> 63 else number


def _is_address(number: int) -> bool:
    return bool(abs(number) >> 44)


def _whose(expression: str) -> str:
    """@expression after a value, unless it is the value."""
    return "" if NUMBER.fullmatch(expression) or len(expression) > MOST else f": {expression}"


def sentence(message: str, macro: str, arguments: list[str]) -> str:
    """What cmocka's @message means, if it is one of those that say too little by themselves."""
    unequal, equal, outside = UNEQUAL.match(message), EQUAL.match(message), RANGE.match(message)
    subject = arguments[0] if arguments and len(arguments[0]) <= MOST else "what the test computes"
    if outside and len(arguments) == 3:
        return f"{subject} is {outside[1]}, where {outside[2]} to {outside[3]} is right"
    if equal and len(arguments) == 2:
        return f"{subject} is {_number(equal[1])}, which is wrong here{_whose(arguments[1])}"
    if unequal and macro in ("assert_null", "assert_ptr_equal") or unequal and any(
            _is_address(_number(text)) for text in unequal.groups()):
        right = arguments[1] if len(arguments) > 1 else "NULL"
        return f"{subject} is another than {right}" if arguments else "another pointer than the right one"
    if unequal:
        got, expected = map(_number, unequal.groups())
        if len(arguments) != 2:
            return f"{got} came out, where {expected} is right"
        return f"{subject} is {got}, where {expected} is right{_whose(arguments[1])}"
    if macro in ("assert_true", "assert_false", "assert_non_null") and arguments == [message]:
        return message + {"assert_true": " does not hold", "assert_false": " holds, and must not",
                          "assert_non_null": " is NULL"}[macro]
    return message

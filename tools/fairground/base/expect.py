# SPDX-License-Identifier: GPL-2.0-only
"""Find what must be in a text, and say plainly when it is not there."""

import re


class Missing(Exception):
    """A program's output lacks a line that this tool reads. The text is one sentence for the user."""


def expect(pattern: str, text: str, flags: re.RegexFlag = re.MULTILINE) -> re.Match[str]:
    """The first match of @pattern in @text."""
    match = re.search(pattern, text, flags)
    if not match:
        raise Missing(f"nothing matches {pattern!r} in the output, which ends with {text[-200:]!r}")
    return match

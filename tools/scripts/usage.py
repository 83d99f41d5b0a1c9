# SPDX-License-Identifier: GPL-2.0-only
"""The words of a program of this directory, and its help: the text at its top."""

import sys
from collections.abc import Collection


def words(about: str | None, least: int = 0, most: int | None = None, options: Collection[str] = ()) -> list[str]:
    """The words that this program got: @least to @most of them (None: any number), beside options that it knows.

    With --help prints @about and ends the program; with other words than those its last paragraph, and status 2.
    """
    text, given = (about or "").strip(), sys.argv[1:]
    if "--help" in given or "-h" in given:
        print(text)
        sys.exit(0)
    plain = [word for word in given if word not in options]
    if len(plain) < least or most is not None and len(plain) > most or any(word.startswith("-") for word in plain):
        print(text[text.rindex("Usage:"):], file=sys.stderr)
        sys.exit(2)
    return given

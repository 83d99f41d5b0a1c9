# SPDX-License-Identifier: GPL-2.0-only
"""Names that others chose, on a line of ours: of tasks, of files, in the command line of a trace."""


def printable(text: str) -> str:
    """@text in a line: what moves the cursor, and what is no text, as Python writes it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

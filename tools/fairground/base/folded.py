# SPDX-License-Identifier: GPL-2.0-only
"""Text on a terminal that is narrower than its lines: a line goes on, indented, before the word that does not fit, so
that no number is broken. What comes from a machine comes in pieces, which may end within a word."""

import io
import re
import shutil
import sys
from typing import Any

TOKEN = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]?)?|[\r\n]|[ \t]+|[^\s\x1b]+|.", re.DOTALL)  # the first has no width
WHOLE = re.compile(r"\s|\x1b\[[0-9;?]*[A-Za-z]")  # a token that no later piece makes longer
INDENT = "    "
COPIED = ("command:", "Again:")  # lines that begin so are for another command line
RULE = re.compile(r"-+|=+")


class Folder:
    """Folds text that comes in pieces. If it waits, it keeps a word at the end of a piece until that is whole."""

    def __init__(self, waits: bool) -> None:
        self._waits = waits
        self._width = 0
        self._at = 0            # the column
        self._has_word = False  # left of it
        self._word = ""         # what is kept
        self._is_copied = False

    def fold(self, text: str) -> str:
        """The text to be written now that @text has come."""
        tokens = TOKEN.findall(self._word + text)
        self._word = tokens.pop() if self._waits and tokens and not WHOLE.match(tokens[-1]) else ""
        return "".join(map(self._written, tokens))

    def rest(self) -> str:
        """The word that was kept."""
        word, self._word = self._word, ""
        return self._written(word)

    def _written(self, token: str) -> str:
        if token in ("\r", "\n"):
            self._at, self._has_word, self._is_copied = 0, False, False
            return token
        if not self._at:
            self._width = shutil.get_terminal_size().columns
            self._is_copied = self._is_copied or token in COPIED
        if token.startswith("\x1b") or self._is_copied:
            return token
        room, begin = max(self._width - self._at, 0), ""
        if token.isspace():
            token = (" " * self._at + token).expandtabs()[self._at:][:room]
        elif len(token) > room and RULE.fullmatch(token):
            token = token[:room]
        else:
            if len(token) > room and self._at > len(INDENT) * (not self._has_word):
                begin, self._at = "\r\n"[self._has_word] + INDENT, len(INDENT)
            self._has_word = True
        self._at += len(token)
        return begin + token


class Folded(io.TextIOWrapper):
    """A text file of a terminal, whose lines are folded."""

    def __init__(self, *file: Any, waits: bool = True, **how: Any) -> None:
        super().__init__(*file, **how)
        self._folder = Folder(waits)

    def write(self, text: str) -> int:
        super().write(self._folder.fold(text))
        return len(text)

    def end(self) -> None:
        """Write all."""
        super().write(self._folder.rest())
        self.flush()


def main() -> None:
    """Fold the standard input, if the output is a terminal (`make help`)."""
    folder = Folder(waits=False)
    for line in sys.stdin:
        sys.stdout.write(folder.fold(line) if sys.stdout.isatty() else line)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""The parsers of commands and of theirs, and examples as the end of a help."""

import argparse
import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .base.errors import InputError


class LaterParser(argparse.ArgumentParser):
    """A parser that gets the rest of its options from later(self) when it is used: what they need is loaded then."""

    later: Callable[["LaterParser"], object] | None = None

    def fill(self) -> None:
        if self.later:
            self.later(self)
            self.later = None

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        self.fill()
        return super().parse_known_args(*arguments, **named)


def parsers(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """@parser and those of its commands, and theirs: each with the words that lead to it, as "graph lag"."""
    if isinstance(parser, LaterParser):
        with contextlib.suppress(InputError):  # what is missing is said when it is used
            parser.fill()
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from parsers(sub, f"{path} {name}".strip())


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """@parser, or if it has commands, those of them that have none."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser
    for action in below:
        for sub in action.choices.values():
            yield from leaves(sub)


class Form(argparse.RawDescriptionHelpFormatter):
    """The form of a help: examples as they are, and a paragraph as wide as the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = argparse.HelpFormatter if "\n" not in text else argparse.RawDescriptionHelpFormatter
        return fill._fill_text(self, text, width, indent)


def show_examples(parser: argparse.ArgumentParser, path: str, examples: Iterable[tuple[str, str]]) -> None:
    """Let the help of @parser, to which the words @path lead, end with @examples."""
    lines = [f"  fairground {path} {words}".rstrip() + f"\n      {what}" for words, what in examples]
    parser.formatter_class = Form
    parser.epilog = "\n".join(["examples:", *lines])

# SPDX-License-Identifier: GPL-2.0-only
"""The parsers of commands and of theirs, and examples as the end of a help."""

import argparse
from collections.abc import Iterable, Iterator


def parsers(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """@parser and those of its commands, and theirs: each with the words that lead to it, as "graph lag"."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from parsers(sub, f"{path} {name}".strip())


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """@parser, or if it has commands, those of them that have none."""
    for _, sub in parsers(parser):
        if not any(isinstance(action, argparse._SubParsersAction) for action in sub._actions):
            yield sub


def show_examples(parser: argparse.ArgumentParser, path: str, examples: Iterable[tuple[str, str]]) -> None:
    """Let the help of @parser, to which the words @path lead, end with @examples."""
    lines = [f"  fairground {path} {words}".rstrip() + f"\n      {what}" for words, what in examples]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["examples:", *lines])

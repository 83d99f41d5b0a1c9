# SPDX-License-Identifier: GPL-2.0-only
"""The command `fairground settings`: what NAME=value means, to make and in the environment."""

import argparse
import textwrap
from collections.abc import Iterable
from typing import Any

from .base import names
from .words import COMMANDS, PROGRAMS, Command

COMMAND = Command("settings", no_object="it is a text for people", examples=(
    ("", "every setting, with its values and default"),
))

WIDTH = 100


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--brief", action="store_true", help="names only, and the words of fairground: for make help")
    parser.add_argument("--student", action="store_true", help="only what a lab needs")


def _filled(words: Iterable[str]) -> str:
    return textwrap.fill(" ".join(words), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def brief(student: bool) -> str:
    """The end of `make help`."""
    commands = names.STUDENT_WORDS if student else COMMANDS
    lines = ['\nWords of fairground: make WORD ARGS="..." is fairground WORD ...; ARGS=--help explains one',
             _filled(commands)]
    lines += [] if student else ["Its words for those who work on the project", _filled(PROGRAMS)]
    known = names.STUDENT if student else names.settings()
    return "\n".join([*lines, "Settings, NAME=value; make settings explains them",
                      _filled(name for _, rows in names.SETTINGS for name, *_ in rows if name in known)])


def main(_: Any, arguments: argparse.Namespace) -> int:
    """explain the settings, NAME=value, of make and of the environment"""
    known = names.STUDENT if arguments.student else names.settings()
    print(brief(arguments.student) if arguments.brief else names.table(known))
    return 0

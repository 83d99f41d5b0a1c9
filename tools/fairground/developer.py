# SPDX-License-Identifier: GPL-2.0-only
"""The words of those who work on the project: each runs a program of the tree, with the words behind it."""

import os
import subprocess
import sys
from collections.abc import Sequence

from .base import tree
from .machine.qemu import QemuError
from .words import PROGRAMS


def help_text() -> str:
    """A line for each word."""
    return "\n".join(f"  {word:<19} {program.what}" for word, program in PROGRAMS.items())


def run(word: str, words: Sequence[str], build: str) -> int:
    """Run the program of @word; returns its status."""
    program, *own = [part.format(build=build) for part in PROGRAMS[word].words]
    python = os.pathsep.join([str(tree.ROOT / "tools"), str(tree.ROOT / "tools/scripts")])
    try:
        return subprocess.run([sys.executable if program == "python3" else program, *own, *words], check=False,
                              cwd=tree.ROOT, env={**os.environ, "B": build, "PYTHONPATH": python}).returncode
    except FileNotFoundError as error:
        raise QemuError(f"{program} is missing: sh tools/setup.sh --all") from error

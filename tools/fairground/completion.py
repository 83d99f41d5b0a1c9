# SPDX-License-Identifier: GPL-2.0-only
"""Tab completes commands, options and values in bash: eval "$(fairground completion)". argcomplete does the work."""

import argparse
from collections.abc import Collection
from typing import Any

from .base import packages
from .base.settings import PARSERS, SCHEDULERS, TICK_RATES
from .helps import parsers
from .words import Command

COMMAND = Command("completion", no_object="it prints what a shell runs", examples=(
    ("", "in ~/.bashrc: eval \"$(fairground completion)\""),
))

PURPOSE = "completion"
VALUES: dict[str, Collection[str]] = {
    "sched": SCHEDULERS, "hz": [str(hz) for hz in TICK_RATES], "icount": ("0", "1"), "boot": ("pvh", "iso"),
    "kvm": ("auto", "0", "1"),
}


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell that asks, and exit."""
    from .study.experiment_file import names as experiments

    for path, sub in parsers(parser):
        for action in sub._actions:
            known = VALUES.get(action.dest) if action.dest in PARSERS else None
            if path in ("experiment", "experiments") and action.dest in ("name", "names"):
                known = experiments()
            if known:
                setattr(action, "completer", lambda known=known, **_: known)
    packages.load("argcomplete", PURPOSE).autocomplete(parser)


def main(_: Any, _arguments: argparse.Namespace) -> int:
    """print what makes Tab complete words of fairground in bash"""
    print(packages.load("argcomplete", PURPOSE).shellcode(["fairground"], shell="bash"))
    return 0

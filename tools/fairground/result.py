# SPDX-License-Identifier: GPL-2.0-only
"""What a command found, as text or, with --json, as one object on the standard output (docs/command.md).

The object says what was measured: `commit`, `sched`, `hz`, `seed`, `topology`, and the `command` that printed it. What
was found is in `rows`, an object each; some commands add more beside that. A value that is not known is null, and of
several values there is a text with commas. Whatever else a command says goes to stderr then.
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from .base.settings import PARSERS, Settings
from .machine.machine import commit

Head = dict[str, Any]
HEAD = ("commit", "sched", "hz", "seed", "topology")
OURS = re.compile(r"Fairground (\S+): (\S+); SMP=(\S+) HZ=(\d+) SEED=(\d+)")
SIMULATED = re.compile(r"schedsim (\S+): ([^;]+); (.+?); HZ (\d+); seed (\d+)")


def option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as one object of JSON: docs/command.md")


def of_settings(settings: Settings, **other: Any) -> Head:
    """What a run with @settings is; @other: what is not as they say."""
    return {"commit": commit(), "sched": settings.sched, "hz": settings.hz, "seed": settings.seed,
            "topology": settings.smp, **other}


def of_trace(about: str) -> Head:
    """What a trace says of its run in the text @about. All is None of a trace that is not ours."""
    found = OURS.match(about) or SIMULATED.match(about)
    if not found:
        return dict.fromkeys(HEAD)
    sha, sched, topology, hz, seed = found.groups()
    return {"commit": sha, "sched": sched, "hz": int(hz), "seed": int(seed), "topology": topology}


def of_runs(paths: Sequence[str]) -> Head:
    """What the runs in the files @paths are: traces, files of decisions, or others, which do not say it."""
    return together([_of_run(path) for path in paths])


def _of_run(path: str) -> Head:
    from .decisions.decision_file import DecisionError, open_file
    from .machine.image import TraceError
    from .trace.tracefile import TraceFile

    try:
        return of_trace(TraceFile(path).about)
    except (OSError, TraceError):
        pass
    try:
        header = {**open_file(path).provenance.header}
        return {name: header.get(name) for name in HEAD}
    except DecisionError:
        return dict.fromkeys(HEAD)


def together(heads: Sequence[Head]) -> Head:
    """One for several runs: what is the same in all, and otherwise all values in one text."""
    found: Head = {}
    for name in HEAD:
        values = list(dict.fromkeys(head[name] for head in heads))
        found[name] = values[0] if len(values) == 1 else ",".join(map(str, values)) or None
    return found


def command(words: Sequence[str]) -> str:
    """The command of these @words, with the settings that it took from the environment."""
    given = [f"{name.upper()}={shlex.quote(os.environ[name.upper()])}" for name in PARSERS
             if os.environ.get(name.upper())]
    return " ".join([*given, shlex.join(["fairground", *words])])


class _Place:
    """Where the object goes, and the command that runs."""

    out: TextIO | None = None
    command = ""


@contextlib.contextmanager
def only_object(wanted: bool, words: Sequence[str]) -> Iterator[None]:
    """Within, if @wanted, tell() alone writes to the standard output, and what is printed goes to stderr."""
    _Place.command = command(words)
    if not wanted:
        yield
        return
    _Place.out = sys.stdout
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _Place.out = None


def asked() -> str:
    """The command that runs; empty if a program called ours."""
    return _Place.command


def tell(lines: Iterable[str], head: Head | Callable[[], Head], rows: Iterable[Mapping[str, Any]], **more: Any) -> None:
    """Print @lines, or with --json the object: @head, the command, @more and @rows. What is not printed is not asked
    for, so both may come from one stream of events."""
    if _Place.out is None:
        for line in lines:
            print(line)
        return
    head = head() if callable(head) else head
    json.dump({**head, "command": _Place.command, **more, "rows": list(rows)}, _Place.out, indent=1)
    _Place.out.write("\n")
    _Place.out.flush()

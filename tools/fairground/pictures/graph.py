# SPDX-License-Identifier: GPL-2.0-only
"""Draw what is in traces and records of decisions: fairground graph KIND FILE... (docs/pictures.md)."""

import argparse
import importlib
import os
import pathlib
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .. import result
from ..base import unloaded
from ..base.packages import MissingPackage as MissingPackage, brings
from ..base.settings import UsageError
from ..base.tree import IS_PACKED
from ..helps import LaterParser, show_examples
from ..words import Command
from . import kinds as package

COMMAND = Command("graph", examples=(
    ("dat2graph2 hack.dat", "hack.svg: who ran on each CPU"),
    ("lag run.json --max 0.12", "from decisions"),
))

NOT_SHOWN = {"command", "kind", "files", "build", "output", "format", "range"}
FORMATS = ("svg", "pdf", "png")
RANGE = re.compile(r"([0-9]*\.?[0-9]+)-([0-9]*\.?[0-9]+)")
LATEST = 1e9  # s


def missing(error: ImportError) -> MissingPackage:
    debian = "" if IS_PACKED else ", or apt-get install python3-matplotlib"
    package = (error.name or "matplotlib").partition(".")[0]
    return MissingPackage(f"pictures need {package}: {brings(package)}{debian}")


class Kind(NamedTuple):
    """What a module says of a kind that it draws."""

    module: str
    what: str
    examples: Sequence[tuple[str, str]]
    reported: str


@lru_cache
def kinds() -> dict[str, Kind]:
    """name -> the kind, in the order of their names. No module is loaded for it."""
    found: dict[str, Kind] = {}
    for path in (path for place in package.__path__ for path in pathlib.Path(place).glob("*.py")):
        module = unloaded.parsed(path)
        reported = unloaded.constant(module, "REPORTED", {})
        for name, (what, *examples) in unloaded.constant(module, "KINDS", {}).items():
            found[name] = Kind(path.stem, what, examples, reported.get(name, ""))
    return dict(sorted(found.items()))


def load(kind: str) -> Any:
    """The module of @kind. A MissingPackage says how to get numpy, which it needs."""
    try:
        return importlib.import_module(f"{package.__name__}.{kinds()[kind].module}")
    except ImportError as error:
        raise missing(error) from error


def options(parser: argparse.ArgumentParser) -> None:
    subs = parser.add_subparsers(dest="kind", required=True, metavar="KIND", parser_class=LaterParser)
    for name, kind in kinds().items():
        sub = subs.add_parser(name, help=kind.what, description=kind.what)
        sub.add_argument("files", nargs="+", metavar="FILE", help="several are drawn above each other")
        sub.add_argument("-o", "--output", help="the picture: NAME.svg, NAME.pdf or NAME.png; default: beside the "
                         "first FILE, as schedgraph would call it")
        sub.add_argument("--no-header", action="store_true", help="without the lines that say what run it is")
        sub.add_argument("--format", choices=FORMATS, default="svg", help="unless --output says it; default: svg")
        sub.add_argument("--min", type=float, metavar="S", help="seconds after the begin from which on it is shown")
        sub.add_argument("--max", type=float, metavar="S", help="and until when")
        sub.add_argument("--range", metavar="A-B", help="the same as --min A --max B")
        sub.later = partial(own_options, name)
        show_examples(sub, f"graph {name}", kind.examples)


def own_options(kind: str, parser: argparse.ArgumentParser) -> None:
    getattr(load(kind), "options", lambda _: None)(parser)


def take_range(arguments: argparse.Namespace) -> None:
    """Check --min and --max, which --range may give together."""
    if arguments.range:
        found = RANGE.fullmatch(arguments.range)
        if not found:
            raise UsageError(f"--range {arguments.range}: two numbers of seconds are expected, for example 0.5-1.25")
        arguments.min, arguments.max = float(found[1]), float(found[2])
    begin, end = arguments.min or 0.0, LATEST if arguments.max is None else arguments.max
    if not 0 <= begin < end <= LATEST:
        raise UsageError("--min and --max: seconds are expected, the second later than the first")


def output_of(arguments: argparse.Namespace, suffix: str) -> str:
    """The name of the picture."""
    if arguments.output:
        if pathlib.Path(arguments.output).suffix[1:] not in FORMATS:
            raise UsageError(f"--output {arguments.output}: a name that ends in .svg, .pdf or .png is expected")
        return str(arguments.output)
    window = ""
    if arguments.min is not None or arguments.max is not None:
        window = f"_from_{arguments.min or 0.0}" + (f"_upto_{arguments.max}" if arguments.max is not None else "")
    window, suffix = (window, suffix) if arguments.kind == "dat2graph2" else (suffix, window)
    return os.path.splitext(arguments.files[0])[0] + window + suffix + "." + arguments.format


def header(arguments: argparse.Namespace, sources: list[Any]) -> list[str]:
    """The lines above the picture: how it is made, and what the files say of their runs."""
    words = [f"fairground graph {arguments.kind}", *(source.name for source in sources)]
    for name, value in vars(arguments).items():
        option = "--" + name.replace("_", "-")
        if name in NOT_SHOWN or value in (None, False) or value == "" and name == "tasks":
            continue
        words.append(option if value is True or value == "" else f"{option} {value}")
    lines = [" ".join(words)]
    if arguments.no_header:
        return []
    for source in sources:
        lines += source.header()
    return lines


def main(_: Any, arguments: argparse.Namespace) -> int:
    """draw what is in traces and records of decisions"""
    take_range(arguments)
    kind = load(arguments.kind)
    out = output_of(arguments, getattr(kind, "suffix", lambda of: f"_{of.kind}")(arguments))
    try:
        sources = [kind.open_source(path, arguments) for path in arguments.files]
        from . import style
        figure = kind.draw(sources, arguments, header(arguments, sources))
        style.save(figure, out)
    except ImportError as error:
        raise missing(error) from error
    except OSError as error:
        raise UsageError(f"--output {out}: {error.strerror or error}") from error
    said = [kind.report(source, arguments) for source in sources]
    result.tell([*said, f"{out}: {kinds()[arguments.kind].what}"], partial(result.of_runs, arguments.files),
                ({"file": source.name, "says": text.split("\n")} for source, text in zip(sources, said)),
                kind=arguments.kind, out=out)
    return 0

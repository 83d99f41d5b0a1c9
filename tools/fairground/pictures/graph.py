# SPDX-License-Identifier: GPL-2.0-only
"""Draw what is in traces and records of decisions: fairground graph KIND FILE... (docs/pictures.md)."""

import argparse
import importlib
import os
import pathlib
import re
from functools import partial
from typing import Any

from .. import result
from ..base.option_values import U16, U32, whole
from ..base.settings import UsageError

KINDS = {
    "dat2graph2": "which task ran on each CPU, and when",
    "running_waiting": "how many tasks ran and waited; red below the dotted line: a CPU idled meanwhile",
    "latency": "how long tasks waited for a CPU: histogram and distribution",
    "histogram": "latencies of each CPU or thread: of a trace, or as cyclictest, jitterdebugger and jitter count",
    "cdf": "how long tasks waited for a CPU: distribution, and its tail on logarithmic axes",
    "share": "what part of a CPU each task got over time, beside what an ideal machine would give it",
    "side": "a row for each task, several runs on one axis of time: bar, it runs; line, it waits",
    "arrows": "the same, with arrows: who woke whom, who took the CPU from whom",
    "pelt": "load averages of tasks and CPUs: utilisation with its estimate, load, or what is runnable",
    "opp": "the frequency of each CPU, and how busy it was",
    "sweep": "a heat map of a table: two parameters and a result, from CSV or JSON",
    "lag": "how much service each task is owed, from decisions; below zero it is ahead",
    "deadline": "how far virtual deadlines are, from decisions of EEVDF and BORE",
    "score": "BORE's scores of bursts, from decisions",
    "levels": "the buckets of FDL's groups, from decisions",
    "line": "one pick on the number line of virtual time: vruntimes, deadlines, who is eligible",
    "tree": "one pick in the tree of those that wait, with the least vruntime below each node",
    "quota": "the pool of a group with a quota, and where it is throttled, from decisions",
}
MODULES = {**dict.fromkeys(("lag", "deadline", "score", "levels"), "curves"), "side": "gantt",
           "arrows": "gantt", "line": "pick", "tree": "pick"}  # of pictures; the others are named as the kind
NOT_SHOWN = {"command", "kind", "files", "build", "output", "format", "range"}
FORMATS = ("svg", "pdf", "png")
RANGE = re.compile(r"([0-9]*\.?[0-9]+)-([0-9]*\.?[0-9]+)")
LATEST = 1e9  # s


def positive(text: str) -> float:
    """A number of microseconds, as an option has it."""
    value = float(text)
    if not 1e-3 <= value <= LATEST:
        raise argparse.ArgumentTypeError(f"{text}: a number from 0.001 to {LATEST:g} is expected")
    return value


def module_of(kind: str) -> Any:
    """The module that draws @kind. Only numpy is needed to load it; a UsageError says how to get it."""
    try:
        return importlib.import_module(f".{MODULES.get(kind, kind)}", __package__)
    except ImportError as error:
        raise missing(error) from error


def missing(error: ImportError) -> UsageError:
    return UsageError(f"pictures need {error.name or 'matplotlib'}: sh tools/setup.sh, or apt-get install "
                      "python3-matplotlib")


def options(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, what in KINDS.items():
        sub = kinds.add_parser(kind, help=what, description=what)
        sub.add_argument("files", nargs="+", metavar="FILE", help="several are drawn above each other")
        sub.add_argument("-o", "--output", help="the picture: NAME.svg, NAME.pdf or NAME.png; default: beside the "
                         "first FILE, as schedgraph would call it")
        sub.add_argument("--no-header", action="store_true", help="without the lines that say what run it is")
        sub.add_argument("--format", choices=FORMATS, default="svg", help="unless --output says it; default: svg")
        sub.add_argument("--min", type=float, metavar="S", help="seconds after the begin from which on it is shown")
        sub.add_argument("--max", type=float, metavar="S", help="and until when")
        sub.add_argument("--range", metavar="A-B", help="the same as --min A --max B")
        OPTIONS.get(kind, lambda _: None)(sub)


def _dat2graph2(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color-by-command", action="store_true", help="a colour for each name, not for each thread")
    parser.add_argument("--target", metavar="NAME", help="colours for threads of this name; all others are black")
    parser.add_argument("--socket-order", nargs="?", const="", metavar="LIST",
                        help="CPUs in order of their sockets; LIST says which they are, for example 0,2/1,3, unless "
                        "the trace says how many sockets there are")
    parser.add_argument("-C", "--cpus", help="only these CPUs, for example 2,3")
    parser.add_argument("--frequency", action="store_true", help="a line over each CPU's bars: its frequency, from the "
                        "events power:cpu_frequency; the row's height is the highest of the trace")


def _latency(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only tasks whose name contains this")
    parser.add_argument("--all", action="store_true", help="also waits that a preemption began")


def _histogram(parser: argparse.ArgumentParser) -> None:
    _latency(parser)
    parser.add_argument("--by", choices=("cpu", "thread", "command"), default="cpu",
                        help="of a trace: a line for each of these; default: the CPU where the wait ended")
    parser.add_argument("--bin", type=positive, metavar="US", help="width of a bin, µs; default: not too many bins")
    parser.add_argument("--upto", type=positive, metavar="US", help="where the axis ends; default: after the longest")


def _curves(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only entities whose name contains this")
    parser.add_argument("--cpu", type=whole(0, U16), metavar="N", help="only decisions about this CPU's queues")
    parser.add_argument("--group", type=whole(0, U32), metavar="N",
                        help="only those about queues of this group; 0: the root's")


def _quota(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", type=whole(0, U32), metavar="N",
                        help="this group; default: that with the most decisions")


def _pick(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpu", type=whole(0, U16), metavar="N", help="only picks of this CPU")
    parser.add_argument("--group", type=whole(0, U32), metavar="N",
                        help="only those on queues of this group; 0: the root's")


def _share(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--window", type=float, metavar="MS", help="length of the windows; default: 60 windows")


def _pelt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--signal", choices=("util", "load", "runnable"), default="util",
                        help="which average; default: util")
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only tasks, groups and CPUs whose name contains "
                        "this")
    parser.add_argument("--cpu", type=whole(0, U16), metavar="N", help="only what was computed on this CPU")


def _gantt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only tasks whose NAME-PID contains this")


def _sweep(parser: argparse.ArgumentParser) -> None:
    for option, place in (("x", "first"), ("y", "second"), ("value", "last")):
        parser.add_argument(f"--{option}", metavar="COLUMN", help=f"default: the {place}")


OPTIONS = {"dat2graph2": _dat2graph2, "latency": _latency, "cdf": _latency, "histogram": _histogram, "quota": _quota,
           "share": _share, "pelt": _pelt, "side": _gantt, "arrows": _gantt, "sweep": _sweep, "line": _pick,
           "tree": _pick, **{kind: _curves for kind, module in MODULES.items() if module == "curves"}}


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
    kind = module_of(arguments.kind)
    out = output_of(arguments, kind.suffix(arguments))
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
    result.tell([*said, f"{out}: {KINDS[arguments.kind]}"], partial(result.of_runs, arguments.files),
                ({"file": source.name, "says": text.split("\n")} for source, text in zip(sources, said)),
                kind=arguments.kind, out=out)
    return 0

# SPDX-License-Identifier: GPL-2.0-only
"""Sides of a comparison that are there already: traces, or folders with a trace of each seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import result
from ..base.settings import UsageError
from ..trace.timeline import WAKEUPS
from ..trace.tracefile import TraceFile, lost_number
from .side import TRACE, Side
from .sweep_kernel import RECORDED, metrics

CASE, HOST = "as recorded", "traces"
SAID = {"hz": "HZ", "topology": "topology", "commit": "commit"}  # what a header says beside the policy and the seed


@dataclass
class About:
    """What is told above the table."""

    head: dict[str, Any]
    lines: list[str]
    notes: list[str]


def files_of(side: Side) -> list[Path]:
    """The traces of @side."""
    path = Path(side.parts[TRACE])
    found = sorted(path.glob("*.dat")) if path.is_dir() else [path]
    if not found:
        raise UsageError(f"{path}: no trace, NAME.dat, is in this folder")
    return found


def read(path: Path) -> tuple[result.Head, dict[str, float]]:
    """What the trace @path says of its run, and its metrics. UsageError if it is not whole."""
    trace = TraceFile(path)
    events = list(trace.events(RECORDED))
    if lost := trace.lost():
        raise UsageError(f"{path}: {lost_number(lost)}: what is missing may be the difference")
    if not any(event.format.name in WAKEUPS for event in events):
        raise UsageError(f"{path}: the trace has no wakeups, so waits are not known")
    return result.of_trace(trace.about), metrics(events, everybody=True)


def collect(sides: Sequence[Side], words: Sequence[str]) -> tuple[dict[int, dict[str, Any]], About]:
    """by_seed[seed]["traces"][side]["as recorded"]: metrics. UsageError if the runs are no pairs."""
    if other := next((side for side in sides if set(side.parts) != {TRACE}), None):
        raise UsageError(f"{other.text}: a trace is compared with traces, which nothing can change any more")
    if words:
        raise UsageError(f"{words[0]}: traces have their workload already")
    heads: dict[str, list[result.Head]] = {}
    found: dict[int, dict[str, Any]] = {}
    seeds: dict[str, set[int]] = {}
    for side in sides:
        runs = [read(path) for path in files_of(side)]
        heads[side.text] = [head for head, _ in runs]
        own = [head["seed"] for head in heads[side.text]]
        if len(runs) > 1 and (None in own or len(set(own)) < len(own)):
            raise UsageError(f"{side.text}: the traces do not say different seeds, so they are no pairs with others")
        seeds[side.text] = set(own)
        for seed, (_, figures) in zip(own, runs):
            found.setdefault(seed if len(runs) > 1 else 0, {HOST: {}})[HOST][side.text] = {CASE: figures}
    return found, About(result.together([head for each in heads.values() for head in each]),
                        lines_of(heads), [*paired(seeds), *other_things(heads)])


def lines_of(heads: dict[str, list[result.Head]]) -> list[str]:
    lines = ["traces; of all tasks that ran"]
    for text, each in heads.items():
        head = result.together(each)
        lines.append(f"{text}: {len(each)} runs" + (f" of {head['sched']}, HZ={head['hz']}, {head['topology']}"
                                                    if head["sched"] else ", which do not say of what"))
    return lines


def paired(seeds: dict[str, set[int]]) -> list[str]:
    """A note if single runs are no pairs. UsageError if the sides have several runs, of different seeds."""
    texts = list(seeds)
    for text in texts[1:]:
        a, b = seeds[texts[0]], seeds[text]
        if a != b and (len(a) > 1 or len(b) > 1):
            only = ", ".join(map(str, sorted(a ^ b)))
            raise UsageError(f"{texts[0]} and {text} are no pairs: one side alone has the seeds {only}")
    return ["one run of each: nothing is known of chance"] if len(seeds[texts[0]]) == 1 else []


def other_things(heads: dict[str, list[result.Head]]) -> list[str]:
    """A note for each thing, beside the policy, in which the runs differ."""
    all_heads = [head for each in heads.values() for head in each]
    return [f"the runs differ in {said}, too: {', '.join(values)}" for name, said in SAID.items()
            if len(values := dict.fromkeys(str(head[name]) for head in all_heads)) > 1]

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fit the entries of tests/fidelity/explained.toml to ours and Linux's runs in build/fidelity.json.

make fidelity ARGS="--runs 10" writes that file. The gate judges the median of five boots, so 2,000 such medians are
drawn from our runs. A row needs no entry if nearly all of them pass, or are among Linux's runs. Else an entry must hold
nearly all of them. If it would be wider than the page allows, our runs are too far apart, and the figure is no row.
A row keeps the section that explains it; a new one goes to NEW. Read what changed: a row may leave because of a fault.

Usage: fit_fidelity.py     environment: B (build directory)
"""

import collections
import dataclasses
import json
import math
import os
import random
import statistics
from collections.abc import Sequence

import usage
from fairground.judge.fidelity import ROOM, RUNS, Explained, Row, load_cases, load_explained, programs
from fairground.machine.linux import KERNELS

NEW, APART = "Not explained", "Ours are too far apart"
NEARLY_ALL, DRAWS = 0.98, 2000
Entries = dict[str, dict[str, dict[str, Explained]]]  # section -> policy -> row -> its entry


def medians(runs: Sequence[float]) -> list[float]:
    chance = random.Random(1)
    return sorted(statistics.median(chance.choices(runs, k=RUNS)) for _ in range(DRAWS))


def widest(row: Row, low: float, high: float, linux: Sequence[float]) -> Explained | None:
    """The widest bounds around the quotients @low to @high that the page allows; None if they are wider themselves."""
    for pad in (share / 100 for share in range(50, -1, -1)):
        entry = Explained("", math.floor(max(0, low - pad) * 1000) / 1000, math.ceil((high + pad) * 1000) / 1000)
        if not dataclasses.replace(row, explained=entry).too_wide(linux):
            return entry
    return None


def fit(row: Row, ours: Sequence[float], linux: Sequence[float]) -> Explained | None:
    """The entry that @row needs, its reason left open. A figure that Linux's runs leave open needs none."""
    drawn, bare = medians(ours), dataclasses.replace(row, explained=None)
    if not row.tells(linux):
        return None
    if sum(bare.verdict([one], linux) != "FAIL" for one in drawn) >= NEARLY_ALL * DRAWS:
        return None
    middle, cut = statistics.median(linux), round((1 - NEARLY_ALL) / 2 * DRAWS)
    entry = widest(row, drawn[cut] / middle, drawn[-cut - 1] / middle, linux) if middle else None
    return entry or Explained(APART)


def write(entries: Entries) -> None:
    path = ROOM / "explained.toml"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    for section in sorted(entries):
        for sched, rows in sorted(entries[section].items()):
            lines += ["", f"[{json.dumps(section)}.{sched if sched in KERNELS else json.dumps(sched)}]"]
            lines += [f'"{row}" = {f"[{e.low:g}, {e.high:g}]" if e.high else "[]"}' for row, e in sorted(rows.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Rewrite the file and say which entries came, went and moved."""
    with open(os.path.join(os.environ.get("B", "build"), "fidelity.json"), encoding="utf-8") as f:
        measured = {(line["sched"], line["row"]): line for line in json.load(f)["rows"]}
    entries: Entries = collections.defaultdict(lambda: collections.defaultdict(dict))
    for sched in (*KERNELS, *programs()):
        before = load_explained(sched)
        for row in (row for case in load_cases(sched) for row in case.rows):
            old, line = before.get(row.name), measured.get((sched, row.name))
            new = fit(row, line["ours_runs"], line["linux_runs"]) if line else old
            if new and not new.reason:
                new = dataclasses.replace(new, reason=old.reason if old and old.high else NEW)
            if new:
                entries[new.reason][sched][row.name] = new
            if (old is None) != (new is None) or old and new and old.reason != new.reason:
                print(f"{sched} {row.name}: {old.reason if old else 'no entry'} -> {new.reason if new else 'no entry'}")
    write(entries)


if __name__ == "__main__":
    usage.words(__doc__, most=0)
    main()

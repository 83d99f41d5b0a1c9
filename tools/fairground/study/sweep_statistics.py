# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of a sweep: of each point of the grid, over its seeds, and how it differs from the first point of the same
workload and machine, in pairs of seeds (docs/measuring.md)."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..base import stats
from .grid import Cell

Point = tuple[Any, ...]
Metrics = dict[int, dict[str, float]]  # by seed


def what_of(cell: Cell) -> dict[str, Any]:
    """What is the same in all cells of a point."""
    return {"host": cell.host, "workload": cell.workload, "topology": cell.topology, "hz": cell.hz, "time": cell.time,
            "policy": cell.policy, **cell.tunables}


def place_of(cell: Cell) -> Point:
    """Points with the same of this are compared."""
    return cell.host, cell.workload, cell.topology, cell.hz, cell.time


def points_of(cells: Iterable[tuple[Cell, dict[str, float]]]) -> dict[Point, tuple[Cell, Metrics]]:
    """The finished @cells, with their metrics, as points: a cell of each, and the metrics by seed."""
    found: dict[Point, tuple[Cell, Metrics]] = {}
    for cell, metrics in cells:
        found.setdefault(tuple(what_of(cell).items()), (cell, {}))[1][cell.seed] = metrics
    return found


def compared(a: Metrics, b: Metrics, metric: str) -> stats.Difference | None:
    """How @metric differs between two points, in the seeds that both have; None of fewer than two."""
    seeds = [seed for seed in a if seed in b and metric in a[seed] and metric in b[seed]][:stats.MOST_PAIRS]
    return stats.difference([a[seed][metric] for seed in seeds], [b[seed][metric] for seed in seeds]) \
        if len(seeds) > 1 else None


def table_of(cells: Sequence[tuple[Cell, dict[str, float]]]) -> tuple[list[dict[str, Any]], int, int]:
    """A row for each metric of each point; how many of the differences are shown, and how many were tested. The p of
    all tests of the table are corrected for their number."""
    rows: list[dict[str, Any]] = []
    tested: list[tuple[dict[str, Any], stats.Difference]] = []
    first: dict[Point, Metrics] = {}
    for cell, metrics in points_of(cells).values():
        base = first.setdefault(place_of(cell), metrics)
        for metric in next(iter(metrics.values())):
            own = stats.median([each[metric] for each in metrics.values()])
            row = {**what_of(cell), "metric": metric, "nr": own.nr, "median": own.median, "low": own.low,
                   "high": own.high, "shift": None, "shift_low": None, "shift_high": None, "p": None, "verdict": None}
            rows.append(row)
            if base is not metrics and (found := compared(base, metrics, metric)):
                row |= {"shift": found.shift, "shift_low": found.low, "shift_high": found.high}
                tested.append((row, found))
    for (row, found), p, equal_p in zip(tested, stats.holm([each.p for _, each in tested]),
                                        stats.holm([each.equal_p for _, each in tested])):
        row |= {"p": p, "verdict": stats.verdict(found, p, equal_p, len(tested))}
    return rows, sum(row["p"] is not None and row["p"] < stats.LEVEL for row in rows), len(tested)

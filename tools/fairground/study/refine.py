# SPDX-License-Identifier: GPL-2.0-only
"""Where a sweep's metric bends along one numeric axis, and which cells are added there: `fairground sweep --refine`.

A line is all cells that differ in the axis alone; its points are the means over the seeds. Between two neighbours, h
apart, a straight line misses a curve with the second derivative f'' by up to h^2 f''/8: that is how much the metric
bends there. A round halves all intervals that bend at least half as much as the one that bends most. The choice rests
on finished results alone, so a sweep that is run again chooses the same cells, however many workers it has.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

from ..base.settings import UsageError
from .grid import Cell

HZ = "hz"
NEEDED = 3    # points of a line: fewer have no second difference
SHARE = 0.5   # of the largest bend, from which on an interval is halved in the same round


class Interval(NamedTuple):
    """Two neighbours on a line, and how much the metric bends between them."""

    bend: float
    low: int
    high: int


def intervals(points: Mapping[int, float]) -> list[Interval]:
    """The intervals of a line, whose @points are metrics by the axis' value."""
    places = sorted(points)
    if len(places) < NEEDED:
        return []
    slopes = [(points[b] - points[a]) / (b - a) for a, b in zip(places, places[1:])]
    second = [0.0] + [2 * (after - before) / (places[nr + 2] - places[nr])
                      for nr, (before, after) in enumerate(zip(slopes, slopes[1:]))] + [0.0]
    return [Interval((b - a) ** 2 * max(abs(one), abs(other)) / 8, a, b)
            for a, b, one, other in zip(places, places[1:], second, second[1:])]


@dataclass(frozen=True)
class Axis:
    """The tunable @name, or hz, along which a sweep is refined."""

    name: str

    def value(self, cell: Cell) -> int | None:
        """The value of @cell on the axis; None if its policy does not have the tunable."""
        return cell.hz if self.name == HZ else cell.tunables.get(self.name)

    def line(self, cell: Cell) -> Cell:
        """What @cell has in common with all others of its line."""
        return replace(self.at(cell, 0), seed=0)

    def at(self, cell: Cell, value: int) -> Cell:
        """@cell with another @value on the axis."""
        if self.name == HZ:
            return replace(cell, hz=value)
        return replace(cell, tunables={**cell.tunables, self.name: value})


def axis_of(cells: Sequence[Cell], name: str | None) -> Axis:
    """The axis @name, or the only one of @cells that has enough values on some line. UsageError if there is none."""
    names = sorted({HZ, *(tunable for cell in cells for tunable in cell.tunables)})
    fit = [each for each in names if any(len(values) >= NEEDED for values in values_of(cells, Axis(each)).values())]
    if name and name not in fit:
        raise UsageError(f"--axis {name}: a tunable or hz with at least {NEEDED} numbers in the grid is expected"
                         + (f": {', '.join(fit)}" if fit else ""))
    if not name and len(fit) != 1:
        raise UsageError(f"--refine: --axis says along which of {', '.join(fit)}" if fit else
                         f"--refine: no tunable, and not hz, has at least {NEEDED} numbers in the grid")
    return Axis(name or fit[0])


def values_of(cells: Sequence[Cell], axis: Axis) -> dict[Cell, set[int]]:
    """By line the values on the @axis that its cells have."""
    found: dict[Cell, set[int]] = {}
    for cell in cells:
        value = axis.value(cell)
        if isinstance(value, int) and not isinstance(value, bool):
            found.setdefault(axis.line(cell), set()).add(value)
    return found


def means_of(cells: Sequence[Cell], axis: Axis, metric: Callable[[Cell], float | None]) -> dict[Cell, dict[int, float]]:
    """By line the mean over the seeds at each value. A value where the @metric of a seed is not known is left out."""
    found: dict[tuple[Cell, int], list[float | None]] = {}
    for cell in cells:
        value = axis.value(cell)
        if value is not None:
            found.setdefault((axis.line(cell), value), []).append(metric(cell))
    lines: dict[Cell, dict[int, float]] = {}
    for (line, value), each in found.items():
        known = [number for number in each if number is not None]
        points = lines.setdefault(line, {})
        if len(known) == len(each):
            points[value] = fmean(known)
    return lines


def choose(cells: Sequence[Cell], axis: Axis, metric: Callable[[Cell], float | None],
           most: int) -> list[tuple[Cell, int]]:
    """The next round: at most @most points as (line, value), those that bend most first. None if nothing bends, or
    values that lie between have all been tried."""
    tried, found = values_of(cells, axis), []
    for nr, (line, points) in enumerate(means_of(cells, axis, metric).items()):
        for bend, low, high in intervals(points):
            middle = (low + high) // 2
            if bend > 0 and middle not in tried[line]:
                found.append((-bend, nr, middle, line))
    found.sort(key=lambda each: each[:3])
    return [(line, middle) for bend, _, middle, line in found[:most] if bend <= SHARE * found[0][0]]


def cells_at(points: Sequence[tuple[Cell, int]], axis: Axis, seeds: Sequence[int]) -> Iterator[Cell]:
    """The cells of @points: one for each of @seeds."""
    for line, value in points:
        for seed in seeds:
            yield replace(axis.at(line, value), seed=seed)

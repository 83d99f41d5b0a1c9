# SPDX-License-Identifier: GPL-2.0-only
"""A heat map of a sweep: two parameters, and in each cell the mean of a result. From a CSV with a line of names, a JSON
list of objects, or the Parquet that `fairground sweep` writes."""

import argparse
import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import reading
from ...base.packages import load
from ...base.settings import UsageError
from ...machine.image import TraceError
from ..source import Array
from ..style import finish_axis, new_figure

KINDS = {
    "sweep": ("a heat map of a table: two parameters and a result, from CSV, JSON or Parquet",
              ("sweep.csv --x cpus --y slice --value p99", "a heat map")),
}
PARQUET = b"PAR1"
NO_RESULT = ("seed", "address", "added", "time")  # columns of a sweep's table that are no parameters and no results
NUMBERS_IN = 14  # columns at most for numbers in the cells


@dataclass
class Grid:
    """A table as a grid: means and numbers of rows by cell; NaN and 0 where the sweep has nothing."""

    path: str
    names: tuple[str, str, str]
    x: list[str]
    y: list[str]
    means: Array
    counts: Array

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def header(self) -> list[str]:
        return [f"{self.name}: {int(self.counts.sum())} results, {int((self.counts == 0).sum())} empty cells"]


def options(parser: argparse.ArgumentParser) -> None:
    for option, place in (("x", "first"), ("y", "second"), ("value", "last")):
        parser.add_argument(f"--{option}", metavar="COLUMN", help=f"default: the {place}")


def rows_of(path: str) -> list[dict[str, Any]]:
    with reading(path, TraceError, ""), open(path, "rb") as parquet:
        if parquet.read(len(PARQUET)) == PARQUET:
            return rows_of_parquet(path)
    with reading(path, TraceError, "this is no text: a CSV with a line of names, or a JSON list, is expected"):
        with open(path, encoding="utf-8", newline="") as f:
            return _rows(f.read())


def rows_of_parquet(path: str) -> list[dict[str, Any]]:
    """The rows of a sweep's table: what varies in them, beside seeds and addresses, and then the numbers."""
    arrow = load("pyarrow", "Parquet")
    try:
        read = load("pyarrow.parquet", "Parquet").read_table(path)
    except (OSError, ValueError, arrow.ArrowException) as error:
        raise TraceError(f"{path}: this Parquet is damaged: {str(error).splitlines()[0]}") from error
    columns = {name: values for name, values in read.to_pydict().items() if name not in NO_RESULT}
    if not columns or not read.num_rows:
        raise TraceError("the table has no rows")
    varying = [name for name, values in columns.items() if len(set(values)) > 1]
    order = sorted(columns, key=lambda name: (isinstance(columns[name][0], float), name not in varying))
    return [dict(zip(order, row)) for row in zip(*(columns[name] for name in order))]


def _rows(text: str) -> list[dict[str, Any]]:
    if text.lstrip()[:1] in "[{" and text.strip():
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TraceError(f"this JSON is damaged: {error}") from error
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise TraceError("a JSON list of objects is expected")
    else:
        rows = list(csv.DictReader(text.splitlines()))
        if any(None in row or None in row.values() for row in rows):
            raise TraceError("a line has more or fewer cells than the first")
    if not rows:
        raise TraceError("the table has no rows")
    return rows


def in_order(values: set[str]) -> list[str]:
    try:
        return sorted(values, key=float)
    except ValueError:
        return sorted(values)


def open_source(path: str, arguments: argparse.Namespace) -> Grid:
    """The table @path."""
    if (arguments.min, arguments.max) != (None, None):
        raise UsageError("a sweep has no time: --min, --max and --range are for the other kinds")
    rows = rows_of(path)
    columns = list(rows[0])
    names = [getattr(arguments, option) or (columns[place] if len(columns) > 2 else "")
             for option, place in (("x", 0), ("y", 1), ("value", -1))]
    for name in names:
        if any(name not in row for row in rows):
            raise UsageError(f"{path} has no column {name}: --x, --y and --value choose of {', '.join(columns)}")
    x, y = (in_order({str(row[name]) for row in rows}) for name in names[:2])
    sums, counts = np.zeros((len(y), len(x))), np.zeros((len(y), len(x)))
    for number, row in enumerate(rows, 1):
        try:
            value = float(row[names[2]])
        except (TypeError, ValueError) as error:
            raise TraceError(f"{path}: row {number}: {names[2]} is no number: {row[names[2]]}") from error
        cell = y.index(str(row[names[1]])), x.index(str(row[names[0]]))
        sums[cell] += value
        counts[cell] += 1
    with np.errstate(invalid="ignore"):
        return Grid(path, (names[0], names[1], names[2]), x, y, sums / counts, counts)


def draw(sources: Sequence[Grid], _: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a map for each of @sources, all with one scale. Light is much, so grey prints keep the order."""
    figure, axes = new_figure(len(sources), min(7.0, 0.8 + 0.32 * max(len(source.y) for source in sources)), header)
    low = min(float(np.nanmin(source.means)) for source in sources)
    high = max(float(np.nanmax(source.means)) for source in sources)
    for axis, source in zip(axes, sources):
        axis.set_facecolor("white")
        axis.patch.set_hatch("xxxx")
        axis.patch.set_edgecolor("#b0b0b0")
        image = axis.pcolormesh(np.ma.masked_invalid(source.means), cmap="cividis", vmin=low, vmax=high,
                                edgecolor="white", linewidth=0.5)
        axis.set_xticks(np.arange(len(source.x)) + 0.5, source.x)
        axis.set_yticks(np.arange(len(source.y)) + 0.5, source.y)
        axis.set(xlabel=source.names[0], ylabel=source.names[1])
        numbered = list(np.ndenumerate(source.means)) if len(source.x) <= NUMBERS_IN else []
        for (row, column), mean in numbered:
            if not np.isnan(mean):
                dark = (mean - low) < 0.55 * (high - low)
                axis.text(column + 0.5, row + 0.5, f"{mean:.4g}", ha="center", va="center", fontsize=7,
                          color="white" if dark else "black")
        figure.colorbar(image, ax=axis, label=source.names[2], pad=0.01)
        finish_axis(axis, source.name)
    return figure


def report(source: Grid, _: argparse.Namespace) -> str:
    """Where the result is least and greatest."""
    lines = [f"{source.name}: mean {source.names[2]} of each {source.names[0]} and {source.names[1]}; "
             f"{int(source.counts.sum())} results in {int((source.counts > 0).sum())} of {source.counts.size} cells"]
    for word, find in (("least", np.nanargmin), ("greatest", np.nanargmax)):
        row, column = np.unravel_index(find(source.means), source.means.shape)
        lines.append(f"  {word:<9} {source.means[row, column]:.6g} at {source.names[0]} {source.x[column]}, "
                     f"{source.names[1]} {source.y[row]}")
    return "\n".join(lines)

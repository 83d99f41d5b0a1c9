# SPDX-License-Identifier: GPL-2.0-only
"""Time in columns of pixels: what is narrower than a pixel is drawn as its share of it.

A run of 0.1 s in an hour is a thirtieth of a pixel wide. As a bar it vanishes, or becomes a whole pixel; with a
thousand others it is a solid block. So a column of pixels in which more than one run begins or ends, or one that is
narrower than a pixel, is divided from below by time: who has a third of the time has a third of its height. All others
are bars with exact ends. The area of each colour is its time.

Where the columns are is known when the picture is drawn, for then its layout is. A pixel of SVG and PDF is that of a
browser, 1/96 inch.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from .source import Array
from .style import Style

POINTS = 72    # an inch, of SVG and PDF: the resolution by which matplotlib draws them
PIXEL = 0.75   # points


class Row(NamedTuple):
    """Intervals of one row, of which no two overlap: keys[i] from start[i] to end[i], in the axis's units."""

    low: float
    height: float
    start: Array
    end: Array
    keys: Array


class Pieces(NamedTuple):
    """Bars and shares of a row: keys[i] from start[i] to end[i], up to the part top[i] of its height. Those of a later
    key lie behind those of an earlier one."""

    start: Array
    end: Array
    top: Array
    keys: Array


def borders_of(axis: Any) -> Array:
    """The borders between the columns of pixels of @axis, from its left to its right end, in its units of time."""
    pixel = PIXEL if axis.figure.dpi == POINTS else 1.0
    left, right = axis.bbox.x0, axis.bbox.x1
    inner = np.arange(np.floor(left / pixel) + 1, np.ceil(right / pixel)) * pixel
    low, high = axis.get_xlim()
    return np.concatenate([[low], low + (inner - left) / (right - left) * (high - low), [high]])


def _columns(start: Array, end: Array, borders: Array) -> tuple[Array, Array]:
    """(the column in which each interval begins, the one in which it ends)."""
    first = np.clip(np.searchsorted(borders, start, "right") - 1, 0, len(borders) - 2)
    return first, np.clip(np.searchsorted(borders, end, "left") - 1, first, len(borders) - 2)


def shared(start: Array, end: Array, borders: Array, most: int = 1) -> Array:
    """Of each column whether it is divided: more than @most intervals reach into it, or one narrower than a pixel."""
    first, last = _columns(start, end, borders)
    number = len(borders)
    inside = np.cumsum(np.bincount(first, minlength=number) - np.bincount(last + 1, minlength=number))[:-1] > most
    thin = end - start < np.diff(borders).max() * (1 - 1e-9)
    inside[first[thin]] = inside[last[thin]] = True
    return inside


def in_pixels(row: Row, borders: Array) -> Pieces:
    """@row as bars, and as shares of divided columns."""
    start, end = np.maximum(row.start, borders[0]), np.minimum(row.end, borders[-1])
    seen = end > start
    start, end, keys = start[seen], end[seen], row.keys[seen]
    first, last = _columns(start, end, borders)
    divided = shared(start, end, borders)
    left, right = divided[first], divided[last] & (last > first)
    column = np.concatenate([first[left], last[right]])
    whose = np.concatenate([keys[left], keys[right]])
    time = np.concatenate([(np.minimum(end, borders[first + 1]) - start)[left], (end - borders[last])[right]])
    number = int(keys.max(initial=0)) + 1
    cells, index = np.unique(column * number + whose, return_inverse=True)
    column, whose = np.divmod(cells, number)
    top = np.bincount(index, time, len(cells)) / np.diff(borders)[column]
    below = np.cumsum(top) - top  # of the columns before, too
    top += below - np.maximum.accumulate(np.where(np.diff(column, prepend=-1) > 0, below, 0))
    bar_start = np.where(left, borders[first + 1], start)
    bar_end = np.where(divided[last], borders[last], end)
    bar = bar_end > bar_start
    return Pieces(np.concatenate([bar_start[bar], borders[column]]),
                  np.concatenate([bar_end[bar], borders[column + 1]]),
                  np.concatenate([np.ones(bar.sum()), top]), np.concatenate([keys[bar], whose]))


def rectangles(start: Array, end: Array, low: Array, high: Array) -> Path:
    """One shape of many rectangles."""
    corners = np.stack([np.stack([x, y], axis=1) for x, y in (
        (start, low), (end, low), (end, high), (start, high), (start, low))], axis=1)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(start))
    return Path(corners.reshape(-1, 2), codes.astype(Path.code_type))


def averaged(times: Array, borders: Array) -> Array:
    """The @times at which steps change, but in a column with several of them only its borders: between two of the
    times returned a step is what it was, or is to be its mean."""
    start, end = times[:-1], times[1:]
    _, last = _columns(start, end, borders)
    divided = shared(start, end, borders, 2)
    changes = times[1:-1][~divided[last[:-1]]]
    columns = np.flatnonzero(divided)
    return np.unique(np.concatenate([times[[0, -1]], changes, np.clip(borders[columns], times[0], times[-1]), np.clip(
        borders[columns + 1], times[0], times[-1])]))


def means(times: Array, values: Array, borders: Array) -> Array:
    """The mean of @values, which change at @times, between each two of @borders."""
    areas = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
    return np.diff(np.interp(borders, times, areas)) / np.diff(borders)


class Drawn(Artist):
    """What is made of shapes that depend on the pixels."""

    def shape(self, renderer: Any, path: Path, name: str, **look: Any) -> None:
        """Draw @path with the id @name. It is not moved to whole pixels, which would change its area."""
        patch = PathPatch(path, snap=False, gid=name, **{"linewidth": 0, **look})
        patch.axes, patch.figure = self.axes, self.axes.figure
        patch.set_transform(self.axes.transData)
        patch.set_clip_path(self.axes.patch)
        patch.draw(renderer)


class Bars(Drawn):
    """@rows of bars. Those with the key i look as looks[i] and have the id names[i]."""

    def __init__(self, rows: Sequence[Row], looks: Sequence[Style], names: Sequence[str], alpha: float = 1) -> None:
        super().__init__()
        self.rows, self.looks, self.names, self.transparency = rows, looks, names, alpha

    def draw(self, renderer: Any) -> None:
        """Draw all rows, the last key first."""
        borders = borders_of(self.axes)
        found = [in_pixels(row, borders) for row in self.rows]
        low = np.concatenate([np.full(len(pieces.keys), row.low) for row, pieces in zip(self.rows, found)])
        height = np.concatenate([row.height * pieces.top for row, pieces in zip(self.rows, found)])
        start, end, keys = (np.concatenate([getattr(pieces, name) for pieces in found])
                            for name in ("start", "end", "keys"))
        for key in sorted(set(keys.tolist()), reverse=True):
            mine, look = keys == key, self.looks[key]
            path = rectangles(start[mine], end[mine], low[mine], (low + height)[mine])
            self.shape(renderer, path, self.names[key], facecolor=look.colour, hatch=look.hatch, edgecolor="black",
                       alpha=self.transparency)


class Level(NamedTuple):
    """Steps, from lower[i] to upper[i], and how their area looks."""

    name: str
    lower: Array
    upper: Array
    look: dict[str, Any]


class Steps(Drawn):
    """Areas below and between steps that change at @times, the first one behind the others."""

    def __init__(self, times: Array, levels: Sequence[Level]) -> None:
        super().__init__()
        self.times, self.levels = times, levels

    def draw(self, renderer: Any) -> None:
        """Draw all levels."""
        times = averaged(self.times, borders_of(self.axes))
        for level in self.levels:
            lower, upper = (means(self.times, values, times) for values in (level.lower, level.upper))
            x, back = np.repeat(times, 2)[1:-1], np.repeat(times, 2)[-2:0:-1]
            corners = np.stack([np.append(x, back), np.append(np.repeat(upper, 2), np.repeat(lower, 2)[::-1])], axis=1)
            self.shape(renderer, Path(np.append(corners, corners[:1], axis=0), closed=True), level.name, **level.look)

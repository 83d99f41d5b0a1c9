# SPDX-License-Identifier: GPL-2.0-only
"""What all pictures have in common: colours, hatches, the header, the axis of time, and how they are saved."""

import io
import os
import pathlib
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# Okabe and Ito's: everybody tells them apart. In this order, neighbours differ in grey too.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#004949", "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "----")  # a round of colours each
OTHERS = "#000000"
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
WIDTH = 9.0       # inches
DPI = 150
COLUMNS = round(WIDTH * DPI)  # of pixels
LEGEND = 16       # entries at most
ENTRY = 0.165     # inches


class Style(NamedTuple):
    """How one task, or one file, is drawn. A hatch tells apart what has the same colour or is printed in grey."""

    colour: str
    hatch: str


def style(number: int) -> Style:
    return Style(COLOURS[number % len(COLOURS)], HATCHES[number // len(COLOURS) % len(HATCHES)])


def texts_as_they_are() -> None:
    """Names of tasks are no formulas, also between two $. ImportError without matplotlib."""
    import matplotlib

    matplotlib.rcParams["text.parse_math"] = False


def time_unit(span: float) -> tuple[float, str]:
    """(ns of the unit, its name) in which @span ns are read best."""
    return next((unit for unit in UNITS if span >= 2 * unit[0]), UNITS[-1])


def new_figure(rows: int, height: float, header: Sequence[str], entries: int = 0,
               **options: Any) -> tuple[Any, list[Any]]:
    """A figure with @rows axes above each other, each @height inches, under the lines of @header, and with room for a
    legend of so many @entries. ImportError without matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "fairground", "svg.fonttype": "path", "pdf.fonttype": 42,
                                "hatch.linewidth": 0.5, "agg.path.chunksize": 20_000, "font.size": 8})
    texts_as_they_are()
    lines = [part for line in header for part in textwrap.wrap(line, 135)]
    height = max(height, (0.4 + ENTRY * min(entries, LEGEND)) / rows)
    figure = Figure(figsize=(WIDTH, rows * height + 0.45 + 0.14 * len(lines)), layout="constrained", dpi=DPI)
    if lines:
        figure.suptitle("\n".join(lines), fontsize=7, x=0.01, ha="left", family="monospace")
    axes = figure.subplots(rows, 1, squeeze=False, **options)
    return figure, [row[0] for row in axes]


def finish_axis(axis: Any, title: str) -> None:
    axis.patch.set_gid("frame")
    axis.set_gid("panel")
    axis.set_title(title, loc="left", fontsize=8.5, fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)


def add_legend(axis: Any, entries: Iterable[tuple[Any, str]], title: str = "", aside: float = 1.0) -> None:
    """The legend at the right of @axis, from the part @aside of its width on. If there are too many entries, the last
    line says how many are left out."""
    from matplotlib.patches import Patch

    shown = list(entries)
    if len(shown) > LEGEND:
        shown[LEGEND - 1:] = [(Patch(visible=False), f"and {len(shown) - LEGEND + 1} more")]
    if shown:
        axis.legend([handle for handle, _ in shown], [text for _, text in shown], loc="upper left", title=title or None,
                    bbox_to_anchor=(aside, 1.02), fontsize=7, title_fontsize=7, frameon=False, handlelength=1.6)


def encode(figure: Any, kind: str) -> bytes:
    """@figure as SVG, PDF or PNG. The same figure gives the same bytes."""
    if kind == "svg":
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        return re.sub(r" +$", "", text.getvalue(), flags=re.MULTILINE).encode()
    binary = io.BytesIO()
    figure.savefig(binary, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
    return binary.getvalue()


def save(figure: Any, path: str) -> None:
    """Write @figure to @path: SVG, PDF or PNG by its end."""
    write_whole(encode(figure, pathlib.Path(path).suffix[1:]), path)


def write_whole(data: bytes, path: str) -> None:
    """Write @data to @path, where a reader finds the old file or all of the new one."""
    unfinished = f"{path}.part"
    pathlib.Path(unfinished).write_bytes(data)
    os.replace(unfinished, path)

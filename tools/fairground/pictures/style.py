# SPDX-License-Identifier: GPL-2.0-only
"""What all pictures have in common: colours, hatches, the header, the axis of time, and how they are saved."""

import io
import logging
import os
import pathlib
import re
import sys
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..base import whole

# Okabe and Ito's: everybody tells them apart. Of the eight the hatches tell apart those that are alike in grey.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#004949", "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "----")
FIRST_HATCH = (0, 0, 0, 1, 4, 2, 0, 0)  # of each colour; each round of colours takes the next one
OTHERS = "#000000"
# Fonts of the packages fonts-wqy-zenhei, for Chinese, Japanese and Korean, and fonts-symbola, for emoji.
OTHER_LETTERS = {"Symbola": "/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf",
                 "WenQuanYi Zen Hei": "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc"}
NO_GLYPH = r"Glyph \d+ .* missing from current font"
LENGTHS = ((3600e9, "h"), (60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
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
    turn, nr = divmod(number, len(COLOURS))
    return Style(COLOURS[nr], HATCHES[(FIRST_HATCH[nr] + turn) % len(HATCHES)])


def texts_as_they_are() -> None:
    """Names of tasks are no formulas, also between two $, and letters that the usual font lacks come from another one.
    ImportError without matplotlib."""
    import matplotlib
    from matplotlib.font_manager import fontManager

    # Newer ones tell each time that a font is there in one weight only.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    known = {font.name for font in fontManager.ttflist}
    for family, path in OTHER_LETTERS.items():
        if family not in known and os.path.exists(path):
            fontManager.addfont(path)
    matplotlib.rcParams.update({"text.parse_math": False, "font.family": families("DejaVu Sans")})


def families(first: str) -> list[str]:
    """The fonts in which a letter is sought, one after the other."""
    return [first, *(family for family, path in OTHER_LETTERS.items() if os.path.exists(path))]


def time_unit(span: float) -> tuple[float, str]:
    """(ns of the unit, its name) in which @span ns are read best."""
    return next((unit for unit in UNITS if span >= 2 * unit[0]), UNITS[-1])


def duration(us: float, _: object = None) -> str:
    """@us as the label of an axis of latencies: from ns to hours, as 250 µs or 1 h."""
    for size, name in LENGTHS:
        if us * 1e3 >= size * (1 - 1e-9):
            return f"{us * 1e3 / size:g} {name}"
    return "0"


def duration_axis(axis: Any, low: float, high: float) -> None:
    """Show @low to @high µs on the horizontal logarithmic @axis, with round lengths of time as its labels."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    few, many = ([size / 1e3 * step for size, _ in LENGTHS for step in steps if size < 1e9 or step <= 30]
                 for steps in ((1, 10, 100), (1, 2, 5, 10, 20, 30, 50, 100, 200, 500)))
    shown = [tick for tick in few if low <= tick <= high]
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    axis.xaxis.set_major_locator(FixedLocator(shown if len(shown) > 2 else many))
    axis.xaxis.set_major_formatter(FuncFormatter(duration))
    axis.xaxis.set_minor_formatter(NullFormatter())


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
        figure.suptitle("\n".join(lines), fontsize=7, x=0.01, ha="left", family=families("DejaVu Sans Mono"))
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
        # A text that begins with _ would not be shown, so each is set afterwards.
        legend = axis.legend([handle for handle, _ in shown], ["."] * len(shown), loc="upper left", title=title or None,
                             bbox_to_anchor=(aside, 1.02), fontsize=7, title_fontsize=7, frameon=False,
                             handlelength=1.6)
        for label, (_, text) in zip(legend.get_texts(), shown):
            label.set_text(text)


def encode(figure: Any, kind: str) -> bytes:
    """@figure as SVG, PDF or PNG. The same figure gives the same bytes. Says on stderr if letters have no font."""
    with warnings.catch_warnings(record=True) as told:
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        data = _encode(figure, kind)
    missing = [each for each in told if re.match(NO_GLYPH, str(each.message))]
    for each in told:
        if each not in missing:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing:
        print("fairground: no font here has some letters of the names, which are drawn as boxes: sh tools/setup.sh, or "
              "apt-get install fonts-wqy-zenhei fonts-symbola", file=sys.stderr)
    return data


def _encode(figure: Any, kind: str) -> bytes:
    if kind == "svg":
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        return re.sub(r" +$", "", text.getvalue(), flags=re.MULTILINE).encode()
    binary = io.BytesIO()
    figure.savefig(binary, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
    return binary.getvalue()


def save(figure: Any, path: str) -> None:
    """Write @figure to @path: SVG, PDF or PNG by its end."""
    whole.write(path, encode(figure, pathlib.Path(path).suffix[1:]))

# SPDX-License-Identifier: GPL-2.0-only
"""The picture with which the demonstration ends, as SVG: user/bin/demo.c prints it as text, and this draws the same."""

import html
import os
import re

ROW = re.compile(r"^  (\S.{11})\|([#. ]+)\|$", re.MULTILINE)
COLOURS = ("#0072b2", "#e69f00", "#009e73")
LEFT, LANE, BAR, COLUMN, EVERY = 110, 34, 20, 12, 10  # pixels, but for the last: columns from one number to the next
TO_TRY = """\
Three things to try:
  make run SCHED={other:35} # the same under another scheduler
  make run SMP=1 ICOUNT=1 CMD="hog -N 0,5,10 -t 2s"      # shares and waits by nice value
  make trace ICOUNT=1 CMD="hack -g 2" OUT=hack.dat && make graph ARGS='dat2graph2 hack.dat'
"""


def rows_of(console: str) -> list[tuple[str, str]]:
    """(name, a letter for each ms) of each process in the text of the demonstration."""
    rows = [(name.strip(), columns) for name, columns in ROW.findall(console)]
    return [(name, columns) for name, columns in rows if len(columns) == len(rows[0][1])]


def pieces(columns: str) -> list[tuple[str, int, int]]:
    """(letter, first column, number of columns) of each piece of the same letters."""
    return [(run[0][0], run.start(), len(run[0])) for run in re.finditer(r"(.)\1*", columns)]


def svg(rows: list[tuple[str, str]]) -> str:
    """The picture: a bar where a process runs, a line where it waits."""
    length = len(rows[0][1])
    width, height = LEFT + length * COLUMN + 30, len(rows) * LANE + 60
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>',
             f'<title>Three processes on one CPU for {length} ms</title>',
             f'<text x="{LEFT}" y="18">a bar: it runs; a line: it waits; nothing: it sleeps</text>']
    for nr, (name, columns) in enumerate(rows):
        top, colour = 30 + nr * LANE, COLOURS[nr % len(COLOURS)]
        lines.append(f'<text x="{LEFT - 10}" y="{top + 15}" text-anchor="end">{html.escape(name)}</text>')
        for letter, first, number in pieces(columns):
            y, high = (top, BAR) if letter == "#" else (top + BAR // 2 - 1, 2)
            if letter != " ":
                lines.append(f'<rect x="{LEFT + first * COLUMN}" y="{y}" width="{number * COLUMN}" height="{high}" '
                             f'fill="{colour}"/>')
    bottom = 30 + len(rows) * LANE
    for at in range(0, length + 1, EVERY):
        x = LEFT + at * COLUMN
        lines += [f'<path d="M{x} {bottom}v5" stroke="#000"/>',
                  f'<text x="{x}" y="{bottom + 19}" text-anchor="middle">{at}{" ms" * (at == length)}</text>']
    return "\n".join([*lines, "</svg>", ""])


def save(console: str, build: str) -> str:
    """Draw what the demonstration in the text @console showed, in the directory @build; returns the file's name, or ""
    if it did not come to that."""
    rows = rows_of(console)
    if not rows:
        return ""
    out = os.path.join(build, "demo.svg")
    with open(out, "w", encoding="utf-8") as f:
        f.write(svg(rows))
    return out

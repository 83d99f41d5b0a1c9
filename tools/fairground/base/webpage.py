# SPDX-License-Identifier: GPL-2.0-only
"""A page of one file, without anything from elsewhere: its frame, its style, and tables."""

import html
from collections.abc import Sequence
from typing import Any

STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --back: #fff; --line: #d4d4d4; --soft: #f4f4f2; --dim: #595959;
  --ok: #00694c; --no: #a83f00; --note: #00568a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e6e3; --back: #161618; --line: #3d3d42; --soft: #222226; --dim: #a9a9a4;
    --ok: #4fd1a5; --no: #ff9a5c; --note: #7cc4ff; }
  img { filter: brightness(0.88); } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 16px; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin-bottom: 0.4rem; } nav a { margin-right: 1rem; } a { color: var(--note); }
figure { margin: 1rem 0; } figcaption { color: var(--dim); font-size: 0.9rem; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 4px; }
img { display: block; background: #fff; width: 100%; min-width: 860px; height: auto; }
table { border-collapse: collapse; font-size: 0.9rem; } .wide table { min-width: 100%; }
td:first-child { overflow-wrap: normal; }
th, td { padding: 0.25rem 0.7rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td.n { text-align: right; font-variant-numeric: tabular-nums; } th { color: var(--dim); font-weight: 600; }
pre { margin: 0; padding: 0.7rem; background: var(--soft); font: 13px/1.45 ui-monospace, monospace; }
iframe { display: block; width: 100%; height: 900px; border: 0; }
summary { cursor: pointer; color: var(--note); }
.verdict { font-weight: 700; white-space: nowrap; } .ok { color: var(--ok); } .no { color: var(--no); }
.note { color: var(--note); }
"""


def cells(row: Sequence[Any], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}{' class=n' if isinstance(of, int | float) else ''}>{html.escape(str(of))}</{tag}>"
                            for of in row) + "</tr>"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = "\n".join(cells(row) for row in rows)
    heading = f"<thead>{cells(head, 'th')}</thead>" if head else ""
    return (f'<div class="wide"><table>{heading}'
            f"<tbody>\n{lines}\n</tbody></table></div>")


def document(title: str, parts: Sequence[str]) -> str:
    """The page of @parts, which are HTML; @title is text."""
    title = html.escape(title)
    return "\n".join(['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      f"<title>{title}</title><style>{STYLE}</style></head><body>", f"<h1>{title}</h1>", *parts,
                      "</body></html>", ""])

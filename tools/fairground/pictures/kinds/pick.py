# SPDX-License-Identifier: GPL-2.0-only
"""One pick, from decisions: its candidates on the number line of virtual time, or the tree in which they wait.

The pick is the first one in the window that compares at least two entities.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...base.option_values import U16, U32, whole
from ...decisions.fair_decisions import SHAPES, Candidate, Decision, Flag, difference, links
from ...decisions.policy_numbers import due, mean
from ...machine.image import TraceError
from ..decided import HOW, Decided, open_decided
from ..style import COLOURS, finish_axis, new_figure

KINDS = {
    "line": ("one pick on the number line of virtual time: vruntimes, deadlines, who is eligible",
             ("run.json --min 0.037", "the first pick after 37 ms")),
    "tree": ("one pick in the tree of those that wait, with the least vruntime below each node",
             ("run.json --min 0.037 --cpu 0", "the same pick in the tree")),
}
WAITS, PICKED, RUNS = COLOURS[0], COLOURS[1], COLOURS[2]
MOST = 31  # candidates that a picture has room for


@dataclass
class Pick:
    """A pick, the time it was made, and V."""

    time: int
    decision: Decision
    mean: float  # V - decision.v, which is V rounded down; CFS has no V, so this is the mean of what is queued

    def away(self, vtime: int) -> float:
        """How far @vtime is to the right of V, in virtual ms."""
        return (difference(vtime, self.decision.v) - self.mean) / 1e6

    def eligible(self, c: Candidate) -> bool:
        return c.has(Flag.QUEUED) and self.away(c.vruntime) <= 1e-9

    def deadline(self, c: Candidate) -> float | None:
        """The virtual deadline of @c, as away() has it; None if its policy has none."""
        if not c.deadline or self.decision.policy == "fdl":
            return None
        return self.away(due(c))

    def colour(self, c: Candidate) -> str:
        return PICKED if self.decision.is_about(c) else RUNS if c.has(Flag.RUNS) else WAITS


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpu", type=whole(0, U16), metavar="N", help="only picks of this CPU")
    parser.add_argument("--group", type=whole(0, U32), metavar="N",
                        help="only those on queues of this group; 0: the root's")


def open_source(path: str, arguments: argparse.Namespace) -> Decided:
    """The file @path, its data the Pick that is drawn."""
    source = open_decided(path, arguments)
    for time, d in source.records(SHAPES):
        if (d.kind == "pick" and d.complete and arguments.cpu in (None, d.cpu) and arguments.group in (None, d.group)
                and 2 <= sum(c.has(Flag.QUEUED) for c in d.candidates) and len(d.candidates) <= MOST):
            source.data = Pick(time, d, mean(d))
            source.policies = (d.policy,)
            return source
    raise TraceError(f"{path}: there is no pick among two to {MOST} candidates in it: {HOW}")


# --- the number line ------------------------------------------------------------------------------------------------


def draw_line(axis: Any, pick: Pick) -> None:
    """A row for each candidate: a dot at its vruntime, a bar to its deadline; left of the line at 0 it is eligible."""
    rows = [c for c in pick.decision.candidates if c.has(Flag.QUEUED)]
    axis.use_sticky_edges = False
    for row, c in enumerate(rows):
        at, due, colour = pick.away(c.vruntime), pick.deadline(c), pick.colour(c)
        if due is not None:
            axis.barh(row, due - at, left=at, height=0.5, facecolor=colour if pick.eligible(c) else "none",
                      edgecolor=colour, alpha=0.55, linewidth=0.8, hatch="" if pick.eligible(c) else "////")
            axis.plot([due, due], [row - 0.32, row + 0.32], color=colour, linewidth=2, gid=f"deadline {c.name}")
        axis.plot(at, row, color=colour, marker="o", markersize=6, markeredgecolor="black", gid=f"vruntime {c.name}")
    axis.axvline(0, color="black", linewidth=1)
    axis.set_yticks(range(len(rows)), [f"{c.name}, weight {c.weight}" for c in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel("virtual ms from V   (dot: vruntime; end of the bar: deadline; hatched: not eligible)")


# --- the tree -------------------------------------------------------------------------------------------------------


def least_below(pick: Pick) -> dict[int, float]:
    """{place of a candidate in the tree: the least vruntime of it and all below it}"""
    candidates, tree = pick.decision.candidates, links(pick.decision)
    found: dict[int, float] = {}
    for place in sorted((i for i, c in enumerate(candidates) if c.depth), key=lambda i: -candidates[i].depth):
        below = [found[child] for child in tree[place][1:] if child >= 0]
        found[place] = min([pick.away(candidates[place].vruntime), *below])
    return found


def text_of(pick: Pick, c: Candidate, least: float | None) -> str:
    lines, due = [c.name, f"vruntime {pick.away(c.vruntime):+.3f}"], pick.deadline(c)
    if due is not None:
        lines.append(f"due {due:+.3f}")
        if least is not None:
            lines.append(f"least below {least:+.3f}")
    return "\n".join(lines)


def draw_tree(axis: Any, pick: Pick) -> None:
    """The nodes of the tree from left to right in its order, and at its right whoever runs."""
    candidates, tree, least = pick.decision.candidates, links(pick.decision), least_below(pick)
    nodes = sorted(least)
    places = {place: (float(x), -float(candidates[place].depth)) for x, place in enumerate(nodes)}
    aside = [i for i, c in enumerate(candidates) if not c.depth and c.has(Flag.QUEUED)]
    places.update({i: (len(nodes) + 0.3 + x, -1.0) for x, i in enumerate(aside)})
    for place in nodes:
        if (parent := tree[place].parent) >= 0:
            axis.plot(*zip(places[parent], places[place]), color="black", linewidth=0.8, zorder=1)
    for place, (x, y) in places.items():
        c = candidates[place]
        axis.text(x, y, text_of(pick, c, least.get(place)), ha="center", va="center", fontsize=7, zorder=2,
                  gid=f"node {c.name}", bbox={"boxstyle": "round", "edgecolor": pick.colour(c), "linewidth": 2.4 if
                  pick.decision.is_about(c) else 1.2, "facecolor": "#e8f4fb" if pick.eligible(c) else "white"})
    axis.set_xlim(-0.6, max(x for x, _ in places.values()) + 0.6)
    axis.set_ylim(min(y for _, y in places.values()) - 0.6, -0.4)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    axis.set_xlabel("virtual ms from V   (shaded: eligible; orange: picked; green: runs, and is in no tree)")


def draw(sources: Sequence[Decided], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each of @sources."""
    height = {"line": lambda pick: 0.7 + 0.28 * len(pick.decision.candidates),
              "tree": lambda pick: 0.5 + 0.85 * max(1, *(c.depth for c in pick.decision.candidates))}[arguments.kind]
    figure, axes = new_figure(len(sources), max(height(source.data) for source in sources), header)
    for axis, source in zip(axes, sources):
        {"line": draw_line, "tree": draw_tree}[arguments.kind](axis, source.data)
        finish_axis(axis, f"{source.name}: {source.policy}, CPU {source.data.decision.cpu} at "
                    f"{source.data.time / 1e6:.6f} ms")
        if arguments.kind == "tree":
            axis.spines[:].set_visible(False)
    return figure


def report(source: Decided, _: argparse.Namespace) -> str:
    """The numbers of the picture."""
    pick, least = source.data, least_below(source.data)
    lines = [f"{source.name}: CPU {pick.decision.cpu} at {pick.time / 1e6:.6f} ms, virtual ms from V",
             f"  {'entity':<22} {'weight':>8} {'vruntime':>12} {'deadline':>12} {'least below':>12}  eligible"]
    for place, c in enumerate(pick.decision.candidates):
        if c.has(Flag.QUEUED):
            due = pick.deadline(c)
            lines.append(f"  {c.name:<22} {c.weight:>8} {pick.away(c.vruntime):12.6f} "
                         + (f"{due:12.6f} " if due is not None else f"{'-':>12} ")
                         + (f"{least[place]:12.6f}" if place in least else f"{'runs':>12}")
                         + f"  {'yes' if pick.eligible(c) else 'no':<3}" + " picked" * pick.decision.is_about(c))
    return "\n".join(lines)

# SPDX-License-Identifier: GPL-2.0-only
"""What is in the pool of a control group with a quota, and where the group is throttled, from records of quotas."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...base.option_values import U32, whole
from ...decisions.quota_decisions import NO_QUOTA, SHAPES, PoolDecision
from ...machine.image import TraceError
from ..decided import HOW, Decided, open_decided
from ..pixels import Bars, Level, Row, Steps
from ..style import COLOURS, Style, add_legend, finish_axis, new_figure, time_unit

KINDS = {
    "quota": ("the pool of a group with a quota, and where it is throttled, from decisions",
              ("run.json --group 1", "the pool of one group")),
}
REPORTED = {"quota": "decisions"}
POOL, RED = COLOURS[4], COLOURS[5]


@dataclass
class Group:
    """Of one group: the pool's level, its limits, and when each CPU's queue was throttled. Times count from the
    begin."""

    name: str = ""
    levels: list[tuple[int, int]] = field(default_factory=list)         # (time, ns in the pool)
    limits: list[tuple[int, int, int]] = field(default_factory=list)    # (time, quota, quota + burst)
    throttled: list[tuple[int, int, int]] = field(default_factory=list)  # (CPU, from, to)
    since: dict[int, int] = field(default_factory=dict)                 # CPU -> throttled since
    acts: Counter[str] = field(default_factory=Counter)
    unfinished: int = 0  # ns of throttling that no record ends
    last: PoolDecision | None = None

    def pool(self, time: int, d: PoolDecision) -> None:
        if d.quota != NO_QUOTA and (not self.limits or self.limits[-1][1:] != (d.quota, d.quota + d.burst)):
            self.limits.append((time, d.quota, d.quota + d.burst))
        self.levels += [(time, d.before), (time, d.kept)]
        self.last = d

    def release(self, cpu: int, time: int) -> None:
        if cpu in self.since:
            self.throttled.append((cpu, self.since.pop(cpu), time))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", type=whole(0, U32), metavar="N",
                        help="this group; default: that with the most decisions")


def read_groups(source: Decided) -> dict[int, Group]:
    """number -> Group."""
    groups: dict[int, Group] = {}
    last = source.start
    for time, d in source.records(SHAPES):
        last = time
        group = groups.setdefault(d.group, Group())
        group.name = d.comm or group.name
        group.acts[d.kind] += 1
        if isinstance(d, PoolDecision):
            group.pool(time, d)
            continue
        group.levels.append((time, d.pool))
        if d.kind == "throttle":
            group.since.setdefault(d.cpu, time)
        elif d.kind == "unthrottle":
            group.release(d.cpu, time)
    source.end = min(source.end, last)
    for group in groups.values():
        group.unfinished = sum(source.end - since for since in group.since.values())
        for cpu in list(group.since):
            group.release(cpu, source.end)
    return {number: group for number, group in groups.items() if group.limits}


def open_source(path: str, arguments: argparse.Namespace) -> Decided:
    """The file @path, its data the chosen group."""
    source = open_decided(path, arguments)
    groups = read_groups(source)
    if not groups:
        raise TraceError(f"{path}: no group has a quota in it (group:name=a,quota=20ms,period=100ms, or cpu.max), or "
                         f"its records are missing: {HOW}")
    busiest = max(groups, key=lambda number: (groups[number].acts.total(), -number))
    number = busiest if arguments.group is None else arguments.group
    if number not in groups:
        raise TraceError(f"{path}: group {number} has no quota; {', '.join(map(str, sorted(groups)))} have")
    source.data = groups[number]
    source.data.name = source.data.name or f"group {number}"
    return source


def draw_pool(axis: Any, source: Decided, unit: float) -> None:
    group = source.data
    times, levels = np.array(group.levels, float).T
    levels /= 1e6
    axis.add_artist(Steps((np.append(times, source.end) - source.start) / unit, [
        Level("pool", np.zeros(len(levels)), levels, {"facecolor": POOL})]))
    borders = [*(limit[0] for limit in group.limits[1:]), source.end]
    for (start, quota, most), end in zip(group.limits, borders):
        span = (start - source.start) / unit, (end - source.start) / unit
        axis.plot(span, [quota / 1e6] * 2, color="black", linewidth=1, linestyle="--")
        if most > quota:
            axis.plot(span, [most / 1e6] * 2, color="black", linewidth=1, linestyle=":")
    axis.set_ylim(0, max(*levels, *(most / 1e6 for _, _, most in group.limits)) * 1.08)
    axis.set_ylabel("pool, ms")
    finish_axis(axis, f"{source.name}: {group.name}" + (f", {source.policy}" if source.policy else ""))


def draw_throttled(axis: Any, source: Decided, unit: float) -> None:
    cpus = source.file.provenance.cpus
    of, start, end = np.array(source.data.throttled, float).reshape(-1, 3).T
    start, end = (start - source.start) / unit, (end - source.start) / unit
    axis.add_artist(Bars([Row(cpu - 0.4, 0.8, start[of == cpu], end[of == cpu], np.full((of == cpu).sum(), cpu))
                          for cpu in range(cpus)], [Style(RED, "")] * cpus,
                         [f"throttled {cpu}" for cpu in range(cpus)]))
    every = max(1, cpus // 16)
    axis.set_yticks(range(0, cpus, every), [str(cpu) for cpu in range(0, cpus, every)])
    axis.set_ylim(-0.6, cpus - 0.4)
    axis.set_ylabel("CPU")
    finish_axis(axis, "")


def draw(sources: Sequence[Decided], _: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: two panels for each of @sources, on one axis of time."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, axes = new_figure(2 * len(sources), 1.7, header, sharex=True)
    length = max(source.end - source.start for source in sources)
    unit, name = time_unit(length)
    for nr, source in enumerate(sources):
        draw_pool(axes[2 * nr], source, unit)
        draw_throttled(axes[2 * nr + 1], source, unit)
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}")
    add_legend(axes[0], [(Patch(facecolor=POOL), "runtime in\nthe pool"),
                         (Line2D([], [], color="black", linestyle="--"), "quota"),
                         (Line2D([], [], color="black", linestyle=":"), "quota and burst"),
                         (Patch(facecolor=RED), "throttled")])
    return figure


def report(source: Decided, _: argparse.Namespace) -> str:
    """How long the group's queues were throttled, and what its pool counted."""
    group = source.data
    acts = ", ".join(f"{number} {act}" for act, number in sorted(group.acts.items()))
    lines, times = [f"{source.name}: {group.name}, {acts}"], [0] * source.file.provenance.cpus
    for cpu, start, end in group.throttled:
        times[cpu] += end - start
    lines += [f"  CPU {cpu:<4} throttled for {time / 1e6:14.6f} ms" for cpu, time in enumerate(times)]
    if group.unfinished:
        lines.append(f"  of these {group.unfinished / 1e6:.6f} ms go on at the last record, where the picture ends")
    if d := group.last:
        lines.append(f"  periods {d.nr_periods}, throttled {d.nr_throttled}, bursts {d.nr_bursts}, burst time "
                     f"{d.burst_time / 1e6:.6f} ms")
    return "\n".join(lines)

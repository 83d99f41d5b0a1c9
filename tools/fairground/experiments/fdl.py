# SPDX-License-Identifier: GPL-2.0-only
"""x1-fdl, x1-fdl-verbatim, x2-fdl-control: the script of three servers, their latencies, and the picture."""

import re
from typing import Any

from ..base.expect import expect
from ..base.settings import UsageError
from ..study.claims import Figures, Results
from ..study.experiment_file import FOLDER, Experiment
from ..study.runs import Run
from .schbench import percentiles

WORKERS = 2
CURVE = ("50.0", "75.0", "90.0", "95.0", "99.0", "99.5", "99.9", "max")


def group(x: Experiment, name: str, deadlines: bool = True, guaranteed: int | None = None,
          shares: int = 0) -> list[str]:
    """Commands that make a group. The first group is plain CFS in every case."""
    rr, wakeup = x.v.deadlines_ns.get(name, (0, 0)) if deadlines else (0, 0)
    plain = name == x.v.groups[0]
    guaranteed = x.v.guaranteed if guaranteed is None else guaranteed
    return [f"mkdir {name}", f"echo {rr} > {name}/cpu.deadline_rr", f"echo {wakeup} > {name}/cpu.deadline_wakeup",
            f"echo {0 if plain else guaranteed} > {name}/cpu.guaranteed_shares",
            *([f"echo {shares} > {name}/cpu.shares"] if shares and not plain else [])]


def script(x: Experiment, case: str, seconds: int) -> str:
    """The whole script. It ends with the counters and the servers' reports, whose first second is a warm-up. What a
    case may change: `antagonist`, the group that it runs in, "" for none; `workers` of a server; the `order` in which
    the servers start; the `plan` of the groups, arguments of group()."""
    how = x.cases[case].values
    antagonist = how.get("antagonist", ".")
    noise = "hackbench -g 2 -f 4 -s 20000 --loops 1000000 > /dev/null"
    server = (f"schbench -m 1 -t {how.get('workers', WORKERS)} -c {x.v.think_us} -s {x.v.think_us} -r {seconds} "
              "-w 1 -i -1")
    return "; ".join([
        "mkdir /cg", "mount -t cgroup -o cpu cgroup /cg", "cd /cg", "mkdir antagonist",
        f"echo default_fair_dl {x.v.container_ns} > /sys/kernel/debug/qos/qos_params",
        *(line for name in x.v.groups for line in group(x, name, **how.get("plan", {}))),
        *([f"(echo 0 > {antagonist}/tasks; exec {noise}) & sleep 0.5"] if antagonist else []),
        f"for g in {' '.join(how.get('order', x.v.groups))}; do (echo 0 > $g/tasks; exec {server} > /tmp/$g) & "
        "servers=\"$servers $!\"; done",
        "wait $servers", *(["killall hackbench"] if antagonist else []),
        f"for g in {' '.join(x.v.groups)}; do echo ==== $g ====; cat /tmp/$g; cat $g/cpu.qos_debug; done"])


def verbatim(x: Experiment, seconds: int) -> str:
    """The published script."""
    if seconds != x.seconds:
        raise UsageError(f"--seconds {seconds}: the script says {x.seconds}, and it is run unchanged")
    return (FOLDER.parent / "examples/fdl.sh").read_text(encoding="utf-8")


def measure(run: Run) -> Figures:
    """For each group: the percentiles in us, the number of samples, and the scheduler's counters if there are any."""
    parts = re.split(r"^==== (.+) ====$", run.console, flags=re.M)
    figures: Figures = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        figures[name.replace(" ", "-")] = {
            "samples": int(expect(r"\((\d+) total samples\)", text)[1]),
            "max": int(expect(r"max=(\d+)", text)[1]),
            **percentiles(text),
            **{key: int(value) for key, value in re.findall(r"^([a-z_]+) (\d+)$", text, re.M)}}
    return figures


def ratio(of_case: Figures, percentile: str, over: str, under: str) -> float:
    """The latency of the group @over divided by that of @under, which is at least 1 us."""
    return float(of_case[over][percentile] / max(of_case[under][percentile], 1))


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The latency that a part of the wakeups did not exceed."""
    cases = results["kernel"]["fdl"]
    for axes, case in zip(figure.subplots(1, len(cases), sharey=True, squeeze=False)[0], cases):
        for nr, name in enumerate(x.v.groups):
            found = results["kernel"]["fdl"][case][name]
            axes.plot(CURVE, [max(found[p], 1) for p in CURVE], "o-", color=f"C{nr}", label=name)
            if case == next(iter(cases)):
                medians = [sorted(values)[1] for values in x.v.published[name]]
                axes.plot(["50.0", "99.0"], medians, "x", color=f"C{nr}")
        axes.set_yscale("log")
        axes.set_title(case, fontsize=9)
        axes.tick_params(axis="x", rotation=60, labelsize=7)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("wakeup latency, us (x: published, 96 CPUs)")
    figure.axes[0].legend(fontsize=8)

# SPDX-License-Identifier: GPL-2.0-only
"""Three servers that differ only in their groups' settings, beside an antagonist: what deadlines do to wakeup latency.

The script of the publication (examples/fdl.sh) for a machine of 4 CPUs instead of 96: the antagonist has two pairs of
processes for each CPU, the servers have fewer workers that think for 3 ms instead of 30, and the deadlines are
20 times as long, because an emulated CPU needs a millisecond for what that machine did in 50 us.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..expect import expect
from ..experiment import Claim, Figures, Results, Run, rule, shown

TITLE = "Servers with and without deadlines beside an antagonist: wakeup latency"
SOURCE = "the message that proposed FDL: schbench, median and 99th percentile of three runs on 96 CPUs"
SETTINGS = {"smp": "4", "hz": "250"}
SECONDS = 10
SCHEDULERS = ("fdl",)
HOSTS = ("kernel",)  # the simulator has no messengers that think
TIMEOUT = "3000"
EVENTS = ""  # a second of the antagonist is a million of them
SIZE = (13, 4.5)

GROUPS = ("cfs", "fdl-loose", "fdl")
PUBLISHED = {"cfs": ((300, 280, 417), (18528, 20960, 19339)), "fdl-loose": ((52, 51, 52), (1722, 1942, 1378)),
             "fdl": ((51, 49, 48), (609, 234, 115))}
CURVE = ("50.0", "75.0", "90.0", "95.0", "99.0", "99.5", "99.9", "max")

WORKERS, THINK_US = 2, 3000
DEADLINES_NS = {"fdl-loose": (100_000_000, 50_000_000), "fdl": (4_000_000, 2_000_000)}
CONTAINER_NS = 100_000_000
GUARANTEED = 7000
# What a case changes: the group of the antagonist, deadlines, guarantees, shares in the place of guarantees.
CASES: dict[str, dict[str, Any]] = {
    "as-published": {},
    "antagonist-in-group": {"group": True},
    "no-guarantee": {"guaranteed": 0},
    "shares-only": {"deadlines": False, "guaranteed": 0, "shares": GUARANTEED},
}
TWICE = ("as-published",)


def group(name: str, deadlines: bool = True, guaranteed: int = GUARANTEED, shares: int = 0, **_: object) -> list[str]:
    """Commands that make a group. The first group is plain CFS in every case."""
    rr, wakeup = DEADLINES_NS.get(name, (0, 0)) if deadlines else (0, 0)
    plain = name == GROUPS[0]
    return [f"mkdir {name}", f"echo {rr} > {name}/cpu.deadline_rr", f"echo {wakeup} > {name}/cpu.deadline_wakeup",
            f"echo {0 if plain else guaranteed} > {name}/cpu.guaranteed_shares",
            *([f"echo {shares} > {name}/cpu.shares"] if shares and not plain else [])]


def script(seconds: int, antagonist: bool = True, group_of_antagonist: str = ".", workers: int = WORKERS,
           order: Sequence[str] = GROUPS, **what: Any) -> str:
    """The whole script. It ends with the counters and the servers' reports, whose first second is a warm-up."""
    noise = "hackbench -g 2 -f 4 -s 20000 --loops 1000000 > /dev/null"
    server = f"schbench -m 1 -t {workers} -c {THINK_US} -s {THINK_US} -r {seconds} -w 1 -i -1"
    return "; ".join([
        "cd /sys/fs/cgroup/cpu", "mkdir antagonist",
        f"echo default_fair_dl {CONTAINER_NS} > /sys/kernel/debug/qos/qos_params",
        *(line for name in GROUPS for line in group(name, **what)),
        *([f"(echo 0 > {group_of_antagonist}/tasks; exec {noise}) & sleep 0.5"] if antagonist else []),
        f"for g in {' '.join(order)}; do (echo 0 > $g/tasks; exec {server} > /tmp/$g) & servers=\"$servers $!\"; done",
        "wait $servers", *(["killall hackbench"] if antagonist else []),
        f"for g in {' '.join(GROUPS)}; do echo ==== $g ====; cat /tmp/$g; cat $g/cpu.qos_debug; done"])


def kernel(case: str, seconds: int) -> str:
    what = CASES[case]
    return script(seconds, group_of_antagonist="antagonist" if what.get("group") else ".", **what)


def measure(run: Run) -> Figures:
    """For each group: the percentiles in us, the number of samples, and the scheduler's counters if there are any."""
    parts = re.split(r"^==== (.+) ====$", run.console, flags=re.M)
    figures: Figures = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        figures[name.replace(" ", "-")] = {
            "samples": int(expect(r"\((\d+) total samples\)", text)[1]),
            "max": int(expect(r"max=(\d+)", text)[1]),
            **{p: int(us) for p, us in re.findall(r"^\t\*?([\d.]+)th: (\d+) ", text, re.M)},
            **{key: int(value) for key, value in re.findall(r"^([a-z_]+) (\d+)$", text, re.M)}}
    return figures


def ratio(case: str, percentile: str, above: str, below: str) -> Callable[[Results], Any]:
    """A function of the results: the latency of @above divided by that of @below, which is at least 1 us."""
    return lambda r: r["fdl"][case][above][percentile] / max(r["fdl"][case][below][percentile], 1)


def published_ratio(index: int, above: str, below: str) -> str:
    return f"{sum(PUBLISHED[above][index]) / sum(PUBLISHED[below][index]):.1f}"


def latency(text: str, case: str, name: str, percentile: str, published: str = "-") -> Claim:
    return shown(text, SCHEDULERS, lambda r: r["fdl"][case][name][percentile], "{:.0f}", published)


def claims_of_case(case: str) -> list[Claim]:
    """The claims of the publication: the order of the groups, and the size of the differences."""
    found = [rule(f"p{p[:2]}: {above} / {below}", f">= {bound}", SCHEDULERS, lambda v, bound=bound: v >= bound,
                  ratio(case, p, above, below), "{:.1f}", published_ratio(index, above, below))
             for index, p, above, below, bound in ((0, "50.0", "cfs", "fdl", 3), (1, "99.0", "cfs", "fdl", 10),
                                                   (1, "99.0", "cfs", "fdl-loose", 1),
                                                   (1, "99.0", "fdl-loose", "fdl", 1))]
    for index, p in enumerate(("50.0", "99.0")):
        for name in GROUPS:
            found.append(latency(f"{name}: p{p[:2]}, us", case, name, p, f"{sorted(PUBLISHED[name][index])[1]}"))
    return found


def claims() -> list[Claim]:
    first, *others = CASES
    found = claims_of_case(first)
    for other in others:
        for p in ("50.0", "99.0"):
            found += [latency(f"{other}: {name}, p{p[:2]}, us", other, name, p) for name in GROUPS]
    return found


def draw(figure: Any, results: dict[str, Results], published: dict[str, Any] | None = None) -> None:
    """The latency that a part of the wakeups did not exceed."""
    cases = results["kernel"]["fdl"]
    for axes, case in zip(figure.subplots(1, len(cases), sharey=True, squeeze=False)[0], cases):
        for nr, name in enumerate(GROUPS):
            found = results["kernel"]["fdl"][case][name]
            axes.plot(CURVE, [max(found[p], 1) for p in CURVE], "o-", color=f"C{nr}", label=name)
            if case == next(iter(cases)):
                medians = [sorted(values)[1] for values in (published or PUBLISHED)[name]]
                axes.plot(["50.0", "99.0"], medians, "x", color=f"C{nr}")
        axes.set_yscale("log")
        axes.set_title(case, fontsize=9)
        axes.tick_params(axis="x", rotation=60, labelsize=7)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("wakeup latency, us (x: published, 96 CPUs)")
    figure.axes[0].legend(fontsize=8)

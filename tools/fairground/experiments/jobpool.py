# SPDX-License-Identifier: GPL-2.0-only
"""x5-swqueue: jobs, waste and CPU time of a pool, changes with a feature, and the picture."""

import re
from typing import Any

from ..base.expect import expect
from ..study.claims import KERNEL, SIMULATOR, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run


def measure(run: Run) -> Figures:
    used: Figures = {}
    if run.host == SIMULATOR:
        used = {"used_percent": 100 - float(expect(r"idle ([\d.]+) %", run.console)[1])}
        jobs = int(expect(r"^job .*?nice 0 +(\d+)", run.console)[1])
        wasted, near = map(float, expect(r"wasted ([\d.]+) CPU ms, of these within a cache ([\d.]+)",
                                            run.console).groups())
    else:
        jobs = sum(map(int, re.findall(r"^(\d+) jobs ended", run.console, re.M)))
        wasted, near = ((after - before) / 1e6 for before, after in (
            map(int, re.findall(rf"^{name} (\d+)", run.console, re.M)) for name in ("waste_ns", "waste_llc_ns")))
    return {"jobs": jobs, "wasted_ms": wasted, "near_ms": near, **used}


def time_change(results: Results, pool: str, feature: str) -> float:
    """The change of the time of a job, in percent."""
    return 100 * (results["cfs"][f"{pool}-off"]["jobs"] / results["cfs"][f"{pool}-{feature}"]["jobs"] - 1)


def ratio(results: Results, pool: str, feature: str, key: str) -> float:
    """The waste with @feature divided by the waste without it. 0 if there is none in either."""
    wasted, without = (results["cfs"][f"{pool}-{name}"][key] for name in (feature, "off"))
    return wasted and (wasted / without if without else float("inf"))


def host_of(pool: str) -> str:
    return KERNEL if pool == "kernel" else SIMULATOR


def published_for(x: Experiment, pool: str, feature: str) -> float | str:
    """The published change of the time, where there is one. What is too small to be seen is a word."""
    found: float | str = x.v.published.get(pool, {}).get(feature, "-")
    return found


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """Waste within caches, and jobs, by shape and feature: of the pool with waits and of the kernel."""
    pools = [pool for pool in ("kernel", *(f"{shape}+waits" for shape in x.v.simulated))
             if f"{pool}-off" in results.get(host_of(pool), {}).get("cfs", {})]
    for axes, key, label in zip(figure.subplots(1, 2), ("near_percent", "jobs"),
                                ("CPU time wasted within caches, %", "jobs done, relative to off")):
        for nr, feature in enumerate(("off", "sis_node", *x.v.queues)):
            for at, pool in enumerate(pools):
                of_host = results[host_of(pool)]["cfs"]
                if f"{pool}-{feature}" not in of_host:
                    continue
                value = of_host[f"{pool}-{feature}"][key]
                if key == "jobs":
                    value /= of_host[f"{pool}-off"]["jobs"]
                labels = axes.get_legend_handles_labels()[1]
                axes.bar(at + 0.16 * nr, value, 0.15, color=f"C{nr}", label=None if feature in labels else feature)
        axes.set_xticks([at + 0.32 for at in range(len(pools))], pools, fontsize=8)
        axes.set_ylabel(label)
    figure.axes[0].legend(fontsize=8)

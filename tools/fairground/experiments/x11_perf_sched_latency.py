"""Two tasks that never sleep on each of two CPUs: how often they switch, how long each turn makes the other wait.

The rule behind the published figures: a turn ends at the first tick that finds more than a slice gone. With 12 CPUs
the tunables are scaled by four, so of two equal tasks each has a slice of 12 ms under CFS (turns of 16 ms at a tick of
4 ms) and of 3 ms under EEVDF (turns of 4 ms). BORE on CFS mixes turns of 4 and 8 ms.
"""

from ..experiment import near, rule

TITLE = "Two tasks that never sleep on each of two CPUs: switches and delays"
SOURCE = "perf sched latency of `stress -c 2` on CPU 2 and on CPU 3, 10 s, Linux 6.1.29, 12 CPUs, HZ=250, BORE 2.2.8"
SETTINGS = {"smp": "12", "hz": "250"}
SECONDS = 10
SCHEDULERS = ("cfs", "bore-cfs", "eevdf")
CASES = ("hogs",)

PUBLISHED = {"cfs": (1255, 15.907, 16.008), "bore-cfs": (3308, 6.042, 8.014), "eevdf": (5007, 3.994, 4.009)}
MS = 1e6


CPUS = (2, 3)
LATER_US = 9000  # the second of each pair starts: stress forks its tasks one by one, they do not start as one


def kernel(_, seconds):
    """One pair after the other: busy CPUs share one stream of instructions under ICOUNT=1, so the ticks of two pairs
    would delay each other in a pattern that repeats, and a few us in each turn add up."""
    return "; ".join(f"hog -a {cpu} -t {seconds + 1}s & sleep {LATER_US / 1e6}; hog -a {cpu} -t {seconds + 1}s & wait"
                     for cpu in CPUS)


def workload(_, seconds):
    tasks = {}
    for cpu in CPUS:
        hog = {"loop": -1, "run": 1000000, "cpus": [cpu]}
        tasks[f"hog{cpu}"] = hog
        tasks[f"late{cpu}"] = {**hog, "delay": LATER_US}
    return {"global": {"duration": seconds + 1}, "tasks": tasks}


def delays_on(run, cpu):
    """(How many tasks used @cpu, their delays) from half a second after the first began, as perf was started later."""
    found = run.latencies({cpu})
    hogs = {pid for pid, task in found.tasks.items() if task.run_ns > run.seconds * 1e9 / 10}
    start = min(wait.end for wait in found.waits if wait.pid in hogs) + 5e8
    return len(hogs), [wait.end - wait.start for wait in found.waits
                       if wait.pid in hogs and start <= wait.end < start + run.seconds * 1e9]


def measure(run):
    tasks, delays = zip(*(delays_on(run, cpu) for cpu in CPUS))
    delays = sum(delays, [])
    return {"tasks": sum(tasks), "switches_10s": len(delays) * 10 / run.seconds,
            "average_ms": sum(delays) / len(delays) / MS, "longest_ms": max(delays) / MS}


def claims():
    found = []
    for sched, (switches, average_ms, longest_ms) in PUBLISHED.items():
        found.append(near(f"{sched}: switches in 10 s", switches, 0.05, [sched],
                          lambda r, s=sched: r[s]["hogs"]["switches_10s"], "{:.0f}"))
        found.append(near(f"{sched}: average delay, ms", average_ms, 0.05, [sched],
                          lambda r, s=sched: r[s]["hogs"]["average_ms"], "{:.3f}"))
        found.append(near(f"{sched}: longest delay, ms", longest_ms, 0.05, [sched],
                          lambda r, s=sched: r[s]["hogs"]["longest_ms"], "{:.3f}"))
    for sched, ratio in (("bore-cfs", 2.64), ("eevdf", 3.99)):
        found.append(near(f"switches, {sched} to cfs", ratio, 0.05, ["cfs", sched],
                          lambda r, s=sched: r[s]["hogs"]["switches_10s"] / r["cfs"]["hogs"]["switches_10s"], "{:.2f}"))
    found.append(rule("tasks that ran, each scheduler", "= 4", SCHEDULERS[:1], lambda v: v == 4,
                      lambda r: min(r[s]["hogs"]["tasks"] for s in r), "{:.0f}"))
    return found


def draw(figure, results):
    """Bars: published, kernel, simulator for each scheduler."""
    for axes, (title, index, key) in zip(figure.subplots(1, 3), (
            ("switches in 10 s", 0, "switches_10s"), ("average delay, ms", 1, "average_ms"),
            ("longest delay, ms", 2, "longest_ms"))):
        scheds = [s for s in SCHEDULERS if any(s in of_host for of_host in results.values())]
        bars = {"published": [PUBLISHED[s][index] for s in scheds]}
        bars.update((host, [of_host[s]["hogs"][key] for s in scheds]) for host, of_host in results.items())
        for nr, (label, values) in enumerate(bars.items()):
            at = [i + (nr - (len(bars) - 1) / 2) * 0.27 for i in range(len(scheds))]
            drawn = axes.bar(at, values, width=0.25, label=label)
            axes.bar_label(drawn, fmt="%.4g", fontsize=6)
        axes.set_xticks(range(len(scheds)), scheds)
        axes.set_title(title, fontsize=10)
    figure.axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3, fontsize=8)

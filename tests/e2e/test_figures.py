# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of experiments: bars begin at 0, the edge cuts no text, and the header names the machines.

The pictures need Debian's matplotlib, so Debian's Python draws them: this file is also the program that it runs.
"""

import itertools
import json
import os
import subprocess
import sys
import types
import zlib

import pytest

if __name__ == "__main__":
    sys.path.insert(0, os.environ["TOOLS"])
from fairground.study import experiment
from fairground.study.claims import KERNEL, SIMULATOR
from fairground.study.runs import Lab

EDGE_PIXELS = 1  # a text may touch the edge of the picture
HEADER = "Fairground 012345678: SCHED=cfs,bore-cfs,eevdf HZ=1000 SEED=1, kernel SMP=8 ICOUNT=1, simulator 36 CPUs, 60 s"
GROUPS = {*experiment.load("x1-fdl").values["groups"], *experiment.load("x14-isolated").values["cpu_of"]}
CURVES = {"curve": [0.5 * i ** 1.5 for i in range(1000)], "excess_ms": [7 * i for i in range(10)],
          "gantt": [("compute", 0, 700), ("partner", 700, 1000)], "parts": [23, 25, 25, 27], "tail": [-3, 1, 20, 400],
          "tails": [900 * (i + 1) for i, _ in enumerate(experiment.load("x3-schbench").values["phases"])],
          "spans": [[(20 * i, 1.5) for i in range(6)]] * 2}


class Figures(dict):
    """Figures of any name: curves, groups of figures, or numbers between 1 and 5,000 that depend on the case."""

    def __init__(self, case):
        super().__init__()
        self.case = case

    def __missing__(self, key):
        if key in GROUPS:
            return Figures(self.case + key)
        return CURVES.get(key, 1 + zlib.crc32(f"{self.case} {key}".encode()) % 5000)


def faults(figure):
    """One sentence for each bar that is cut, each axis of bars that does not begin at 0, and each text that is cut."""
    figure.canvas.draw()
    return [*faults_of_bars(figure), *faults_of_texts(figure)]


def faults_of_bars(figure):
    for axes in figure.axes:
        ends = [bar.get_y() + bar.get_height() for bars in axes.containers for bar in getattr(bars, "patches", ())]
        low, high = axes.get_ylim()
        if ends and min(ends) >= 0 and low != 0:
            yield f"the axis of the bars {axes.get_ylabel() or axes.get_title()!r} begins at {low:g}, not at 0"
        if ends and (max(ends) > high or min(ends) < low):
            yield f"the axis of the bars {axes.get_ylabel() or axes.get_title()!r} ends before the longest bar"


def hidden_ticks(figure):
    """The labels of ticks beyond the ends of their axes: matplotlib keeps them and does not draw them."""
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    hidden |= {tick.label1, tick.label2}
    return hidden


def faults_of_texts(figure):
    from matplotlib.text import Text

    hidden, page = hidden_ticks(figure), figure.bbox.padded(EDGE_PIXELS)
    for text in figure.findobj(Text):
        if not text.get_visible() or not text.get_text().strip() or text in hidden:
            continue
        box = text.get_window_extent(figure.canvas.get_renderer())
        if not (page.contains(*box.min) and page.contains(*box.max)):
            yield f"the edge of the picture cuts {text.get_text()!r}"


def pictures(name):
    """(hosts, matplotlib figure) of the experiment @name: for each host alone, where it can be alone, and for all."""
    module = experiment.load(name)
    hosts = module.hosts if module.draws else ()
    for some in itertools.chain.from_iterable(itertools.combinations(hosts, n + 1) for n in range(len(hosts))):
        results = {host: {sched: {case: Figures(case) for case in module.cases if module.runs(host, sched, case)}
                          for sched in module.policies} for host in some}
        yield some, experiment.draw_picture(module, lambda figure, r=results: module.draw(figure, r), HEADER)


def draw_all():
    """All faults of all pictures, and those that are found in a picture with one of each kind."""
    found = {}
    for name in experiment.names():
        for hosts, picture in pictures(name):
            found[f"{name}, {' and '.join(hosts)}"] = faults(picture)
            if len(sys.argv) > 1:
                picture.savefig(f"{sys.argv[1]}/{name}-{'-'.join(hosts)}.png")
    return found


def draw_badly():
    def draw(page):
        cut, lifted, short = page.subplots(1, 3)
        cut.bar(range(2), [1, 2])
        cut.text(1, 1, "a label as long as half of the picture " * 5)
        lifted.bar(range(2), [8, 9])
        lifted.set_ylim(-1, 10)
        lifted.set_title("lifted")
        short.bar(range(2), [1, 2])
        short.set_ylim(0, 1.2)
        short.set_ylabel("short")

    return faults(experiment.draw_picture(types.SimpleNamespace(title="Bad", picture=(11, 4.2)), draw, HEADER))


def debian(what, *words):
    env = {**os.environ, "TOOLS": os.path.join(ROOT, "tools")}
    done = subprocess.run([PYTHON, __file__, *words], env={**env, "WHAT": what}, capture_output=True, text=True,
                          check=False)
    if "No module named 'matplotlib'" in done.stderr:
        pytest.skip("matplotlib is missing (Debian: apt-get install python3-matplotlib)")
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.nightly("a picture of an experiment that cuts a text off")
def test_pictures_of_all_experiments_have_no_faults():
    found = debian("all")
    drawn = {name for name in experiment.names() if experiment.load(name).draws}
    assert {text.partition(",")[0] for text in found} == drawn and len(drawn) >= 12
    assert {text: faults for text, faults in found.items() if faults} == {}


def test_faults_are_found():
    cut, *bars = sorted(debian("bad"), key=lambda text: "edge" not in text)
    assert cut.startswith("the edge of the picture cuts 'a label as long")
    assert bars == ["the axis of the bars 'lifted' begins at -1, not at 0",
                    "the axis of the bars 'short' ends before the longest bar"]


def header_of(name, hosts, tmp_path):
    module = experiment.load(name)
    return Lab(module, experiment.settings_of(module, {}), tmp_path).machines(hosts, module.policies)


def test_the_header_names_the_machines(tmp_path):
    """It once said SMP=8 where the simulator had 176 CPUs, and ICOUNT=1 where there was no kernel."""
    assert header_of("x5-swqueue", [SIMULATOR], tmp_path) == "simulator 32,36,72,176 CPUs"
    assert header_of("x5-swqueue", [KERNEL, SIMULATOR], tmp_path) == \
        "kernel SMP=8 ICOUNT=1, simulator 32,36,72,176 CPUs"
    assert header_of("x6-knobs", [SIMULATOR], tmp_path) == "simulator 36 CPUs"
    assert header_of("x11-perf-sched-latency", [KERNEL], tmp_path) == "kernel SMP=12 ICOUNT=1"
    assert header_of("x11-perf-sched-latency", [SIMULATOR], tmp_path) == "simulator 12 CPUs"


if __name__ == "__main__":
    print(json.dumps(draw_all() if os.environ["WHAT"] == "all" else draw_badly()))
else:
    import pytest

    from tests.e2e.conftest import ROOT
    from tests.e2e.test_experiments import PYTHON

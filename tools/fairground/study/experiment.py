# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments, repeated in the kernel and in the simulator: `make experiment ARGS=NAME`.

An experiment is a file, experiments/NAME.toml (experiment_file.py); runs.py runs its cases and claims.py judges them.
"""

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .. import result
from ..base import samples
from ..base.packages import brings
from ..base.settings import SCHEDULERS, Settings, UsageError, make_settings
from ..base.stats import parse_seeds
from ..judge.calibrate import calibrate
from ..machine.image import TraceError
from ..machine.machine import commit
from ..machine.simulator import SCX
from ..trace.record import RecordError
from ..words import Command
from .claims import HOSTS, KERNEL, SIMULATOR, TRACED, Results, Row, judge_seeds, summary, table
from .experiment_file import Experiment, load, names
from .runs import Lab, claims_of

COMMAND = Command("experiment", machine=True, built="image sim", examples=(
    ("", "the list"),
    ("x3-burst --hosts simulator --seeds 1..5", "one, five runs of it"),
))


def save_samples(experiment: Experiment, found: Sequence[samples.Series], header: str, path: str) -> str:
    """Save the picture of means, intervals and samples. Returns one line for the user."""
    if not found:
        return "no picture of samples: no metric is a number"
    try:
        figure = draw_picture(experiment, lambda figure: samples.draw(figure, found), header)
    except ImportError:
        return f"no picture: matplotlib is missing ({brings('matplotlib')} brings it)"
    figure.savefig(path, bbox_inches="tight")
    return f"picture of the samples: {path}"


def draw_picture(experiment: Experiment, draw: Callable[[Any], object], header: str) -> Any:
    """A picture of the experiment, a matplotlib Figure under its title and @header, which @draw draws. ImportError
    without matplotlib."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    width, height = experiment.picture
    matplotlib.rcParams["text.parse_math"] = True  # the ticks of a logarithmic axis are formulas
    figure = Figure(figsize=(width, height), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    draw(figure)
    title = [part for line in (experiment.title, *header.split("\n")) for part in textwrap.wrap(line, int(14 * width))]
    figure.suptitle("\n".join(title), fontsize=9)
    show_bars_from_zero(figure)
    return figure


def save_picture(experiment: Experiment, results: dict[str, Results], header: str, path: str) -> str:
    """Save the experiment's picture. Returns one line for the user, also when matplotlib is missing."""
    if not experiment.draws:
        return "no picture: the experiment draws none"
    try:
        figure = draw_picture(experiment, lambda figure: experiment.draw(figure, results), header)
    except ImportError:
        return f"no picture: matplotlib is missing ({brings('matplotlib')} brings it)"
    figure.savefig(path, bbox_inches="tight")  # as large as its labels need
    return f"picture: {path}"


def show_bars_from_zero(figure: Any) -> None:
    """A bar's length is its value: widen linear axes with bars until 0 is on them."""
    for axes in figure.axes:
        if axes.get_yscale() == "linear" and any(hasattr(bars, "patches") for bars in axes.containers):
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, 0), max(high, 0))


def settings_of(experiment: Experiment, given: dict[str, str]) -> Settings:
    """The machine's settings: the experiment's own, and for all others the user's, @given as name -> text."""
    fixed = {**experiment.machine, "icount": "1", "kvm": "0"}
    for name, text in given.items():
        if text and name in fixed and text != fixed[name]:
            raise UsageError(f"{name.upper()}={text}: the experiment requires {name.upper()}={fixed[name]}")
    timeout = given.get("timeout") or experiment.timeout
    return make_settings({**given, **fixed, "timeout": timeout, "sched": "", "cmd": ""})


def wanted_schedulers(experiment: Experiment, text: str | None) -> Sequence[str]:
    """The experiment's schedulers, or those of them that the user names."""
    wanted = text.split(",") if text else experiment.policies
    for sched in wanted:
        if sched not in experiment.policies:
            raise UsageError(f"{sched}: the experiment compares {', '.join(experiment.policies)}")
        if sched not in SCHEDULERS and not sched.startswith(SCX):
            raise UsageError(f"the experiment needs the scheduler {sched}, which this kernel does not have")
    return wanted


def listing() -> str:
    lines = [f"  {name:<26} {load(name).title}" for name in names()]
    return "\n".join(["make experiment ARGS=NAME with one of", *lines])


ONE_RUN = "; of one run each: --seeds 1..20 says more (docs/measuring.md)"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="which experiment; without a name they are listed")
    parser.add_argument("--scheds", help="some of the experiment's schedulers; default: all")
    parser.add_argument("--seconds", type=int, help="how long the workload runs; default: as the experiment says")
    parser.add_argument("--seeds", help="a run of each that varies as nature does, as 1..20 or 1,5,9; default: the "
                        "experiment's, or one run in which nothing varies")
    parser.add_argument("--out", help="directory for its results; default: BUILD/experiments/NAME")
    parser.add_argument("--hosts", help="default: kernel,simulator, where the experiment has both")


def parse_hosts(experiment: Experiment, text: str | None) -> Sequence[str]:
    possible = experiment.hosts
    hosts = text.split(",") if text else possible
    for host in hosts:
        if host not in HOSTS:
            raise UsageError(f"--hosts {text}: kernel, simulator or kernel,simulator is expected")
        if host not in possible:
            raise UsageError(f"--hosts {text}: this experiment is only possible in the {' and the '.join(possible)}")
    return hosts


@dataclass
class Plan:
    """What the user wants of an experiment."""

    experiment: Experiment
    settings: Settings
    scheds: Sequence[str]
    hosts: Sequence[str]
    seconds: int | None = None  # None: as the experiment says
    seeds: Sequence[int] = ()   # none: one run, in which nothing varies
    seeds_text: str = ""

    @property
    def whole(self) -> bool:
        """Is it all of the experiment?"""
        return (set(self.scheds) == set(self.experiment.policies) and set(self.hosts) == set(self.experiment.hosts)
                and self.seconds in (None, self.experiment.seconds))

    @property
    def judged(self) -> bool:
        """Is it as long as the claims are about?"""
        return self.seconds is None or self.seconds >= self.experiment.seconds

    @property
    def nr_runs(self) -> int:
        """How many runs it is."""
        of = self.experiment
        each = [1 + (host == KERNEL and case in of.twice) for host in self.hosts for sched in self.scheds
                for case in of.cases if of.runs(host, sched, case)]
        return sum(each) * max(len(self.seeds), 1)

    def head(self) -> result.Head:
        """What its object of JSON begins with."""
        return result.of_settings(self.settings, sched=",".join(self.scheds), seed=self.seeds_text or (
            ",".join(map(str, self.seeds)) or self.settings.seed))

    def again(self) -> str:
        """The command that repeats it. It has options only where they differ from the experiment's own."""
        parts = {"scheds": (self.scheds, self.experiment.policies), "hosts": (self.hosts, self.experiment.hosts)}
        words = [f"--{option} {','.join(chosen)}" for option, (chosen, all_of_them) in parts.items()
                 if tuple(chosen) != tuple(all_of_them)]
        words += [f"--seconds {self.seconds}"] if self.seconds else []
        words += [f"--seeds {self.seeds_text}"] if self.seeds_text else []
        return self.settings.repeat("experiment", args=" ".join([self.experiment.name, *words]))


def plan(experiment: Experiment, settings: Settings, scheds: str | None, hosts: Sequence[str], seconds: int | None,
         seeds: str | None) -> Plan:
    """The plan for the user's texts; the experiment's own seeds count if the user names none."""
    if seconds is not None and seconds < 1:
        raise UsageError(f"--seconds {seconds}: at least 1 is expected")
    own = replace(settings_of(experiment, settings.given), build=settings.build, given=settings.given)
    return Plan(experiment, own, wanted_schedulers(experiment, scheds), hosts, seconds,
                parse_seeds(seeds) if seeds else experiment.seeds, seeds or "")


def ended(say: Callable[[str], object], step: Callable[[], object], before: str, text: str) -> None:
    """One run has ended."""
    say(f"{before}{text}: done")
    step()


def run_seeds(of: Plan, work: str, say: Callable[[str], object],
              step: Callable[[], object]) -> dict[int, dict[str, Results]]:
    """Results by seed: of one run each."""
    costs: dict[str, int] = calibrate(of.settings, TRACED) if SIMULATOR in of.hosts else {}
    found: dict[int, dict[str, Results]] = {}
    for seed in of.seeds or [of.settings.seed]:
        directory = os.path.join(work, f"seed-{seed}") if of.seeds else work
        lab = Lab(of.experiment, replace(of.settings, seed=seed), directory, of.seconds, bool(of.seeds))
        lab.costs = costs
        if not found:
            for line in lab.commands(of.hosts, of.scheds):
                say(line)
        before = f"  seed {seed}: " if of.seeds else "  "
        found[seed] = lab.results(of.hosts, of.scheds, partial(ended, say, step, before))
    return found


def keep(work: str, directory: str) -> None:
    """Move what a finished run left to where it belongs; what was there before goes."""
    os.makedirs(directory, exist_ok=True)
    for file in os.listdir(work):
        target = os.path.join(directory, file)
        if os.path.isdir(target):
            shutil.rmtree(target)
        os.replace(os.path.join(work, file), target)
    os.rmdir(work)


def perform(of: Plan, directory: str, say: Callable[[str], object] = print,
            step: Callable[[], object] = lambda: None) -> tuple[list[Row], list[samples.Compared]]:
    """Run the experiment and judge it; @step is called after each run. Returns the rows of its table, and of many seeds
    the policies compared."""
    experiment = of.experiment
    work = directory.rstrip("/") + ".running"  # what is there already stays until this run is finished
    shutil.rmtree(work, ignore_errors=True)
    lab = Lab(experiment, of.settings, work, of.seconds)
    seeds = f"SEEDS={of.seeds_text or experiment.data['seeds']}" if of.seeds else f"SEED={of.settings.seed}"
    header = (f"Fairground {commit()}: SCHED={','.join(of.scheds)} HZ={of.settings.hz} {seeds}, "
              f"{lab.machines(of.hosts, of.scheds)}, {lab.seconds} s")
    say(f"{experiment.name}: {experiment.title}\nPublished: {experiment.source}\n{header}\nAgain: {of.again()}")
    by_seed = run_seeds(of, work, say, step)
    results = next(iter(by_seed.values()))
    rows = [judge_seeds(claim, by_seed) if of.seeds else claim.judge(results) for claim in claims_of(experiment)
            if set(claim.needs) <= set(of.scheds) and set(claim.hosts) & set(of.hosts)]
    say("\n" + table(rows))
    kept = {"experiment": experiment.name, "header": header, "again": of.again(), "metrics": experiment.metrics(),
            "claims": rows, "figures": by_seed if of.seeds else results}
    pictures = [save_picture(experiment, results, header, os.path.join(work, f"{experiment.name}.png"))]
    compared: list[samples.Compared] = []
    if of.seeds:
        found = list(samples.series(by_seed, experiment.metrics()))
        compared = samples.compare(found)
        kept["comparisons"] = [one.as_json() for one in compared]
        say("\n" + samples.table(found, compared))
        pictures.append(save_samples(experiment, found, header, os.path.join(work, f"{experiment.name}-seeds.png")))
    with open(os.path.join(work, "results.json"), "w", encoding="utf-8") as f:
        json.dump(kept, f, indent=1)
    keep(work, directory)
    for picture in pictures:
        say(picture.replace(work, directory))
    say(f"figures, workloads and traces: {directory}/")
    return rows, compared


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run a published experiment in the kernel and in the simulator and compare; without a name: list them"""
    if not arguments.name:
        result.tell([listing()], dict.fromkeys(result.HEAD),
                    ({"name": name, "title": load(name).title} for name in names()))
        return 0
    experiment = load(arguments.name)
    of = plan(experiment, settings, arguments.scheds or settings.given.get("sched"),
              parse_hosts(experiment, arguments.hosts), arguments.seconds, arguments.seeds)
    directory = arguments.out or os.path.join(settings.build, "experiments",
                                              arguments.name + ("" if of.whole else "-part"))
    try:
        rows, _ = perform(of, directory, lambda text: print(text, flush=True))
    except (RecordError, TraceError) as error:
        print(f"fairground: {arguments.name}: {error}", file=sys.stderr)
        return 1
    claimed = [row for row in rows if row["judged"]]
    failed = [row for row in claimed if not row["pass"]]
    if of.judged:
        said = summary(rows) + ("" if of.seeds else ONE_RUN)
    else:
        said = f"shown, not judged: the claims are about runs of {experiment.seconds} s, not of {arguments.seconds}"
    result.tell([said], of.head(), rows, judged=of.judged, out=directory)
    return int(of.judged and (bool(failed) or not claimed))

# SPDX-License-Identifier: GPL-2.0-only
"""`make experiments`: every experiment, one table of all claims, and one page with the pictures."""

import argparse
import base64
import contextlib
import html
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import result
from ..base import samples, webpage
from ..base.progress import Progress
from ..base.settings import Settings, UsageError
from ..machine.image import TraceError
from ..machine.machine import commit
from ..machine.qemu import QemuError
from ..trace.record import RecordError
from ..words import Command
from . import claims, experiment
from .claims import HOSTS, Row
from .experiment_file import Experiment, load, names

COMMAND = Command("experiments", machine=True, built="image sim", examples=(
    ("--hosts simulator --out results", "all that the simulator can run"),
))


@dataclass
class Done:
    """One experiment of the table: its rows, or why there are none; the directory of its results."""

    experiment: Experiment
    rows: list[Row] = field(default_factory=list)
    compared: list[samples.Compared] = field(default_factory=list)  # of many seeds: policies
    problem: str = ""
    directory: str = ""
    judged: bool = True  # False: a shorter run than the claims are about

    @property
    def failed(self) -> bool:
        return bool(self.problem) or self.judged and any(row["judged"] and not row["pass"] for row in self.rows)

    def summary(self) -> str:
        if self.problem:
            return self.problem
        return claims.summary(self.rows) + ("" if self.judged else ", a shorter run: not judged")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", help="which experiments; default: all that the hosts can run")
    parser.add_argument("--hosts", help="default: kernel,simulator")
    parser.add_argument("--seconds", type=int, help="how long each workload runs; default: as the experiment says")
    parser.add_argument("--seeds", help="runs that vary, as 1..20; default: the experiment's, or one that does not")
    parser.add_argument("--out", help="directory for results and report; default: BUILD/experiments")


def chosen(words: Sequence[str], hosts: Sequence[str]) -> list[Experiment]:
    """The experiments of @words, or all, that one of @hosts can run."""
    return [found for found in map(load, words or names()) if set(hosts) & set(found.hosts)]


def plan_of(of: Experiment, settings: Settings, hosts: Sequence[str], arguments: argparse.Namespace) -> experiment.Plan:
    mine = [host for host in hosts if host in of.hosts]
    return experiment.plan(of, settings, None, mine, arguments.seconds, arguments.seeds)


def nr_runs(wanted: Sequence[Experiment], *how: Any) -> int:
    """Of all that can be planned."""
    number = 0
    for of in wanted:
        with contextlib.suppress(UsageError):
            number += plan_of(of, *how).nr_runs
    return number


def run_one(of: Experiment, settings: Settings, hosts: Sequence[str], arguments: argparse.Namespace,
            directory: str, step: Callable[[], object]) -> Done:
    done = Done(of, directory=directory)
    try:
        plan = plan_of(of, settings, hosts, arguments)
        done.judged = plan.judged
        done.rows, done.compared = experiment.perform(plan, directory, lambda _: None, step)
    except (RecordError, TraceError, QemuError, UsageError) as error:
        done.problem = f"not run: {error}"
    return done


def text_table(found: Sequence[Done]) -> str:
    lines: list[str] = []
    for done in found:
        lines += ["", f"{done.experiment.name}: {done.summary()}"]
        lines += claims.table(done.rows).split("\n") if done.rows else []
        lines += ["", *samples.comparisons(done.compared).split("\n")] if done.compared else []
    return "\n".join(lines[1:])


def pictures(done: Done) -> str:
    found = ""
    for suffix in ("", "-seeds") if done.rows else ():
        path = os.path.join(done.directory, f"{done.experiment.name}{suffix}.png")
        if os.path.exists(path):
            with open(path, "rb") as f:
                data = base64.b64encode(f.read()).decode()
            found += f'<figure class="wide"><img alt="{html.escape(done.experiment.title)}" ' \
                     f'src="data:image/png;base64,{data}"></figure>'
    return found


def compared_table(compared: Sequence[samples.Compared]) -> str:
    """Medians with intervals, differences of pairs, and what the test says (docs/measuring.md)."""
    return webpage.table(("metric", "host", "policies", "first", "second", "difference", "change", "p", "second is"), [
        (samples.label(one.a), one.a.host, f"{one.a.policy}, {one.b.policy}", one.difference.a.text(),
         one.difference.b.text(), one.difference.text(), samples.changed(one.difference), f"{one.p:.3f}", one.said)
        for one in compared])


def page(found: Sequence[Done], header: str) -> str:
    """The report: a summary, and for each experiment its table and its picture. Nothing comes from elsewhere."""
    summary = webpage.table(("experiment", "what", "verdict"),
                            [(done.experiment.name, done.experiment.title, done.summary()) for done in found])
    parts = [f"<p>{html.escape(header)}</p>", summary]
    for done in found:
        of = done.experiment
        rows = [(row["claim"], row["published"], *(row["shown"].get(host, "-") for host in HOSTS), row["bound"],
                 claims.verdict(row)) for row in done.rows]
        parts += [f'<h2 id="{of.name}">{of.name}</h2><p>{html.escape(of.title)}. Published: '
                  f"{html.escape(of.source)}.</p><p>{html.escape(done.summary())}</p>"]
        parts += [webpage.table(("quantity", "published", *HOSTS, "bound", "verdict"), rows), pictures(done)]
        if done.compared:
            parts += ["<h3>Policies compared, by runs of many seeds</h3>", compared_table(done.compared)]
    return webpage.document("Experiments", parts)


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run every experiment, print one table of all claims, and write one page with the pictures"""
    hosts = arguments.hosts.split(",") if arguments.hosts else list(HOSTS)
    if not set(hosts) <= set(HOSTS):
        raise UsageError(f"--hosts {arguments.hosts}: kernel, simulator or kernel,simulator is expected")
    wanted = chosen(arguments.names, hosts)
    if not wanted:
        raise UsageError(f"none of these experiments runs in the {' and the '.join(hosts)}")
    root = arguments.out or os.path.join(settings.build, "experiments")
    os.makedirs(root, exist_ok=True)
    header = f"Fairground {commit()}: {', '.join(hosts)}"
    found: list[Done] = []
    try:
        with Progress("runs", nr_runs(wanted, settings, hosts, arguments)) as progress:
            for nr, of in enumerate(wanted, 1):
                found.append(run_one(of, settings, hosts, arguments, os.path.join(root, of.name), progress.step))
                Progress.note(f"[{nr}/{len(wanted)}] {of.name}: {found[-1].summary()}")
    except (KeyboardInterrupt, SystemExit):
        header += f"; interrupted after {len(found)} of {len(wanted)}"
        raise
    finally:
        path = os.path.join(root, "report.html")
        with open(path, "w", encoding="utf-8") as f:
            f.write(page(found, header))
        head = result.of_settings(settings, sched=None, seed=arguments.seeds or settings.seed, topology=None)
        result.tell([header, text_table(found), "", f"report: {path}"], head, (
            {"experiment": done.experiment.name, **row} for done in found for row in done.rows),
            comparisons={done.experiment.name: [one.as_json() for one in done.compared] for done in found},
            problems={done.experiment.name: done.problem for done in found if done.problem}, out=path)
    return int(any(done.failed for done in found))

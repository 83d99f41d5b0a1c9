# SPDX-License-Identifier: GPL-2.0-only
"""fairground report OUT.html RUN...: everything about some runs in one file, to send and to keep (docs/pictures.md).

A RUN is a trace.dat, of Fairground, the simulator or Linux, or a file of decisions. The page holds what runs they are,
verdicts, tables, pictures, how often each rule decided, and a viewer to step through all of it (viewer.py). It needs
no network, and only the viewer has a script. Folders with a trace of each seed are compared in pairs, as by
`fairground compare`.
"""

import argparse
import base64
import contextlib
import html
import io
import itertools
import os
import pathlib
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .. import result
from ..base import samples, stats, whole
from ..base.errors import reading
from ..base.progress import Progress
from ..base.settings import Settings, UsageError
from ..base.webpage import document, table
from ..decisions import decision_kinds, why
from ..decisions.decision_file import DecisionFile, NoDecisions, open_file
from ..machine.image import TraceError
from ..study import recorded
from ..study.compare import METRICS, too_few
from ..study.side import Side, parts_of
from ..trace.timeline import events_of, missing_events
from ..trace.tracefile import MAGICS, MAGIC_SIZE, TraceFile
from ..words import Command
from . import graph, style, viewer

COMMAND = Command("report", built="try-viewer", examples=(
    ("runs.html cfs.dat eevdf.dat quota.json", "one page about three runs"),
))

MOST_SVG = 600_000                   # bytes; of a larger picture the PNG is taken
MOST_FILE = 5_000_000
WAITS = 3                            # that are explained
GOOD, BAD, NOTE = "ok", "no", "note"


def name_of(path: str) -> str:
    """The name of the file or folder @path in the page."""
    return os.path.basename(os.path.normpath(path))


@dataclass
class Run:
    """One of the files, and what was found out about it."""

    path: str
    is_trace: bool
    decisions: DecisionFile | None
    facts: list[tuple[str, str]] = field(default_factory=list)
    verdicts: list[tuple[str, str]] = field(default_factory=list)  # (GOOD, BAD or NOTE, sentence)

    @property
    def name(self) -> str:
        return name_of(self.path)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", metavar="OUT.html", help="the page")
    parser.add_argument("files", nargs="+", metavar="RUN", help="trace.dat, perf.data, a file of decisions; two or "
                        "more folders with a trace of each seed are compared")
    parser.add_argument("--title", help="of the page")
    parser.add_argument("--range", metavar="A-B", help="pictures of this part only, in seconds after the begin")
    parser.add_argument("--no-viewer", action="store_true", help="without the viewer, and the files that it shows")


def open_run(path: str) -> Run:
    """The file @path. TraceError if it is neither a trace nor decisions."""
    with reading(path, TraceError):
        with open(path, "rb") as f:
            is_trace = f.read(MAGIC_SIZE).startswith(MAGICS)
        try:
            decisions = open_file(path)
        except NoDecisions:
            decisions = None
        if is_trace:
            trace = decisions.trace if decisions and decisions.trace else TraceFile(path)
            if not missing_events(trace):
                events_of(trace)
        return Run(path, is_trace, decisions)


@dataclass
class Picture:
    """A picture as a data address, and the text that `fairground graph` prints beside it."""

    kind: str
    address: str
    text: str
    sources: list[Any]


def draw(kind: str, paths: Sequence[str], arguments: argparse.Namespace) -> Picture:
    """The picture of @kind. TraceError or UsageError if there is nothing to draw."""
    parser = argparse.ArgumentParser()
    graph.options(parser)
    wanted = parser.parse_args([kind, "--no-header", *(["--range", arguments.range] if arguments.range else []), "--",
                                *paths])
    graph.take_range(wanted)
    module = graph.load(kind)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # lost events are among the verdicts
            sources = [module.open_source(path, wanted) for path in paths]
        figure = module.draw(sources, wanted, [])
        data, form = style.encode(figure, "svg"), "svg+xml"
        if len(data) > MOST_SVG:
            data, form = style.encode(figure, "png"), "png"
    except ImportError as error:
        raise graph.missing(error) from error
    text = "\n".join(module.report(source, wanted) for source in sources)
    return Picture(kind, f"data:image/{form};base64,{base64.b64encode(data).decode()}", text, sources)


def judge_trace(run: Run, drawn: dict[str, Picture]) -> None:
    """The verdicts about a trace, from the sources of its pictures."""
    from .kinds import running_waiting, share

    source = drawn["running_waiting"].sources[0]
    lost, cpus = source.timeline.lost, source.timeline.cpus
    run.verdicts.append((BAD, f"{lost} events are lost: all numbers are about the rest") if lost else
                        (GOOD, "No event is lost."))
    found = running_waiting.counts(source)
    wasted = found.integral(found.wasted(cpus))
    waiting = found.integral(found.waiting)
    run.verdicts.append((GOOD, "Work is conserved: nobody waits while a CPU idles.") if not wasted else
                        (NOTE, f"Tasks wait for {wasted / 1e6:.3f} task ms while a CPU idles, of {waiting / 1e6:.3f} "
                         "in all. If no affinity forbids the idle CPUs, work is not conserved then."))
    if "share" in drawn:
        shares = share.shares(source, argparse.Namespace(window=None))
        errors = {pid: 100 * float(got.mean() - shares.ideal[pid].mean()) for pid, got in shares.got.items()}
        pid = max(errors, key=lambda of: abs(errors[of]))
        run.verdicts.append((NOTE, f"The share that differs most from the ideal machine's is that of "
                             f"{source.timeline.label(pid)}: {errors[pid]:+.2f} % of a CPU."))


def judge_decisions(run: Run, counts: Counter[tuple[str, str]], late: int | None) -> None:
    if run.decisions and run.decisions.lost:
        run.verdicts.append((BAD, f"{run.decisions.lost} events are lost: decisions are about the rest."))
    if late is not None:
        run.verdicts.append((GOOD, "Every entity that was picked was eligible.") if not late else
                            (BAD, f"{late} picks were of entities that were not eligible."))
    run.verdicts.append((NOTE, f"{counts.total()} decisions are recorded."))


def facts_of(run: Run, source: Any) -> list[tuple[str, str]]:
    """What run it is, as far as the file says so."""
    said = dict(run.decisions.provenance.header) if run.decisions else {}
    rows = [(name, str(said[key])) for key, name in (
        ("sched", "scheduler"), ("commit", "commit"), ("topology", "machine"), ("hz", "HZ"), ("seed", "seed"),
        ("command", "command")) if said.get(key)]
    if source is not None:
        lines = source.timeline.about.split("\n")
        rows.append(("the trace says", lines[0]))
        if seed := re.search(r"\bseed[ =](\d+)", lines[0], re.IGNORECASE):
            rows.append(("seed", seed[1]))
        rows += [tuple(line.split(": ", 1)) for line in lines[1:]  # type: ignore[misc]
                 if ": " in line and not said.get("command")]
        rows.append(("length", f"{(source.timeline.end - source.timeline.begin) / 1e6:.3f} ms"))
    if run.decisions:
        rows.append(("CPUs", str(run.decisions.provenance.cpus)))
    return [("file", f"{run.name}, {os.path.getsize(run.path)} bytes"), *rows]


def rule_counts(run: Run) -> Counter[tuple[str, str]]:
    """(kind, rule) -> how often it decided."""
    counts: Counter[tuple[str, str]] = Counter()
    if run.decisions:
        with reading(run.path, TraceError):
            counts.update((d.kind, d.rule) for d in run.decisions.records(decision_kinds.SHAPES))
    return counts


# --- HTML ---------------------------------------------------------------------------------------------------------


def figure_of(picture: Picture, of: str) -> str:
    what = html.escape(graph.kinds()[picture.kind].what)
    return (f'<figure id="{html.escape(picture.kind)}-{html.escape(of)}"><h3>{html.escape(picture.kind)}</h3>'
            f'<div class="wide"><img alt="{what}, of {html.escape(of)}" src="{picture.address}"></div>'
            f"<figcaption>{what}.</figcaption><details><summary>numbers</summary>"
            f'<div class="wide"><pre>{html.escape(picture.text)}</pre></div></details></figure>')


def pictures(of: str, paths: Sequence[str], arguments: argparse.Namespace, left_out: list[str]) -> dict[str, Picture]:
    """Those @of "trace", "traces" or "decisions" that there is something for. The others are told in @left_out."""
    found = {}
    kinds = [name for name, kind in graph.kinds().items() if kind.reported == of]
    with Progress("pictures", len(kinds)) as progress:
        for kind in kinds:
            try:
                found[kind] = draw(kind, paths, arguments)
            except graph.MissingPackage:
                raise
            except (TraceError, UsageError) as error:
                if arguments.range and isinstance(error, UsageError):
                    raise
                left_out.append(f"{kind}: {str(error).removeprefix(paths[0] + ': ')}")
            progress.step()
    return found


def longest_waits(run: Run) -> Iterator[str]:
    """The longest waits of the task that waits longest, and why."""
    if run.is_trace:
        try:
            found = why.find(run.path, None, WAITS)
        except TraceError:  # it holds no switches: this is told above
            return
        lines = [line for part in why.text(found) for line in part.split("\n")]
        yield f'<h3>Why late?</h3><div class="wide"><pre>{html.escape(chr(10).join(lines))}</pre></div>'


def section(run: Run, arguments: argparse.Namespace) -> Iterator[str]:
    """Everything about one run."""
    left_out: list[str] = []
    drawn = pictures("trace", [run.path], arguments, left_out) if run.is_trace else {}
    if run.is_trace and "running_waiting" not in drawn and not run.decisions:
        raise TraceError(f"{run.path}: {left_out[0].split(': ', 1)[1]}")
    if "running_waiting" in drawn:
        judge_trace(run, drawn)
    counts = rule_counts(run)
    if run.decisions:
        drawn |= pictures("decisions", [run.path], arguments, left_out)
        late = None
        if "lag" in drawn and drawn["lag"].sources[0].policies == ("eevdf",):
            rows = [line.split() for line in drawn["lag"].text.splitlines()[2:]]
            late = sum(int(row[-1]) for row in rows)
        judge_decisions(run, counts, late)
    source = drawn["running_waiting"].sources[0] if "running_waiting" in drawn else None
    yield f'<h2 id="{html.escape(run.name)}">{html.escape(run.name)}</h2>'
    run.facts = facts_of(run, source)
    yield table((), run.facts)
    yield "<h3>Verdicts</h3><ul>"
    for verdict, sentence in run.verdicts:
        yield f'<li><span class="verdict {verdict}">{verdict}</span> {html.escape(sentence)}</li>'
    yield "</ul>"
    yield from longest_waits(run)
    yield from (figure_of(picture, run.name) for picture in drawn.values())
    if counts:
        told = [(kind, rule, number, f"{100 * number / counts.total():.1f} %")
                for (kind, rule), number in sorted(counts.items(), key=lambda row: (row[0][0], -row[1]))]
        yield "<h3>How often each rule decided</h3>" + table(("kind", "rule", "decisions", "share"), told)
    if left_out:
        yield "<details><summary>not drawn</summary><ul>" + "".join(
            f"<li>{html.escape(sentence)}</li>" for sentence in left_out) + "</ul></details>"


@dataclass
class Paired:
    """Folders with a trace of each seed, compared in pairs. The first is the one that the others are compared with."""

    about: recorded.About
    nr: int
    rows: list[samples.Compared]


def paired(folders: Sequence[str]) -> Paired:
    """The comparison of @folders. UsageError if it is none, or the runs are no pairs."""
    if len(folders) == 1:
        raise UsageError(f"{folders[0]}: one folder; two or more are expected, which are compared")
    stats.check_pairs(0)
    by_seed, about = recorded.collect([Side(name_of(folder), parts_of(folder)) for folder in folders], ())
    return Paired(about, len(by_seed), samples.compare(list(samples.series(by_seed, METRICS))))


def differences(of: Paired) -> Iterator[str]:
    """The section about folders: a table for each that is compared with the first."""
    yield '<h2 id="pairs">In pairs</h2>'
    yield "".join(f"<p>{html.escape(sentence)}</p>" for sentence in (*of.about.lines, *of.about.notes,
                                                                      *too_few(of.rows, of.nr)))
    for (a, b), rows in itertools.groupby(of.rows, lambda one: (one.a.policy, one.b.policy)):
        yield table(("metric", a, b, "difference of pairs", "change", "p", f"{b} is"), [
            (one.a.metric, one.difference.a.text(), one.difference.b.text(), one.difference.text(),
             samples.changed(one.difference), f"{one.p:.3f}", one.said) for one in rows])
    yield ("<p>Medians and differences of pairs of runs with the same seed, with intervals of 95 %; p of a test of "
           "signed ranks, corrected for the number of all tests.</p>")


def steps(runs: Sequence[Run], build: str, arguments: argparse.Namespace) -> list[str]:
    """The part of the page with the viewer."""
    if arguments.no_viewer:
        return []
    empty, shown = viewer.template(build), list[viewer.Data]()
    left_out: list[str] = []
    for run in runs if empty else ():
        try:
            data = viewer.load(run.path, run.is_trace)
        except OSError as error:
            raise TraceError(f"{run.path}: {error.strerror or error}") from error
        if len(data.packed) <= viewer.MOST:
            shown.append(data)
        else:
            left_out.append(f"{run.name} has {len(data.packed)} bytes even when compressed; {viewer.MOST} are shown")
    if not empty:
        left_out.append("the viewer was not built (make page)")
    limits = argparse.Namespace(range=arguments.range, min=None, max=None)
    graph.take_range(limits)
    span = (limits.min, limits.max) if arguments.range else None
    return ['<h2 id="viewer">Step through it</h2>', *([viewer.frame(empty, shown, span)] if shown else []),
            *(f"<p>Not here: {html.escape(sentence)}.</p>" for sentence in left_out)]


def page(runs: Sequence[Run], pairs: Paired | None, build: str, arguments: argparse.Namespace) -> str:
    title = arguments.title or "Runs: " + ", ".join(map(name_of, arguments.files))
    body: list[str] = []
    with Progress("runs", len(runs)) as progress:
        for run in runs:
            body += section(run, arguments)
            progress.step()
    traces = [run.path for run in runs if run.is_trace]
    together = pictures("traces", traces, arguments, []) if len(traces) > 1 else {}
    if together:
        body = ['<h2 id="together">Side by side</h2>', *(figure_of(of, "all runs") for of in together.values()), *body]
    if pairs:
        body = [*differences(pairs), *body]
    look = steps(runs, build, arguments) if runs else []
    links = '<a href="#viewer">viewer</a>' * bool(look) + '<a href="#pairs">in pairs</a>' * bool(pairs) + "".join(
        f'<a href="#{html.escape(run.name)}">{html.escape(run.name)}</a>' for run in runs)
    command = shlex.join(["fairground", "report", name_of(arguments.output), *map(name_of, arguments.files),
                          *(["--range", arguments.range] if arguments.range else []),
                          *(["--no-viewer"] if arguments.no_viewer else [])])
    made_by = f"<p>Made by <code>{html.escape(command)}</code>. Times are those of the scheduler's clock.</p>"
    return document(title, [made_by, f"<nav>{links}</nav>", *look, *body])


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """write one self-contained page about runs: provenance, verdicts, tables, pictures, and a viewer"""
    out = arguments.output
    if pathlib.Path(out).suffix != ".html":
        raise UsageError(f"{out}: a name that ends in .html is expected before the runs")
    if len(set(map(name_of, arguments.files))) < len(arguments.files):
        raise UsageError("two of the files have one name: the page could not tell them apart")
    folders = [path for path in arguments.files if os.path.isdir(path)]
    files = [path for path in arguments.files if path not in folders]
    pairs = paired(folders) if folders else None
    runs = [open_run(path) for path in files]
    data = page(runs, pairs, settings.build, arguments).encode()
    try:
        whole.write(out, data)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror or error}") from error
    said = f"{out}: runs: {len(files)}, {f'pairs: {pairs.nr}, ' if pairs else ''}{len(data)} bytes" \
        + (", which is much to send: choose with --range" if len(data) > MOST_FILE else "")
    result.tell([said], partial(head_of, pairs, files), (
        {"file": run.path, "facts": dict(run.facts), "verdicts": [
            {"verdict": verdict, "says": sentence} for verdict, sentence in run.verdicts]} for run in runs),
        out=out, bytes=len(data), differences=[one.as_json() for one in pairs.rows] if pairs else [])
    return 0


def head_of(pairs: Paired | None, files: Sequence[str]) -> result.Head:
    """What all runs of the page are."""
    return result.together([*([pairs.about.head] if pairs else []), *([result.of_runs(files)] if files else [])])

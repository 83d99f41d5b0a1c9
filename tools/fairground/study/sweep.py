# SPDX-License-Identifier: GPL-2.0-only
"""`fairground sweep`: a grid of runs in simulator and kernel on many workers, by Dask; docs/sweeps.md.

A finished cell is never run again: its result is kept under the digest of all that it depends on, with a digest of
itself. So a sweep that was
interrupted, or lost a worker, goes on where it was. With --refine cells are added where a metric bends (refine.py).
"""

import argparse
import collections
import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from .. import result
from ..base.option_values import whole
from ..base.packages import load
from ..base.progress import Progress
from ..base.settings import Settings, UsageError
from ..base.whole import check_place, unfinished
from ..forms import table
from ..machine import simulator
from ..machine.image import commit_in
from ..machine.machine import Machine, commit
from ..machine.qemu import QemuError
from ..machine.scheduler_end import of_results
from ..words import Command
from . import sweep_kernel, sweep_statistics, sweep_worker
from .claims import KERNEL, SIMULATOR
from .compare import METRICS, figures
from .grid import Cell, Grid, Store, commit_of, digest_of
from .refine import Axis, axis_of, cells_at, choose

COMMAND = Command("sweep", machine=True, built="image sim", examples=(
    ("examples/sweep.toml --workers 2 --out turns.parquet", "180 cells"),
    ("grid.toml --refine wait_p99_ms --points 12 --axis base_slice_ns", "and more where the tail bends"),
))

TRIES = 2            # of a cell that fails
WINDOW = 3           # batches under way for each worker: enough to keep it busy, few enough to stop soon
BATCH_S = 0.3        # of a processor for a batch of cells: more than starting it costs, and no more is lost
LARGEST = 256        # cells in a batch
CONNECT_S = 10


@dataclass
class Host:
    """Where cells run: the files that workers need for that, by name, and the digest of all that results depend on."""

    files: dict[str, bytes]
    digest: str


@dataclass
class Sweep:
    """A sweep under way: its cells by address, those that are finished, and those that failed, with the reason."""

    hosts: dict[str, Host]
    store: Store
    machine: dict[str, str]                        # settings of the kernel's machine that are the same in all cells
    cells: dict[str, Cell] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)   # finished before
    done: set[str] = field(default_factory=set)    # finished now
    failed: dict[str, str] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)  # the round that added a cell
    known: dict[str, dict[str, float]] = field(default_factory=dict)  # the metrics of the cells that are finished
    spent_s: float = 0.0                                 # of processors, for the cells that were run now

    def key(self, cell: Cell) -> str:
        return cell.key(self.hosts[cell.host].digest)

    def look_up(self) -> None:
        """Find the cells that are finished, and read them: each once."""
        for key, cell in self.cells.items():
            if key not in self.known and (kept := self.store.get(key)):
                self.known[key] = metrics_of(cell, kept["data"])
                self.found.add(key)

    def keep(self, key: str, data: dict[str, Any]) -> None:
        """The cell at @key is finished: @data is what its run left."""
        self.store.put(key, {"cell": self.cells[key].said(), "data": data})
        self.known[key] = metrics_of(self.cells[key], data)
        self.done.add(key)

    def add(self, cells: Iterator[Cell], round_nr: int) -> None:
        """The refinement's round @round_nr adds @cells."""
        for cell in cells:
            key = self.key(cell)
            self.cells[key], self.added[key] = cell, round_nr
        self.look_up()

    @property
    def missing(self) -> list[str]:
        return [key for key in self.cells if key not in self.known]

    def summary(self) -> str:
        left = len(self.missing) - len(self.failed)
        return (f"{len(self.cells)} cells: {len(self.found)} were there, {len(self.done)} run, "
                f"{len(self.failed)} failed" + (f", {left} left" if left else "")
                + (f"; {len(self.added)} were added to the grid" if self.added else ""))

    def changed(self) -> list[str]:
        """A sentence about results that were changed in the store."""
        nr = len(set(self.store.changed) & set(self.cells))
        return [f"{nr} of the results in {self.store.directory} {'is' if nr == 1 else 'are'} not what was kept there: "
                f"run again, as if missing; the first is {self.store.changed[0]}"] if nr else []


def metrics_of(cell: Cell, data: dict[str, Any]) -> dict[str, float]:
    """The metrics of @cell, whose run left @data."""
    found = data if cell.host == KERNEL else figures(data["results"][0], data["duration_ns"] * data["cpus"])
    return {name: float(value) for name, value in found.items()}


@contextlib.contextmanager
def client_of(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A client of the Dask scheduler at the address, or of one with @workers processes here."""
    distributed = load("distributed", "a sweep")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if scheduler:
            try:
                client = distributed.Client(scheduler, timeout=CONNECT_S)
            except (OSError, ValueError) as error:
                raise QemuError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        else:
            cluster = stack.enter_context(distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None,
                silence_logs=logging.CRITICAL))
            client = distributed.Client(cluster)
        yield stack.enter_context(client)


class Workers(NamedTuple):
    """A client of Dask, the number of its workers, and the files that they have, by host. These are sent to them once:
    what is sent again while its first copy is being dropped may be lost, and cells are cancelled."""

    client: Any
    number: int
    files: dict[str, Any]

    def submit(self, cells: Sequence[Cell], machine: Mapping[str, str], **how: Any) -> Any:
        """Let a worker run @cells, which are of one host: in the kernel a single one."""
        cell = cells[0]
        if cell.host == KERNEL:
            return self.client.submit(sweep_kernel.run_machines, self.files[KERNEL], {**cell.machine(), **machine},
                                      cell.command(), retries=TRIES - 1, **how)
        return self.client.submit(sweep_worker.run_cells, self.files[SIMULATOR],
                                  [(each.words(), each.files) for each in cells], TRIES, **how)


Start = Callable[[], Workers]


@contextlib.contextmanager
def workers_of(arguments: argparse.Namespace, hosts: Mapping[str, Host]) -> Iterator[Start]:
    """A function that returns the Workers, which start when it is first called, and get the files of @hosts."""
    with contextlib.ExitStack() as stack:
        started: list[Workers] = []

        def start() -> Workers:
            if not started:
                client = stack.enter_context(client_of(arguments.scheduler, arguments.workers or os.cpu_count() or 1))
                number = tell_workers(client)
                started.append(Workers(client, number, {name: client.scatter([host.files], broadcast=True)[0]
                                                        for name, host in hosts.items()}))
            return started[0]

        yield start


def tell_workers(client: Any) -> int:
    """Tell how many workers there are, and which processes here; returns the number."""
    pids = sorted(client.run(os.getpid).values())
    print(f"{len(pids)} workers: {' '.join(map(str, pids))}", file=sys.stderr, flush=True)
    return max(1, len(pids))


class Batches:
    """The cells that are to be run, in batches that take a worker BATCH_S."""

    def __init__(self, sweep: Sweep, keys: Sequence[str]) -> None:
        self.sweep, self.left = sweep, collections.deque(keys)
        self.nr, self.spent_s = 0, 0.0  # of the cells that were run

    def ran(self, nr: int, spent_s: float) -> None:
        self.nr, self.spent_s = self.nr + nr, self.spent_s + spent_s

    def size(self) -> int:
        """How many cells there are in the next batch; one as long as it is not known what one takes."""
        if not self.nr or self.sweep.cells[self.left[0]].host == KERNEL:
            return 1
        return max(1, min(LARGEST, int(BATCH_S * self.nr / max(self.spent_s, 1e-6))))

    def next(self) -> list[str]:
        """The addresses of the next batch: cells of one host."""
        if not self.left:
            return []
        nr, host = self.size(), self.sweep.cells[self.left[0]].host
        found: list[str] = []
        while self.left and len(found) < nr and self.sweep.cells[self.left[0]].host == host:
            found.append(self.left.popleft())
        return found


def run_missing(sweep: Sweep, start: Start) -> None:
    """Run the cells that are missing, and have not failed before, and keep their results as they come. No worker is
    started if nothing is missing."""
    missing = [key for key in sweep.missing if key not in sweep.failed]
    if not missing:
        return
    workers = start()
    distributed, cloudpickle = load("distributed", "a sweep"), load("cloudpickle", "a sweep")
    cloudpickle.register_pickle_by_value(sweep_worker)  # so workers need not have this package
    batches = Batches(sweep, missing)
    under_way: dict[Any, list[str]] = {}

    def submit() -> Any:
        keys = batches.next()
        if not keys:
            return None
        future = workers.submit([sweep.cells[key] for key in keys], sweep.machine, key=f"cell-{keys[0]}", pure=False)
        under_way[future] = keys
        return future

    completed = distributed.as_completed([future for _ in range(WINDOW * workers.number) if (future := submit())])
    with Progress("cells", len(missing)) as progress:
        for future in completed:
            keys = under_way.pop(future)
            batches.ran(len(keys), finish(sweep, keys, future))
            future.release()
            for _ in keys:
                progress.step()
            if more := submit():
                completed.add(more)


def finish(sweep: Sweep, keys: Sequence[str], future: Any) -> float:
    """Keep the results of the batch @keys, or why its cells failed. Returns what it took, in seconds of a processor."""
    error = future.exception()
    results, spent_s = ([str(error) or type(error).__name__] * len(keys), 0.0) if error else future.result()
    for key, found in zip(keys, results):
        why = found if isinstance(found, str) else of_results(found)
        if why:
            sweep.failed[key] = why.splitlines()[0]
        else:
            sweep.keep(key, found)
    sweep.spent_s += spent_s
    return float(spent_s)


def refine(sweep: Sweep, grid: Grid, axis: Axis, arguments: argparse.Namespace, start: Start) -> None:
    """Add --points points where the metric --refine bends along @axis, in rounds."""
    def metric(cell: Cell) -> float | None:
        return sweep.known.get(sweep.key(cell), {}).get(arguments.refine)

    left, round_nr = int(arguments.points), 0
    while points := choose(list(sweep.cells.values()), axis, metric, left):
        left, round_nr = left - len(points), round_nr + 1
        sweep.add(cells_at(points, axis, grid.seeds), round_nr)
        run_missing(sweep, start)
    if left:
        print(f"{axis.name}: {left} of {arguments.points} points were not needed: {arguments.refine} bends nowhere "
              "between two values any more", file=sys.stderr)


# --- what comes of it -------------------------------------------------------------------------------------------------


def columns(sweep: Sweep) -> dict[str, list[Any]]:
    """A row for each finished cell, in the order of the grid: what it is, its metrics, the round that
    added it, its address."""
    names = sorted({name for cell in sweep.cells.values() for name in cell.tunables})
    heads = ["host", "policy", "workload", "topology", "hz", "time", "seed", *names, *METRICS, "added", "address"]
    found: dict[str, list[Any]] = {head: [] for head in heads}
    for key, cell in sweep.cells.items():
        if key not in sweep.known:
            continue
        row = {"host": cell.host, "policy": cell.policy, "workload": cell.workload, "topology": cell.topology,
               "hz": cell.hz, "time": cell.time, "seed": cell.seed, **dict.fromkeys([*names, *METRICS]),
               **cell.tunables, "address": key, "added": sweep.added.get(key, 0) if sweep.added else None,
               **sweep.known[key]}
        for head in heads:
            found[head].append(row[head])
    return found


def failures(sweep: Sweep) -> list[str]:
    return [f"failed: {sweep.cells[key].said()}: {why}" for key, why in sweep.failed.items()]


def report(sweep: Sweep, grid: Grid, out: str) -> None:
    """Write the table and tell what was done. It also comes after an interruption."""
    found = columns(sweep)
    rows = len(found["address"])
    if rows:
        known = {name: values for name, values in found.items() if any(value is not None for value in values)}
        with unfinished(out) as part:
            table.write_parquet(part, known, json.dumps({"title": grid.title, "fairground": commit()}))
        compared = write_statistics(sweep, statistics_beside(out))
    head = result.together([{"commit": commit(), "sched": cell.policy, "hz": cell.hz, "seed": cell.seed,
                             "topology": cell.topology} for cell in sweep.cells.values()])
    result.tell([*sweep.changed(), *failures(sweep), sweep.summary() + (f"; {rows} rows: {out}" if rows else ""),
                 *([compared] if rows else [])], head,
                (dict(zip(found, row)) for row in zip(*found.values())), cells=len(sweep.cells),
                found=len(sweep.found), run=len(sweep.done), added=len(sweep.added), failed=failures(sweep),
                changed=sweep.changed(), out=out if rows else None)


def statistics_beside(out: str) -> str:
    """The name of the table of statistics that belongs to the table @out."""
    return f"{out.removesuffix('.parquet')}-statistics.parquet"


def write_statistics(sweep: Sweep, out: str) -> str:
    """Write the points with their medians, and how they differ from the first of their workload and machine. Returns
    a line for the user."""
    table_of, shown, tests = sweep_statistics.table_of([(cell, sweep.known[key]) for key, cell in sweep.cells.items()
                                                        if key in sweep.known])
    with unfinished(out) as part:
        table.write_parquet(part, table.from_rows(iter(table_of)), "statistics of a sweep")
    return f"{shown} of {tests} differences from the first point are shown: {out}"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the grid, a TOML file: docs/sweeps.md")
    parser.add_argument("--seeds", help="as 1..20; default: the file's")
    parser.add_argument("--workers", type=whole(1, 4096), help="processes on this machine; default: its processors")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a running Dask scheduler, instead of workers here")
    parser.add_argument("--store", help="directory of the results; default: BUILD/sweeps")
    parser.add_argument("--out", help="the table, Parquet; default: BUILD/sweeps/FILE.parquet")
    parser.add_argument("--refine", metavar="METRIC", choices=list(METRICS),
                        help=f"then add points where this bends along an axis: {', '.join(METRICS)}")
    parser.add_argument("--points", type=whole(1, 100_000), metavar="N",
                        help="how many; each is run with all seeds")
    parser.add_argument("--axis", metavar="NAME", help="the tunable, or hz; default: the only one with three numbers")


def simulator_of(settings: Settings) -> Host:
    path = simulator.program(settings.build)
    program = Path(path).read_bytes()
    return Host({"schedsim": program}, digest_of(program, commit_of(path)))


def kernel_of(settings: Settings) -> Host:
    """The image. Results also depend on QEMU's version, and on how they are taken from a trace."""
    with Machine(replace(settings, icount=True)) as machine:  # it says what is missing
        qemu = machine.qemu.name
    files = {os.path.basename(path): Path(path).read_bytes() for path in (settings.kernel, settings.initramfs)}
    how = [qemu.encode(), Path(sweep_kernel.__file__).read_bytes()]
    built = commit_in(files["fairground.elf"]).decode("latin-1")
    return Host(files, digest_of(b"".join([*files.values(), *how]), built))


HOSTS = {SIMULATOR: simulator_of, KERNEL: kernel_of}


def prepare(settings: Settings, grid: Grid, directory: str) -> Sweep:
    sweep = Sweep({name: HOSTS[name](settings) for name in grid.hosts}, Store(Path(directory)),
                  {name: str(value) for name, value in grid.machine.items()})
    sweep.cells = {sweep.key(cell): cell for cell in grid.cells()}
    sweep.look_up()
    return sweep


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run a grid of policies, tunables, workloads, machines and seeds on many workers, in simulator or kernel"""
    if not os.path.exists(arguments.file):
        raise UsageError(f"{arguments.file}: there is no such file")
    grid = Grid(Path(arguments.file), arguments.seeds)
    if bool(arguments.refine) != bool(arguments.points) or arguments.axis and not arguments.refine:
        raise UsageError("--refine METRIC and --points N belong together, and --axis to them")
    axis = axis_of(list(grid.cells()), arguments.axis) if arguments.refine else None
    if arguments.out:
        check_place("--out ", arguments.out)
    directory = arguments.store or os.path.join(settings.build, "sweeps")
    out = arguments.out or os.path.join(settings.build, "sweeps", f"{Path(arguments.file).stem}.parquet")
    sweep = prepare(settings, grid, directory)
    try:
        with workers_of(arguments, sweep.hosts) as start:
            run_missing(sweep, start)
            if axis:
                refine(sweep, grid, axis, arguments, start)
        if sweep.done:
            Progress.note(f"{1e3 * sweep.spent_s / len(sweep.done):.1f} ms of a worker's processor for each cell")
    finally:
        report(sweep, grid, out)
    return int(bool(sweep.failed))

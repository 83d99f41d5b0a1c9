# SPDX-License-Identifier: GPL-2.0-only
"""A trace or decisions as one table, for pandas, R, spreadsheets and databases: CSV or Parquet.

    pandas.read_parquet("run.parquet").groupby("comm").wait_ns.describe()
"""

import csv
from collections.abc import Collection, Iterator
from typing import Any, TextIO

from ..base.packages import load
from ..decisions.decision_file import DecisionFile
from ..decisions.fair_decisions import FIELDS, SHAPES
from ..machine.image import event_values
from ..trace.timeline import Timeline
from ..trace.tracefile import TraceFile

TABLES = {
    "runs": "each time that a task had a CPU",
    "waits": "each time that a task waited for a CPU",
    "events": "all events, with a column for each field",
    "decisions": "the decisions of the fair policies, without their candidates",
    "candidates": "what the policies compared, a row for each candidate of each decision",
}
Columns = dict[str, list[Any]]


def runs(timeline: Timeline) -> Columns:
    cpu, pid, start, end = timeline.runs
    return {"cpu": cpu.tolist(), "pid": pid.tolist(), "comm": [timeline.comms.get(nr, "") for nr in pid],
            "start_ns": start.tolist(), "end_ns": end.tolist(), "run_ns": [b - a for a, b in zip(start, end)]}


def waits(timeline: Timeline) -> Columns:
    pid, start, end, woken = timeline.waits
    return {"pid": pid.tolist(), "comm": [timeline.comms.get(nr, "") for nr in pid], "start_ns": start.tolist(),
            "end_ns": end.tolist(), "wait_ns": [b - a for a, b in zip(start, end)],
            "woken": [bool(each) for each in woken]}


def from_rows(rows: Iterator[dict[str, Any]]) -> Columns:
    """Columns in the order in which they appear first; None where a row does not have one."""
    columns: Columns = {}
    number = 0
    for number, row in enumerate(rows):
        for name, value in row.items():
            columns.setdefault(name, [None] * number).append(value)
        for values in columns.values():
            if len(values) == number:
                values.append(None)
    return columns


def events(trace: TraceFile, names: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    for event in trace.events(names):
        yield {"time_ns": event.time, "on_cpu": event.cpu, "system": event.format.system,
               "event": event.format.name, "by_pid": event.pid, **event_values(event)}


def decisions(file: DecisionFile) -> Iterator[dict[str, Any]]:
    for nr, each in enumerate(file.records(SHAPES)):
        yield {"nr": nr, "time_ns": each.time, "kind": each.kind, **{name: getattr(each, name) for name in FIELDS}}


def candidates(file: DecisionFile) -> Iterator[dict[str, Any]]:
    for nr, each in enumerate(file.records(SHAPES)):
        for row in each.candidates:
            yield {"nr": nr, "time_ns": each.time, **row._asdict()}


def make(name: str, trace: TraceFile | None, timeline: Timeline | None, file: DecisionFile | None) -> Columns:
    """The table @name of TABLES. The caller has what it needs: the timeline, the trace, or decisions."""
    if name in ("runs", "waits"):
        assert timeline
        return (runs if name == "runs" else waits)(timeline)
    if name == "events":
        assert trace
        return from_rows(events(trace))
    assert file
    return from_rows((decisions if name == "decisions" else candidates)(file))


def write_csv(out: TextIO, columns: Columns) -> int:
    """Write @columns with their names above; returns the number of rows. None is an empty cell."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    number = 0
    for number, row in enumerate(zip(*columns.values()), 1):
        writer.writerow(row)
    return number


def write_parquet(path: str, columns: Columns, about: str) -> int:
    """Write @columns; the file's metadata say what run it is. Returns the number of rows."""
    arrow, parquet = (load(name, "Parquet") for name in ("pyarrow", "pyarrow.parquet"))
    unsigned = {name for name, values in columns.items()
                if max((v for v in values if isinstance(v, int)), default=0) >= 1 << 63}
    arrays = {name: arrow.array(values, arrow.uint64() if name in unsigned else None)
              for name, values in columns.items()}
    table = arrow.table(arrays).replace_schema_metadata({"fairground": about})
    parquet.write_table(table, path)
    return int(table.num_rows)

# SPDX-License-Identifier: GPL-2.0-only
"""A trace as Perfetto's protobuf: https://ui.perfetto.dev and trace_processor open it.

Events that Linux has too become Perfetto's own records of ftrace, from which it makes CPU tracks, states of threads and
wakeup arrows by itself. Perfetto knows nothing of decisions: these become instants on a track for each CPU, with the
candidates as arguments, and counters for each task, for buckets, and for the pools of quotas.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..base.packages import load
from ..decisions.decision_file import DecisionFile
from ..decisions.fair_decisions import SHAPES, Candidate, Decision, difference, sentence
from ..decisions.policy_numbers import AFTER_CHARGE, levels, scores
from ..decisions.quota_decisions import PoolDecision, SHAPES as QUOTA_SHAPES
from ..machine.image import Event, Format, event_values
from ..trace.timeline import Timeline, edges
from ..trace.tracefile import TraceFile

BUNDLE = 4096         # events in a packet
SEQUENCE = 1          # all of our packets are of one writer
SWITCH, WAKING, WAKEUPS = "sched_switch", "sched_waking", ("sched_wakeup", "sched_wakeup_new")
STATES_OF = "6.1.0"  # Fairground's bits of prev_state are those of this Linux
RELEASE = re.compile(r"\d+\.\d+\S*")
COUNTS = ("tasks that run", "tasks that wait")


class Writer:
    """The file @out, packet by packet."""

    def __init__(self, out: BinaryIO) -> None:
        self._proto = load("perfetto.protos.perfetto.trace.perfetto_trace_pb2", "the form of Perfetto")
        self._out, self._tracks = out, dict[tuple[str, ...], int]()
        self._names = self._proto.FtraceEvent.DESCRIPTOR.fields_by_name

    def packet(self, **fields: Any) -> None:
        """Write one packet."""
        fields.setdefault("trusted_packet_sequence_id", SEQUENCE)
        packet = self._proto.TracePacket(**fields)
        self._out.write(self._proto.Trace(packet=[packet]).SerializeToString())

    def about(self, text: str) -> None:
        """Say what run it is. From name and release Perfetto knows what the bits of a task's state mean."""
        found = RELEASE.search(text) if text.startswith("Linux ") else None
        system = {"sysname": "Linux", "release": found[0] if found else STATES_OF, "version": text}
        self.packet(system_info={"utsname": system})

    # --- events that Linux has --------------------------------------------------------------------------------------

    def knows(self, event: Format) -> bool:
        return event.name in self._names

    def event(self, event: Event, name: str = "") -> Any:
        """@event as one of Perfetto's, under another @name if one is given. Fields that Perfetto does not know are
        left out."""
        name = name or event.format.name
        message = self._proto.FtraceEvent(timestamp=event.time, pid=event.pid)
        inner = getattr(message, name)
        inner.SetInParent()
        for field, value in event_values(event).items():
            if field in inner.DESCRIPTOR.fields_by_name:
                setattr(inner, field, value)
        return message

    def bundle(self, cpu: int, events: list[Any]) -> None:
        """Write @events of one CPU, which are in order of time."""
        self.packet(ftrace_events={"cpu": cpu, "event": events})

    # --- tracks of our own ------------------------------------------------------------------------------------------

    def track(self, *path: str, **fields: Any) -> int:
        """The number of the track with this @path of names. It is made when it is asked for first."""
        if path not in self._tracks:
            parent = self.track(*path[:-1]) if len(path) > 1 else 0
            self._tracks[path] = uuid = len(self._tracks) + 1
            above = {"parent_uuid": parent} if parent else {}
            self.packet(timestamp=0, track_descriptor={"uuid": uuid, "name": path[-1], **above, **fields})
        return self._tracks[path]

    def counter(self, time: int, value: int, *path: str, unit: str = "ns") -> None:
        """The counter @path has @value from @time on."""
        uuid = self.track(*path, counter={"unit_name": unit})
        kind = self._proto.TrackEvent.TYPE_COUNTER
        self.packet(timestamp=time, track_event={"type": kind, "track_uuid": uuid, "counter_value": value})

    def instant(self, time: int, name: str, arguments: list[dict[str, Any]], *path: str) -> None:
        """Something happens on the track @path."""
        kind = self._proto.TrackEvent.TYPE_INSTANT
        self.packet(timestamp=time, track_event={"type": kind, "track_uuid": self.track(*path), "name": name,
                                                 "debug_annotations": arguments})


class Counters:
    """Counters that are written when they change."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._shown = writer, dict[tuple[str, ...], int]()

    def show(self, time: int, value: int, *path: str, unit: str) -> None:
        """The counter @path has @value at @time."""
        if self._shown.get(path) != value:
            self._shown[path] = value
            self._writer.counter(time, value, *path, unit=unit)


def argument(name: str, value: int | str) -> dict[str, Any]:
    return {"name": name, "int_value" if isinstance(value, int) else "string_value": value}


# --- what is written ----------------------------------------------------------------------------------------------


def write_events(writer: Writer, trace: TraceFile) -> int:
    """Write the events that Perfetto knows; returns how many. A trace without sched_waking has only wakeups: each is
    written as a waking too, of which Perfetto makes the arrow from the waker."""
    names = {f.name for f in trace.formats.values() if writer.knows(f)}
    waiting: dict[int, list[Any]] = {}
    recorded = WAKING in names and next(trace.events({WAKING}), None) is not None
    number = 0
    for event in trace.events(names):
        rows = waiting.setdefault(event.cpu, [])
        if not recorded and event.format.name in WAKEUPS:
            rows.append(writer.event(event, WAKING))
        rows.append(writer.event(event))
        number += 1
        if len(rows) >= BUNDLE:
            writer.bundle(event.cpu, waiting.pop(event.cpu))
    for cpu, rows in sorted(waiting.items()):
        writer.bundle(cpu, rows)
    return number


def write_counts(writer: Writer, timeline: Timeline) -> None:
    """Counters of all tasks that run and that wait."""
    runs, waits = timeline.runs, timeline.waits
    for name, starts, ends in ((COUNTS[0], runs.start, runs.end), (COUNTS[1], waits.start, waits.end)):
        for time, level in edges(starts, ends):
            writer.counter(time, level, name, unit="tasks")


def numbers(decision: Decision) -> Iterator[tuple[str, int, str]]:
    """(name, value, unit) of what the policy knows of the subject after the decision."""
    yield "vruntime - V", difference(decision.vruntime, decision.v), "ns"
    if decision.deadline:
        yield "deadline - V", difference(decision.deadline, decision.v), "ns"
        yield "lag", decision.lag, "ns"
    yield "weight", decision.weight, ""


def policy_numbers(d: Decision) -> Iterator[tuple[tuple[str, str], int, str]]:
    """(path of the counter, value, unit) of what a policy alone knows of each candidate."""
    for name, value in scores(d) if d.kind in AFTER_CHARGE else ():
        yield ("BORE: score", name), int(value), ""
    for name, value in levels(d) if d.kind in AFTER_CHARGE else ():
        yield ("FDL: time until the bucket is full", name), int(value), "ns"


def candidate(row: Candidate, v: int) -> dict[str, Any]:
    """The argument of an instant that has the numbers of one candidate."""
    entries = [argument("vruntime - V", difference(row.vruntime, v)), argument("weight", row.weight)]
    if row.deadline:
        entries += [argument("deadline - V", difference(row.deadline, v)), argument("lag", row.lag),
                    argument("slice", row.slice)]
    if row.score:
        entries.append(argument("score", row.score))
    return {"name": row.name, "dict_entries": entries}


def write_decisions(writer: Writer, file: DecisionFile) -> int:
    """Write the decisions of the fair policies; returns how many."""
    counters, nr = Counters(writer), 0
    for nr, decision in enumerate(file.records(SHAPES), 1):
        why = sentence(decision.rule)
        arguments = [argument("subject", decision.subject), argument("rule", decision.rule),
                     *([argument("because", why)] if why else []), argument("policy", decision.policy),
                     argument("group", decision.group), argument("answer", decision.answer)]
        arguments += [candidate(row, decision.v) for row in decision.candidates]
        writer.instant(decision.time, f"{decision.kind} {decision.subject}", arguments,
                       "decisions", f"CPU {decision.cpu}")
        for name, value, unit in numbers(decision) if decision.pid else ():
            counters.show(decision.time, value, "virtual time", decision.subject, name, unit=unit)
        for path, value, unit in policy_numbers(decision):
            counters.show(decision.time, value, *path, unit=unit)
    return nr


def write_quotas(writer: Writer, file: DecisionFile) -> int:
    """Write what is in the pool of each group with a quota, and how many of its queues are throttled; returns how many
    decisions tell it."""
    counters, nr = Counters(writer), 0
    throttled: dict[int, set[int]] = {}  # group -> CPUs
    for nr, d in enumerate(file.records(QUOTA_SHAPES), 1):
        cpus = throttled.setdefault(d.group, set())
        if d.kind == "throttle":
            cpus.add(d.cpu)
        elif d.kind == "unthrottle":
            cpus.discard(d.cpu)
        pool = d.kept if isinstance(d, PoolDecision) else d.pool
        counters.show(d.time, pool, "quota: runtime in the pool", d.subject, unit="ns")
        counters.show(d.time, len(cpus), "quota: throttled CPUs", d.subject, unit="CPUs")
    return nr


def write(out: BinaryIO, trace: TraceFile | None, timeline: Timeline | None, decisions: DecisionFile | None,
          about: str) -> str:
    """Write all that there is to @out; returns what it was, in words."""
    writer, said = Writer(out), []
    writer.about(about)
    if trace:
        said.append(f"{write_events(writer, trace)} events")
    if timeline:
        write_counts(writer, timeline)
    if decisions:
        said.append(f"{write_decisions(writer, decisions)} decisions")
        if quotas := write_quotas(writer, decisions):
            said.append(f"{quotas} of quotas")
    return ", ".join(said)

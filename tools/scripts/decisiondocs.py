#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""docs/decisions.md and docs/decisions.schema.json, made from sched/observe/decision.def and rule.def.

gendocs.py writes them. The comments of decision.def have a table for each kind of record: a name, two blanks or more,
and what it means; a line that begins with blanks goes on with the meaning before it.
"""

import json
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

DECISIONS, RULES = "sched/observe/decision.def", "sched/observe/rule.def"
SCHEMA = "fairground-decisions/4"
NAME_MAX = 15  # TASK_COMM_LEN without its NUL
NUMBERS = {f"{sign}{bits}": ((-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1))
           for sign in "us" for bits in (8, 16, 32, 64)}


class Field(NamedTuple):
    """A field of a record."""

    name: str
    type: str     # of NUMBERS, "name", or the list of rule.def whose names it has
    meaning: str


class Kind(NamedTuple):
    """A kind of decision, and what it asks."""

    name: str
    number: int
    question: str


def _text(path: str) -> str:
    return pathlib.Path(path).read_text(encoding="utf-8")


def meanings(comment: str) -> dict[str, str]:
    """{name: meaning} of the tables in a comment."""
    found: dict[str, str] = {}
    name = ""
    for line in re.findall(r"^ \*\t(.*)$", comment, re.MULTILINE):
        entry = re.match(r"(\w+) {2,}(\S.*)", line)
        if entry:
            name = entry[1]
            found[name] = entry[2]
        elif name and line.startswith("  "):
            found[name] += " " + line.strip()
    return found


def _fields(rows: str, comment: str) -> list[Field]:
    means = meanings(comment)
    fields = []
    for macro, arguments in re.findall(r"\b(FIELD|CHOICE|COMM|PID)\(([^)]*)\)", rows):
        words = [word.strip() for word in arguments.split(",")]
        name = words[-1] if macro == "FIELD" else words[0]
        kind = {"FIELD": words[0], "CHOICE": words[-1], "COMM": "name", "PID": "s32"}[macro]
        if name not in means:
            raise ValueError(f"{DECISIONS}: the field {name} has no line in the comment above it")
        fields.append(Field(name, kind, means[name]))
    return fields


def event_fields(event: str) -> list[Field]:
    """Of a record with a table of its own: a row, or a placement."""
    comment, rows = re.search(rf"/\*((?:(?!\*/).)*)\*/\nEVENT\(decision, {event}, \d+,(.*?),\n\"",
                              _text(DECISIONS), re.DOTALL).groups()  # type: ignore[union-attr]
    return _fields(rows, comment)


def decision_fields() -> list[Field]:
    comment, rows = re.search(r"/\*((?:(?!\*/).)*)\*/\n#define DECISION_FIELDS \\\n(.*?[^\\])\n",
                              _text(DECISIONS), re.DOTALL).groups()  # type: ignore[union-attr]
    return _fields(rows, comment)


def flags(event: str) -> Iterator[tuple[str, str]]:
    """(bit, meaning) of the flags of a row of @event."""
    comment = re.search(rf"/\*((?:(?!\*/).)*)\*/\nEVENT\(decision, {event},", _text(DECISIONS), re.DOTALL)
    assert comment
    for name, meaning in meanings(comment[1]).items():
        if name.startswith("0x"):
            yield name, meaning


def kinds() -> list[Kind]:
    rows = re.findall(r"/\* ([^*]*) \*/\nEVENT\(decision, sched_decision_(\w+), (\d+)", _text(DECISIONS))
    return [Kind(name, int(number), question) for question, name, number in rows]


def lists() -> set[str]:
    """The names of the lists of rule.def."""
    return set(re.findall(r"^#define (\w+)\(", _text(RULES), re.MULTILINE))


def last_number() -> int:
    """The number of the last event."""
    return max(map(int, re.findall(r"\bEVENT\(decision, \w+, (\d+)", _text(DECISIONS))))


def listed(name: str) -> list[tuple[str, str]]:
    """(name, sentence) of the rows of the list @name."""
    found = re.search(rf"#define {name}\((\w+)\)(.*?[^\\])\n(?!\t)", _text(RULES), re.DOTALL)
    assert found
    return re.findall(rf'\b{found[1]}\(\d+, (\w+),[\s\\]*"(.*?)"\)', found[2])


# --- the page ---------------------------------------------------------------------------------------------------


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _types(fields: Sequence[Field]) -> str:
    known = lists()
    return table(("field", "type", "meaning"),
                 [(f"`{f.name}`", f.name if f.type in known else f.type, f.meaning) for f in fields])


PAGE = """# Decisions as data
<!-- Made from {sources} by tools/scripts/decisiondocs.py;
change that and run `make generated`. -->

The scheduler can say why each pick, preemption, end of a turn, placement and balancing pass went as it did. Each record
of a decision has the rule that decided and the numbers of all entities that the policy compared. It is off by default,
and changes no byte of a trace then. A decision is one call of a fair policy's hook:

{kinds}

In a tree of groups each level has its own queue, so one switch consists of several picks: first the root's queue, then
the group's. Kinds of their own are `select`: on which CPU a fair task wakes up or starts ([below](#on-which-cpu)),
`balance`: which tasks a CPU takes from others ([below](#balancing)), and `class`: what the other classes
decide ([below](#real-time-and-deadline)). With `quota` and `pool` every movement of a group's runtime is told
([below](#quotas)).

## Recording

    build/schedsim --cpus 2 --decisions run.json hogs:n=3     # the simulator: lines of JSON
    build/schedsim --cpus 2 --decisions run.bin hogs:n=3      # the records' own bytes, two thirds of that
    build/schedsim --cpus 2 --decisions run.dat hogs:n=3      # a trace.dat, with all other events too
    make trace EVENTS='decision:*' CMD="hog -t 1s" OUT=run.dat    # the kernel

Inside the machine `echo 'decision:*' > /sys/kernel/tracing/set_event` switches the records on as any event
([tracing.md](tracing.md)). A reader needs `sched_decision_candidate` beside the kinds that it wants: without it a
decision has no candidates. Kernel and simulator make the same records, because both run the same `sched/`.

## Reading

    PYTHONPATH=tools python3 -m fairground decisions run.json          # a line for each decision
    make decisions ARGS="run.json --full --task hog --limit 3"         # with the table of its candidates
    make decisions ARGS="run.json --kind pick --narrow"                # folded at 80 columns
    make decisions ARGS="run.dat --kind pick,tick --cpu 0 --from 500ms --to 1.5s"
    make decisions ARGS="run.dat --stats"                              # how often each rule decided
    make decisions ARGS="--diff kernel.dat simulator.json --task hog"  # the first difference
    make decisions ARGS="--diff a.bin b.bin --kinds all"               # the same, of decisions of all kinds

| option | only decisions |
| --- | --- |
| `--cpu 0,2-3` | about the queues of these CPUs; `select`: made on them, for a waker or a parent, or with this answer |
| `--from TIME`, `--to TIME` | made then: `500ms`, `1.5s`; the time of the trace |
| `--task NAME` or `PID` | with this subject or candidate; for `--diff`, with this subject |
| `--kind pick,tick` | of these kinds; `select` or `balance` alone has a form of its own ([below](#on-which-cpu)) |
| `--policy NAME`, `--rule NAME` | of this policy, by this rule |
| `--group NUMBER` | about a queue of this group; 0 is the root |
| `--outcome NAME` | balancing passes that ended so ([below](#balancing)) |
| `--limit N` | the first N that match |

The table of candidates is the one that `schedsim --explain` prints: `>` marks the subject, and times count from the
leftmost entity. A task that is not queued has no position; its lag is what it kept when it left. Lost events, and
decisions without all their candidates, are counted on stderr. Of a file that is cut off the decisions before that are
printed, and the status is 2. FILE may be a pipe: `<(zcat run.json.gz)`, `/dev/stdin`.

Python reads decisions of all kinds with `fairground.decisions.decision_kinds.read(path)`, and those of a fair policy's
hooks with `fairground.decisions.fair_decisions.read(path)`. `difference(a, b)` is the signed distance of two virtual
times, which are u64 and wrap. A new kind is an entry of `FAMILIES` in `tools/fairground/decisions/decision_kinds.py`,
and of `lists` in `sim/report/decisions.c` if it has rows; filters, counts and comparisons then know it.

The links of the timeline follow from its rows: they lie in its order, and their depths leave one form for the tree.
`fairground.decisions.fair_decisions.links(d)` gives the parent and the children of each candidate. The colour of a node
cannot be told; it decides nothing. A group is a candidate in the queue of the group above it, so decisions tell where
each group hangs: `fairground.decisions.fair_decisions.Groups` makes its path, and `--full` prints that.

### The first difference of two runs

`--diff A B` compares the decisions about each CPU in their order: kind, queue, subject, answer and rule; the rules of
fair policies only if both runs have the same. It compares picks, or what `--kinds` says: `all` stands for all kinds
that both runs have. The answer of `select` is the CPU chosen and why it was aimed there; of `balance` the outcome, the
runqueue that tasks come from and how many moved; of real-time and deadline tasks the answer and the CPU. Hosts number
tasks differently, so `hog#2` stands for the second pid that is called `hog`; a group goes by its name likewise. Times
only tell which difference is the first, counted from the first compared decision. A decision after the end of the other
run is no difference. The kernel's shell and daemons are not in the simulator: `--task` leaves them out.

| status | |
| --- | --- |
| 0 | no difference |
| 1 | a difference: both decisions are printed, with their tables side by side |
| 2 | no verdict: a bad file, different machines, events lost, or nothing to compare |

## The file

**JSON lines.** The first line says what run it is: `schema` (`{schema}`), `sched`, `commit`, `command`,
`topology`, `cpus`, `hz`, `seed`. Each further line is a decision: `time` in ns from the start, `kind`, the fields
below, and `candidates`, a list of objects with `nr` and the fields of a candidate. The last line is the end: it has
`kind` "end" and `decisions`, how many lines are between it and the first. Without it the file is cut off: its run was
killed, or a part of it is lost. [decisions.schema.json](decisions.schema.json) describes a line.

**FILE.bin**, the compact form: the records' own bytes, numbers little-endian. It begins with the 8 letters `FGDECIDE`,
the version 1 and the length of a text, both u32. The text has the first line of the JSON form, and the formats of all
events of the system `decision`, as in tracefs; blanks fill it up to a multiple of 8. Then comes each event: its time,
u64, and its bytes, which begin with its id and length, both u16, and its CPU, u32. No byte of a record is left to the
compiler: `make test-all` compares the files that gcc and clang make, and what simulator and unit host make of one load.
The last event has id 0, and for its time how many there were; without it the file is cut off.

**trace.dat.** Events of the system `decision`, ids {first} to {last}. All records of a decision have one CPU. First
come its candidates, as `sched_decision_candidate`, then the record itself, whose `nr_rows` says how many they were.
Fields, offsets, and names of rules and policies are in the formats of the file.

### A decision

{decision}

### A candidate

{candidate}

| flag | meaning |
| --- | --- |
{flags}

### Rules

A sentence continues "because". The numbers in a trace.dat stay what they are; new rules go to the end.

{rules}

### Policies

{policies}

## On which CPU

A fair task that wakes up, starts or calls exec is given a CPU. The record `select` has the CPU where the task ran last,
the one near which it was aimed, the answer, and by which rules; before it comes a row for each CPU that there was.
Nothing is recorded for a task that may run on one CPU only.

    make decisions ARGS="run.json --kind select"                          # a line for each
    make decisions ARGS="run.dat --kind select --full --task hog"         # with the table of CPUs
    make decisions ARGS="run.dat --kind select --stats"                   # how often each rule decided

In JSON such a line has `kind` "select", the fields below, and `cpus`, a list of objects with `nr` and the fields of a
CPU. In a trace.dat the rows are events `sched_decision_cpu`, followed by one `sched_decision_select`. Python reads
them with `fairground.decisions.placements.read(path)`.

Where energy decides ([energy.md](energy.md#placement-by-energy)) the lists `uses` and `energies` say what each CPU was
found to use, and what each frequency domain would take with the task on its candidates; they are empty elsewhere. In
a trace.dat these are events `sched_decision_use` and `sched_decision_energy`, before the rows of the CPUs.

### A placement

{placement}

### A CPU

{cpu}

| flag | meaning |
| --- | --- |
{cpu_flags}

### The use of a CPU

{use}

| flag | meaning |
| --- | --- |
{use_flags}

### The energy of a domain

{energy}

| flag | meaning |
| --- | --- |
{energy_flags}

### Why it was aimed there

{aims}

### Why that CPU

{cpu_rules}

## Balancing

A balancing pass is made for a CPU at one of its domains: does it take fair tasks from other CPUs there, how much, and
which? Passes are made by the tick, for CPUs that idle, and by a CPU that is about to idle.
The record `balance` has the two parts that were compared, how much was to be moved, from which runqueue, what came of
it, and by which rule. Before it come rows, each with the numbers as the pass read them: the runqueues, the parts of the
domain, and each task that moved or was passed over. Where affinity pins all tasks of the busiest runqueue the pass goes
on without it, and each such round has its own record.

    make decisions ARGS="run.json --kind balance"                           # a line for each
    make decisions ARGS="run.dat --kind balance --full --task hog --limit 3"         # with parts, runqueues and tasks
    make decisions ARGS="run.dat --outcome failed --cpu 2"
    make decisions ARGS="run.dat --kind balance --stats"                    # how often each rule decided

In JSON such a line has `kind` "balance", the fields below, and `runqueues`, `parts` and `tasks`, lists of objects with
`nr` and their fields. In a trace.dat the rows are events `sched_decision_runqueue`, `sched_decision_part` and
`sched_decision_movable`, followed by one `sched_decision_balance`; decisions about the tasks that move come in between.
Python reads them with `fairground.decisions.balancing.read(path)`.

### A pass

{balance}

| flag | meaning |
| --- | --- |
{balance_flags}

### What it came to

{outcomes}

### Why tasks should move, or should not

{balance_rules}

### A part of the domain

{part}

| flag | meaning |
| --- | --- |
{part_flags}

{part_states}

### A runqueue that was read

{runqueue}

| flag | meaning |
| --- | --- |
{runqueue_flags}

{looks}

### A task that was looked at

{movable}

| flag | meaning |
| --- | --- |
{movable_flags}

{fates}

## Real time and deadline

Decisions of SCHED_FIFO, SCHED_RR and SCHED_DEADLINE have the class's own numbers: priority and place in the list, the
rest of a slice; deadline, budget, bandwidth. A task that is more urgent than all fair ones is never a candidate of a
fair policy: `active` says which classes had a task when this one was asked.

{acts}

`fairground decisions` prints these among the others, by their act and their policy:

    make decisions ARGS="run.json --policy rr --kind tick,pick"
    make decisions ARGS="run.dat --policy deadline --kind throttle,replenish --full"

In JSON such a line has `kind` "class", the fields below, and two lists of objects with `nr`: `tasks`, the queue, and
`cpus`, where one is chosen. In a trace.dat the rows are events `sched_decision_task` and `sched_decision_level`,
followed by one `sched_decision_class`. Python reads them with `fairground.decisions.class_decisions.read(path)`. While
they are recorded, operations that record stand before those of the class. The class itself tells of budgets,
throttling, pushes and pulls, which happen inside others.

Under a program for sched_ext ([scx.md](scx.md)) these are the decisions of class `ext`, with `policy` "ext". A row has
the dispatch queue where the task waits, its vtime, and what is left of its slice. That a program's `dispatch` inserts a
task into a queue of its own is no decision of the class and not recorded; that the task comes to a CPU is.

### A decision of such a class

{of_class}

### A task

{task}

| flag | meaning |
| --- | --- |
{task_flags}

### How urgent a CPU is

{level}

| flag | meaning |
| --- | --- |
{level_flags}

### Why it went so

{reasons}

## Quotas

A group with a quota has a pool of runtime for all CPUs. Each of its queues fetches from the pool, and is throttled if
the pool has nothing; at each period the pool is refilled and pays what throttled queues owe
([cgroups.md](cgroups.md)). Every movement of runtime is a record, so a pool can be added up from a file: with `charge`,
which tells what the group's queue on a CPU used, nothing is missing.

{steps}

`fairground decisions` prints these among the others, with the policy `quota` and the act as the kind:

    make decisions ARGS="run.json --policy quota --group 1"
    make decisions ARGS="run.dat --policy quota --kind throttle,unthrottle,refill --full"

In JSON such a line has `kind` "quota" or "pool" and the fields below; in a trace.dat the events are
`sched_decision_quota` and `sched_decision_pool`. Python reads them with
`fairground.decisions.quota_decisions.read(path)`.

### A queue and its pool

{quota}

### A pool

{pool}

### Why runtime went so

{grants}
"""


def _bits(event: str) -> str:
    return "\n".join(f"| `{bit}` | {meaning} |" for bit, meaning in flags(event))


def _sentences(name: str, header: str, meaning: str = "because") -> str:
    return table((header, meaning), [(f"`{row}`", sentence) for row, sentence in listed(name)])


def _balancing() -> dict[str, str]:
    """The parts of the page that are about balancing."""
    kinds_of = ("balance", "part", "runqueue", "movable")
    return {**{kind: _types(event_fields(f"sched_decision_{kind}")) for kind in kinds_of},
            **{f"{kind}_flags": _bits(f"sched_decision_{kind}") for kind in kinds_of},
            "outcomes": _sentences("OUTCOME_NAMES", "outcome", "meaning"),
            "balance_rules": _sentences("BALANCE_RULES", "rule"), "fates": _sentences("FATE_NAMES", "fate"),
            "part_states": _sentences("PART_NAMES", "state", "meaning"),
            "looks": _sentences("LOOK_NAMES", "look", "meaning")}


def page() -> str:
    known = kinds()
    return PAGE.format(
        sources=f"{DECISIONS} and {RULES}", schema=SCHEMA, first=min(k.number for k in known) - 1,
        last=last_number(),
        kinds=table(("kind", "question"), [(f"`{k.name}`", k.question) for k in known]),
        decision=_types(decision_fields()), candidate=_types(event_fields("sched_decision_candidate")),
        flags=_bits("sched_decision_candidate"), cpu_flags=_bits("sched_decision_cpu"),
        placement=_types(event_fields("sched_decision_select")), cpu=_types(event_fields("sched_decision_cpu")),
        use=_types(event_fields("sched_decision_use")), use_flags=_bits("sched_decision_use"),
        energy=_types(event_fields("sched_decision_energy")), energy_flags=_bits("sched_decision_energy"),
        aims=_sentences("AIM_RULES", "aim"), cpu_rules=_sentences("CPU_RULES", "rule"),
        rules=_sentences("DECISION_RULES", "rule"), policies=_sentences("DECISION_POLICIES", "policy", "what it is"),
        acts=_sentences("CLASS_ACTS", "act", "question"), reasons=_sentences("CLASS_RULES", "rule"),
        of_class=_types(event_fields("sched_decision_class")), task=_types(event_fields("sched_decision_task")),
        task_flags=_bits("sched_decision_task"), level=_types(event_fields("sched_decision_level")),
        level_flags=_bits("sched_decision_level"), steps=_sentences("QUOTA_ACTS", "act", "decision"),
        quota=_types(event_fields("sched_decision_quota")), pool=_types(event_fields("sched_decision_pool")),
        grants=_sentences("QUOTA_RULES", "rule"), **_balancing())


# --- the schema -------------------------------------------------------------------------------------------------


def _type(field: Field) -> dict[str, Any]:
    if field.type == "name":
        return {"type": "string", "maxLength": NAME_MAX}
    if field.type in NUMBERS:
        low, high = NUMBERS[field.type]
        return {"type": "integer", "minimum": low, "maximum": high}
    return {"enum": [name for name, _ in listed(field.type)]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _described(fields: Sequence[Field]) -> dict[str, Any]:
    return {f.name: {"description": f.meaning, **_type(f)} for f in fields}


def schema() -> str:
    """The JSON Schema of one line of a file."""
    text, count = {"type": "string"}, {"type": "integer", "minimum": 0}
    header = _object({"schema": {"const": SCHEMA}, "sched": text, "commit": text, "command": text, "topology": text,
                      "cpus": {"type": "integer", "minimum": 1}, "hz": {"enum": [100, 250, 1000]}, "seed": count})
    candidate = _object({"nr": count, **_described(event_fields("sched_decision_candidate"))})
    decision = _object({"time": count, "kind": {"enum": [k.name for k in kinds()]}, **_described(decision_fields()),
                        "candidates": {"type": "array", "items": {"$ref": "#/$defs/candidate"}}})
    cpu = _object({"nr": count, **_described(event_fields("sched_decision_cpu"))})
    placement = _object({"time": count, "kind": {"const": "select"},
                         **_described(event_fields("sched_decision_select")),
                         "uses": {"type": "array", "items": {"$ref": "#/$defs/use"}},
                         "energies": {"type": "array", "items": {"$ref": "#/$defs/energy"}},
                         "cpus": {"type": "array", "items": {"$ref": "#/$defs/cpu"}}})
    estimates = {kind: _object({"nr": count, **_described(event_fields(f"sched_decision_{kind}"))})
                 for kind in ("use", "energy")}
    looked_at = {kind: _object({"nr": count, **_described(event_fields(f"sched_decision_{kind}"))})
                 for kind in ("runqueue", "part", "movable")}
    balance = _object({"time": count, "kind": {"const": "balance"},
                       **_described(event_fields("sched_decision_balance")),
                       **{name: {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}}
                          for name, kind in zip(("runqueues", "parts", "tasks"), looked_at)}})
    task = _object({"nr": count, **_described(event_fields("sched_decision_task"))})
    level = _object({"nr": count, **_described(event_fields("sched_decision_level"))})
    of_class = _object({"time": count, "kind": {"const": "class"}, **_described(event_fields("sched_decision_class")),
                        "tasks": {"type": "array", "items": {"$ref": "#/$defs/task"}},
                        "cpus": {"type": "array", "items": {"$ref": "#/$defs/level"}}})
    of_quota = {kind: _object({"time": count, "kind": {"const": kind},
                               **_described(event_fields(f"sched_decision_{kind}"))}) for kind in ("quota", "pool")}
    end = _object({"kind": {"const": "end"}, "decisions": count})
    return json.dumps({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"Made from {DECISIONS} and {RULES} by tools/scripts/decisiondocs.py",
        "title": "A line of a file of decisions: first a header, last an end, each other one a decision",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("header", "decision", "placement", "balance", "of_class",
                                                          *of_quota, "end")],
        "$defs": {"header": header, "decision": decision, "candidate": candidate, "placement": placement, "cpu": cpu,
                  **estimates, "balance": balance, **looked_at, "of_class": of_class, "task": task, "level": level,
                  **of_quota, "end": end},
    }, indent=1) + "\n"

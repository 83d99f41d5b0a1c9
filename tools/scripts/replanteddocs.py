# SPDX-License-Identifier: GPL-2.0-only
"""docs/replanted.md, from tests/mutants/replanted: faults that were there, and the wall that finds each."""

import pathlib
from collections.abc import Iterator, Mapping

from fairground.base.tomlfile import TomlFile

import mutants

FOUND = pathlib.Path("tests/mutants/replanted/found.toml")
HEAD = f"""# Faults planted again
<!-- Made from files of {FOUND.parent} by gendocs.py; change them and run `make generated`. -->

These faults were in the tree until somebody read it or attacked it. Each is planted again by the seeded bug of its
name, and the wall must find it: `make mutants ARGS=--replanted`, every night. Of the [objects on the
host](exploration.md#objects-of-the-kernel) the table says within how many runs of one program they do, at seed 1; a
thousand programs are some 100,000 runs. Every other wall needs the one test, or boot, of its row.

| fault | looked for since | wall | seeded bug |
|---|---|---|---|
"""

OBJECTS = """
## Found by the objects

The objects on the host found these by themselves, beside their models, under the schedules and the failing allocations
of [their session](trust.md). All are mended, and the seeded bug is the test. Objects that are not here found nothing.

| object | fault | seeded bug |
|---|---|---|
"""


def wall(run: str, within: int) -> str:
    """How the fault is found: the key `run` of its bug, and the bound."""
    return f"`{run}`" + (f", within {within:,} runs" if within else "")


def found(known: Mapping[str, mutants.Mutant]) -> Iterator[str]:
    """The rows of what the objects found, by object."""
    rows = TomlFile(FOUND)
    for name, table in rows.data.items():
        rows.check_keys((name,), table, {"was": str}, ("was",))
    for name in sorted(rows.data, key=lambda name: known[name].run):
        yield f"| {known[name].run.removeprefix('hosted ')} | {rows.data[name]['was']} | `{name}` |\n"


def page() -> str:
    known = mutants.read_mutants()
    lines = [f"| {fault.was} | {fault.kind} | {wall(known[name].run, fault.within)} | `{name}` |\n"
             for name, fault in mutants.read_faults().items()]
    return HEAD + "".join(lines) + OBJECTS + "".join(found(known))

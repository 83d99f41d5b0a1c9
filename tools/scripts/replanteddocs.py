# SPDX-License-Identifier: GPL-2.0-only
"""docs/replanted.md, from tests/mutants/replanted/faults.toml: faults that were there, and the wall that finds each."""

import mutants

HEAD = f"""# Faults planted again
<!-- Made from {mutants.REPLANTED} by gendocs.py; change that and run `make generated`. -->

These faults were in the tree until somebody read it or attacked it. Each is planted again by the seeded bug of its
name, and the wall must find it: `make mutants ARGS=--replanted`, every night. Of the [objects on the
host](exploration.md#objects-of-the-kernel) the table says within how many runs of one program they do, at seed 1; a
thousand programs are some 100,000 runs. Every other wall needs the one test, or boot, of its row.

| fault | looked for since | wall | seeded bug |
|---|---|---|---|
"""


def wall(run: str, within: int) -> str:
    """How the fault is found: the key `run` of its bug, and the bound."""
    return f"`{run}`" + (f", within {within:,} runs" if within else "")


def page() -> str:
    known = mutants.read_mutants()
    rows = [f"| {fault.was} | {fault.kind} | {wall(known[name].run, fault.within)} | `{name}` |\n"
            for name, fault in mutants.read_faults().items()]
    return HEAD + "".join(rows)

# SPDX-License-Identifier: GPL-2.0-only
"""The host side of Fairground: boot the machine in QEMU, measure it, read what it recorded.

Standard library only, but for what pyproject.toml calls extras. `python3 -m fairground --help` lists the
commands; `make run`, `make bench` and the end-to-end tests go through the same code.

    base         errors, settings and their names, files of TOML, statistics: no room is below it
    machine      QEMU and what it boots; run, bench, gdb, profile
    trace        record and read traces; latency, timehist, stat, convert (forms: the forms of other tools)
    decisions    read, tell and compare decisions
    study        experiments, comparisons over seeds, sweeps (experiments: code that a file cannot say)
    judge        kernel beside simulator, both beside Linux, cards of old bugs
    pictures     graph and report
    lab          coursework

`import fairground as fg` gives programs the names of api.py (docs/api.md); the rooms may change with each release.
A command is a module of its room with COMMAND, main() and, if it has options, options(): words.py. Reading order:
base/settings, machine/qemu, machine/machine, then a command's file.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import (API as API, DecisionError as DecisionError, Error as Error, Lost as Lost,
                      MissingPackage as MissingPackage, Simulation as Simulation, SimulatorError as SimulatorError,
                      Trace as Trace, TraceError as TraceError, UsageError as UsageError, compare as compare,
                      convert as convert, draw as draw, kinds as kinds, policies as policies, report as report,
                      simulate as simulate)


NAMES = ("API", "DecisionError", "Error", "Lost", "MissingPackage", "Simulation", "SimulatorError", "Trace",
         "TraceError", "UsageError", "compare", "convert", "draw", "kinds", "policies", "report", "simulate")


def __getattr__(name: str) -> Any:
    """A name of api.py, which is loaded when a program first asks for one: commands need not wait for it."""
    if name == "__version__":
        from .base.tree import version
        return version()
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module
    return getattr(import_module(".api", __name__), name)


def __dir__() -> list[str]:
    return sorted([*NAMES, "__version__"])

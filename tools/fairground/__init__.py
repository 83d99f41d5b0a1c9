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

A command is a module of its room with COMMAND, main() and, if it has options, options(): words.py. Reading order:
base/settings, machine/qemu, machine/machine, then a command's file.
"""

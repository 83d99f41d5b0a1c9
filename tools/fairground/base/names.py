# SPDX-License-Identifier: GPL-2.0-only
"""Every name that a user may set: the settings of make, and the boot parameters. The one table of each; `make settings`
prints the first.

`python3 -m fairground.base.names --check SMPP OUT` says which names are no settings.
"""

import difflib
import re
import sys
from collections.abc import Collection

from .tree import ROOT

PARAMETERS = ROOT / "kernel" / "base" / "param.def"
GOVERNORS = ROOT / "sched" / "freq" / "governor.def"

# name, values, default, meaning
SETTINGS = (
    ("the machine and the run", (
        ("SMP", "1..255[,LEVEL=N]", "4", "CPUs; with sockets= dies= cores= threads=, their topology"),
        ("SCHED", "a policy", "cfs", "the fair class's policy at boot"),
        ("HZ", "100 250 1000", "250", "ticks per second"),
        ("MEM", "MiB, or 1G", "256", "memory"),
        ("NUMA", "1..8", "1", "memory nodes"),
        ("CPU", "QEMU's -cpu", "max", "the processor's model"),
        ("ICOUNT", "0 1", "0", "1: time counts instructions, and runs repeat to the bit"),
        ("SHIFT", "0..10", "0", "under ICOUNT=1 an instruction takes 2^SHIFT ns: long runs take less of the host"),
        ("SEED", "a number", "1", "the only source of randomness"),
        ("BOOT", "pvh iso", "pvh", "the loader: QEMU's own, or GRUB from a CD"),
        ("KVM", "auto 0 1", "auto", "hardware virtualization"),
        ("APPEND", "words", "", "more boot parameters: docs/parameters.md"),
        ("CMD", "shell text", "", "what to run; the machine then ends with its status"),
        ("FILES", "FILE[:/PATH] ...", "", "own files for the guest, in /root; programs bring their libraries"),
        ("ROOT", "DIR or archive", "", "a tree that is laid over the guest's root directory: tar or cpio"),
        ("TIMEOUT", "seconds", "600", "of the host, after which the run has failed"),
    )),
    ("one word each", (
        ("ARGS", "words", "", "what stands behind a word of fairground, and behind test and prop"),
        ("OUT", "FILE", "trace.dat", "trace, latency, timehist, map, why: the trace file"),
        ("EVENTS", "SYSTEM:EVENT ...", "no charges, decisions", "trace: what is recorded"),
        ("TASK", "NAME or number", "waits longest", "why: the task whose waits are told"),
        ("SRC", "FILE.c", "", "plugin, traits: the policy's source"),
        ("TESTS", "cfs pelt ...", "all", "unit: which programs of tests/unit"),
        ("TEST", "a test", "all", "unit: which one of TESTS"),
    )),
    ("the build", (
        ("POLICIES", "FILE.c ...", "", "policies to build in, beside those of sched/fair/policies.def"),
        ("DEBUG", "0 1", "0", "1: every invariant is checked while the kernel runs"),
        ("B", "DIR", "build", "build directory"),
        ("CC", "gcc clang", "gcc", "compiler"),
        ("OPTIMIZE", "1 2 3", "2", "gcc's -O for the kernel"),
        ("COVER", "0 1", "0", "with DEBUG=1: a kernel that says which places a fuzzer reaches (make fuzz)"),
        ("SAN", "undefined, address", "off",
         "a kernel that panics at undefined behaviour or a wrong access; B=build-san keeps it apart"),
        ("CROSS_COMPILE", "PREFIX", "", "tools for the kernel and the programs (docs/building.md)"),
        ("MUSL_CC", "PROGRAM", "musl-gcc", "compiler of the programs"),
        ("BUSYBOX", "FILE", "the system's", "the busybox to pack"),
        ("PYTHON", "PROGRAM", "/usr/bin/python3", "Python of the tools"),
        ("V", "0 1", "0", "1: print commands"),
    )),
)
# The settings, and the words of fairground, that `make help` lists in a student's hand-out.
STUDENT = {"SMP", "SCHED", "HZ", "ICOUNT", "SEED", "CMD", "APPEND", "TIMEOUT", "OUT", "EVENTS", "TASK", "ARGS", "SRC",
           "TESTS", "TEST", "DEBUG", "V"}
STUDENT_WORDS = ("lab", "run", "trace", "why", "decisions", "convert", "gdb", "settings")
# What make and the scripts pass to each other; not for people.
PASSED_ON = {"FAIRGROUND_COMMIT", "MAKE", "MAKEFLAGS", "CFLAGS", "Q", "CSTD", "WARN", "SIM_CPUS", "OPT", "KCC",
             "SCX_WARN"}


def settings() -> set[str]:
    return {row[0] for _, rows in SETTINGS for row in rows}


def parameters() -> set[str]:
    """The boot parameters: the names of param.def."""
    return set(re.findall(r"^PARAM\((\w+),", PARAMETERS.read_text(encoding="utf-8"), re.MULTILINE))


def governors() -> list[str]:
    """The governors of frequencies: the names of governor.def."""
    return re.findall(r"^GOVERNOR\((\w+)\)", GOVERNORS.read_text(encoding="utf-8"), re.MULTILINE)


def nearest(name: str, names: Collection[str], cutoff: float = 0.6) -> str:
    """The name of @names that @name may have been meant to be, or ""."""
    by_case = {known.lower(): known for known in sorted(names)}
    found = difflib.get_close_matches(name.lower(), by_case, 1, cutoff)
    return by_case[found[0]] if found else ""


def unknown(given: Collection[str]) -> list[str]:
    """A sentence for each name of @given that is no setting."""
    sentences = []
    for name in sorted(set(given) - settings() - PASSED_ON):
        known = nearest(name, settings())
        capitals = ": their names are in capitals" if any(c.islower() for c in name) else ""
        sentences.append(f"no setting is called {name}{capitals}" + (f"; is {known} meant?" if known else "")
                         + " (see make settings; words of a command stand in ARGS=)")
    return sentences


def table(names: Collection[str]) -> str:
    """The settings of @names, as make settings prints them."""
    lines = []
    for title, rows in SETTINGS:
        lines.append(f"\nSettings, NAME=value: {title}")
        lines += [f"  {name:14}{values:18}{default:16} {meaning}" for name, values, default, meaning in rows
                  if name in names]
    return "\n".join(lines)


if __name__ == "__main__":
    print("; ".join(unknown(sys.argv[2:])))

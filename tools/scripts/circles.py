#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which files of the scheduler need each other, by the symbols of their objects.

A file needs another if its object has an undefined symbol that the other's object defines. Two files that need each
other are a mutual pair. Files that reach each other by any number of steps are a circle: to understand one of them
is to know them all.

Usage: circles.py [-v] [DIRECTORY]    default: build/kernel/sched; -v lists pairs and circles; exits 1 above the limits
"""

import pathlib
import subprocess
import sys
from collections.abc import Iterator

import usage

# A ratchet: lower them when a change allows it. To raise one, say in the commit why the new bond is worth it.
MOST_PAIRS, LARGEST_CIRCLE = 8, 6


def symbols(objects: list[pathlib.Path]) -> dict[str, tuple[set[str], set[str]]]:
    """{object: (names it defines, names it leaves undefined)}"""
    out = subprocess.run(["nm", "-A", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    found: dict[str, tuple[set[str], set[str]]] = {str(o): (set(), set()) for o in objects}
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        if kind == "U":
            found[path][1].add(name)
        elif kind.isupper():
            found[path][0].add(name)
    return found


def objects_of(directory: str) -> list[pathlib.Path]:
    """The objects below BUILD/kernel/sched, but for those whose source is gone."""
    sources = pathlib.Path(directory).absolute().parents[2] / "sched"
    objects = sorted(pathlib.Path(directory).rglob("*.o"))
    return [o for o in objects if not sources.exists() or (sources / o.relative_to(directory)).with_suffix("").exists()]


def needs(directory: str) -> dict[str, set[str]]:
    """{file: files whose symbols it uses}, both without the suffix and relative to @directory."""
    objects = objects_of(directory)
    found = symbols(objects) if objects else {}
    name = {path: str(pathlib.Path(path).relative_to(directory)).split(".")[0] for path in found}
    definer = {symbol: path for path, (defined, _) in found.items() for symbol in defined}
    return {name[path]: {name[definer[s]] for s in undefined if s in definer and definer[s] != path}
            for path, (_, undefined) in found.items()}


def mutual_pairs(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    return sorted((a, b) for a in graph for b in graph[a] if a < b and a in graph[b])


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for other in graph[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


def circles(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """Sets of two files or more that reach each other, the largest first."""
    reach = {a: reachable(graph, a) for a in graph}
    found = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph}
    return sorted((c for c in found if len(c) > 1), key=len, reverse=True)


def counts(directory: str) -> tuple[int, int] | None:
    """(mutual pairs, files of the largest circle), or None if nothing is built."""
    graph = needs(directory)
    if not graph:
        return None
    return len(mutual_pairs(graph)), max(map(len, circles(graph)), default=0)


def problems(directory: str) -> Iterator[str]:
    """What exceeds the limits, as tidy prints it; nothing if nothing is built."""
    found = counts(directory)
    if found and found[0] > MOST_PAIRS:
        yield f"{directory}:1: {found[0]} mutual pairs of files; at most {MOST_PAIRS} (tools/scripts/circles.py -v)"
    if found and found[1] > LARGEST_CIRCLE:
        yield f"{directory}:1: a circle of {found[1]} files; at most {LARGEST_CIRCLE} (tools/scripts/circles.py -v)"


def table(directory: str) -> Iterator[str]:
    found = counts(directory)
    if found:
        yield (f"sched: {found[0]} mutual pairs of files of at most {MOST_PAIRS}, "
               f"the largest circle has {found[1]} files of at most {LARGEST_CIRCLE}")


def main() -> None:
    words = usage.words(__doc__, 0, 1, ("-v",))
    directory = next((word for word in words if word != "-v"), "build/kernel/sched")
    graph = needs(directory)
    if "-v" in words:
        for a, b in mutual_pairs(graph):
            print(f"{a} <-> {b}")
        for circle in circles(graph):
            print(f"circle of {len(circle)}: {' '.join(sorted(circle))}")
    print("\n".join(table(directory)))
    found = list(problems(directory))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

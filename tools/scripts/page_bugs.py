# SPDX-License-Identifier: GPL-2.0-only
"""Build a module for each seeded bug that the page for browsers offers, beside build/session.wasm.

Usage: page_bugs.py OUT NAME... -- COMPILE... -- LINK... -- OBJECT...
NAME: of a seeded bug; COMPILE, LINK: the commands for a file of sched/ and for the module of OBJECTs, which
are up to date and have their lists of prerequisites beside them. OUT/NAME.wasm is made. Nothing of the tree changes:
the compiler sees the changed files in place of the others, by an overlay.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from fairground.base.edit import changed

import mutants

INSIDE = ("sched/", "sim/policy/", "tests/oracle/")  # what knows the inside of sched/


def split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--" and len(parts) < 4:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def write_changed(bug: mutants.Mutant, place: pathlib.Path) -> list[pathlib.Path]:
    """Write the files that @bug changes below @place, with the change. Returns their names in the tree."""
    texts = changed(bug.edits, lambda name: pathlib.Path(name).read_text("utf-8"))
    for name, text in texts.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, "utf-8")
    return [pathlib.Path(name) for name in texts]


def prerequisites(made: pathlib.Path) -> set[str]:
    """Real names of what the object @made was compiled from."""
    words = made.with_suffix(".d").read_text("utf-8").replace("\\\n", " ").split()
    return {os.path.realpath(word) for word in words if not word.endswith(":")}


def overlay(files: dict[str, pathlib.Path], place: pathlib.Path) -> pathlib.Path:
    """An overlay in which each name of a file is that of another file."""
    path = place / "overlay.json"
    roots = [{"type": "file", "name": name, "external-contents": str(other.resolve())} for name, other in files.items()]
    path.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}), encoding="utf-8")
    return path


def build(bug: mutants.Mutant, out: pathlib.Path, compile_: list[str], link: list[str], objects: list[str]) -> None:
    place = out / bug.name
    names: dict[str, pathlib.Path] = {}
    stale: set[str] = set()
    for file in write_changed(bug, place):
        stale.add(os.path.realpath(file))
        for root in (pathlib.Path.cwd(), *(pathlib.Path(word[2:]).resolve() for word in compile_ if word[:2] == "-I")):
            names[f"{root}/{file}"] = place / file
    view = overlay(names, place)
    linked = []
    for made in map(pathlib.Path, objects):
        source = next(word for word in made.with_suffix(".d").read_text("utf-8").split() if word.endswith(".c"))
        if not prerequisites(made) & stale:
            linked.append(str(made))
        elif source.startswith(INSIDE):
            linked.append(str(place / f"{len(linked)}.o"))
            here = os.environ | {"PWD": os.getcwd()}  # not by a symbolic link, which the overlay does not know
            subprocess.run([*compile_, "-I.", "-ivfsoverlay", view, "-c", source, "-o", linked[-1]], check=True,
                           env=here)
        else:
            raise SystemExit(f"{bug.name}: {source} is outside of {INSIDE}, but depends on what the bug changes")
    subprocess.run([*link, "-o", out / f"{bug.name}.wasm", *linked], check=True)


def main() -> int:
    if sys.argv[1:] in ([], ["--help"]):
        print(__doc__)
        return 0 if sys.argv[1:] else 2
    (out, *names), compile_, link, objects = split(sys.argv[1:])
    bugs = mutants.read_mutants()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(build, bugs[name], pathlib.Path(out), compile_, link, objects) for name in names]:
            done.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())

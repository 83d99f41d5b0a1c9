# SPDX-License-Identifier: GPL-2.0-only
"""Build a module for each seeded bug that the page for browsers offers, beside build/session.wasm.

Usage: page_bugs.py OUT NAME... -- COMPILE... -- LINK... -- OBJECT...
NAME: of a patch in tests/mutants; COMPILE, LINK: the commands for a file of sched/ and for the module of OBJECTs, which
are up to date and have their lists of prerequisites beside them. OUT/NAME.wasm is made. Nothing of the tree changes:
the compiler sees the patched files in place of the others, by an overlay.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

PATCHES = pathlib.Path("tests/mutants")
INSIDE = ("sched/", "sim/policy/", "tests/oracle/")  # what knows the inside of sched/


def split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--" and len(parts) < 4:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def plant(name: str, place: pathlib.Path) -> list[pathlib.Path]:
    """Put the files that the patch @name changes, patched, below @place. Returns their names in the tree."""
    patch = PATCHES / f"{name}.patch"
    files = [pathlib.Path(file) for file in re.findall(r"^\+\+\+ b/(\S+)", patch.read_text("utf-8"), re.MULTILINE)]
    for file in files:
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(file.read_bytes())
    subprocess.run(["patch", "-p1", "-s", "-N", "-l", "-F0", "-d", place, "-i", patch.resolve()], check=True)
    return files


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


def build(name: str, out: pathlib.Path, compile_: list[str], link: list[str], objects: list[str]) -> None:
    place = out / name
    names: dict[str, pathlib.Path] = {}
    changed: set[str] = set()
    for file in plant(name, place):
        changed.add(os.path.realpath(file))
        for root in (pathlib.Path.cwd(), *(pathlib.Path(word[2:]).resolve() for word in compile_ if word[:2] == "-I")):
            names[f"{root}/{file}"] = place / file
    view = overlay(names, place)
    linked = []
    for made in map(pathlib.Path, objects):
        source = next(word for word in made.with_suffix(".d").read_text("utf-8").split() if word.endswith(".c"))
        if not prerequisites(made) & changed:
            linked.append(str(made))
        elif source.startswith(INSIDE):
            linked.append(str(place / f"{len(linked)}.o"))
            here = os.environ | {"PWD": os.getcwd()}  # not by a symbolic link, which the overlay does not know
            subprocess.run([*compile_, "-I.", "-ivfsoverlay", view, "-c", source, "-o", linked[-1]], check=True,
                           env=here)
        else:
            raise SystemExit(f"{name}: {source} is outside of {INSIDE}, but depends on what the bug changes")
    subprocess.run([*link, "-o", out / f"{name}.wasm", *linked], check=True)


def main() -> int:
    (out, *names), compile_, link, objects = split(sys.argv[1:])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(build, name, pathlib.Path(out), compile_, link, objects) for name in names]:
            done.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())

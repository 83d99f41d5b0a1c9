# SPDX-License-Identifier: GPL-2.0-only
"""The student's tree: the trunk without what gives the lab away, with stubs where the student writes.

It has no history, no book, no seeded bugs, no wrong solutions, and no models that make golden numbers; the judges that
grade are in it, and may be read. What its texts cite is there (citations.py). A file `labs/handout.json` says which lab
it is and what each file was, so that the grader can say what else was changed. Of files with regions it has the text:
a student's own grade is of their regions alone, as the instructor's is.
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from ..base.errors import DAMAGE
from ..base.tree import ROOT
from . import regions
from .spec import Lab, LabError

TOP = ("Makefile", "VERSION", "LICENSE", ".gitignore", ".clang-format", ".editorconfig", "linker.ld", "mk", "arch",
       "kernel", "lib", "sched", "sim", "user", "tools", "examples", "tests/unit", "tests/oracle", "tests/prop",
       "tests/model", "tests/kernel", "tests/guest", ":(glob)docs/*.md", "docs/adr", "docs/img",
       "docs/decisions.schema.json")
NOT = ("tests/model/hogs.py", "tests/model/pelt.py", "tests/model/golden.py", "tests/model/campaign.py")
NO_SOURCE = re.compile(r"(?:^|/)(?:build(?:-[^/]*)?|__pycache__|\.[^/]*cache)/|\.(?:pyc|orig|rej)$|^(?!tests/).*\.dat$")
DRIVERS = re.compile(r"^tests/(?:unit|prop|kernel)/\w+\.py$")  # of our own tests: make unit and make prop need none
INSTRUCTORS = ("wrong.toml", "right.toml", "instructor.md", "variants.toml")  # of the files of a lab
CLASSROOM = ".github/workflows/classroom.yml"
MANIFEST = pathlib.Path("labs/handout.json")
START = """# {title}

{begin} The words of the field are in
[docs/glossary.md](docs/glossary.md), the simulator's columns in [docs/simulator.md](docs/simulator.md).

    sh tools/setup.sh                              # install what is missing (Debian, Ubuntu), or say what to install
    {grade:46} # grade what you wrote; it builds in a tree of its own
    {fast:46} # the fast part
    make sim                                       # build the simulator, build/schedsim
    make unit TESTS=NAME TEST=NAME                 # one unit test, as the grade names it
    make run CMD="..."                             # boot the machine and run something
    make help                                      # the rest
"""
ORDER = """What you write for one lab is used by the others. Some runs of a lab need another one, too: here their points
come when both are done. The final grade is of each lab alone, beside right answers to the others.

{}

The text of each says what to do."""


def digest(text: bytes) -> str:
    """Of the text with any line ends: an editor that changes them has changed nothing."""
    return hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()[:16]


def manifest(root: pathlib.Path) -> dict[str, Any] | None:
    """What the hand-out @root was made of, or None if it is the trunk."""
    try:
        data = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, *DAMAGE) as error:
        raise LabError(f"{MANIFEST} cannot be read: {error}") from error
    return dict(data)


def _without_git(root: pathlib.Path) -> Iterator[str]:
    """The files of a tree that git does not know, or not as ours: an archive, or another user's."""
    for top in TOP:
        place = root / top
        for path in root.glob(top.removeprefix(":(glob)")) if "*" in top else [place, *place.rglob("*")]:
            name = str(path.relative_to(root))
            if path.is_file() and name not in NOT and not NO_SOURCE.search(name) and not DRIVERS.search(name):
                yield name


def source_files(root: pathlib.Path = ROOT) -> list[str]:
    """The files of the tree @root that a hand-out has, by path; without those of the labs."""
    made_of = manifest(root)
    if made_of:
        return sorted(name for name in made_of["files"] if not name.startswith("labs/"))
    try:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *TOP,
                                 *(f":!{name}" for name in NOT)], cwd=root, capture_output=True, text=True, check=True)
        found = [name for name in listed.stdout.splitlines() if (root / name).is_file() and not DRIVERS.search(name)]
    except (OSError, subprocess.CalledProcessError):
        found = []
    return sorted(found if "Makefile" in found else _without_git(root))


def texts(lab: Lab, root: pathlib.Path = ROOT) -> dict[str, str]:
    """The files with holes, as the tree @root has them; of a hand-out, as it was handed out."""
    handed_out = (manifest(root) or {}).get("texts", {})
    return regions.trunk_texts(lab, ((name, handed_out[name] if name in handed_out else
                                      (root / name).read_text(encoding="utf-8")) for name in lab.files))


def own_files(lab: Lab) -> Iterator[tuple[str, pathlib.Path]]:
    """(path in the hand-out, file) of the lab's directory: what a student may see."""
    for path in sorted(lab.directory.rglob("*")):
        relative = path.relative_to(lab.directory)
        if path.is_file() and relative.name not in INSTRUCTORS:
            yield f"labs/{lab.directory.name}/{relative}", path


def _start(labs: list[Lab]) -> str:
    """The first page of a tree for @labs."""
    first = labs[0]
    text = f"labs/{first.directory.name}/README.md"
    if len(labs) == 1:
        return START.format(title=f"Lab {first.number}, {first.title}", begin=f"Begin with [{text}]({text}).",
                            grade="make lab", fast='make lab ARGS="grade --tiers unit,simulator"')
    rows = "\n".join(f"* [Lab {lab.number}](labs/{lab.directory.name}/README.md): {lab.title}" for lab in labs)
    return START.format(title="Labs", begin=ORDER.format(rows),
                        grade=f'make lab ARGS="grade --lab {first.number}"',
                        fast=f'make lab ARGS="grade --lab {first.number} --tiers unit"')


def _for_students(root: pathlib.Path) -> str:
    """What the project's page about labs says to a student."""
    parts = (root / "labs/README.md").read_text(encoding="utf-8").split("\n## ")
    found = [part for part in parts if part.startswith("For a student\n")]
    if not found:
        raise LabError("labs/README.md has no section \"For a student\"")
    return "# Labs\n\n## " + found[0].rstrip() + "\n"


def write(lab: Lab, to: pathlib.Path, root: pathlib.Path = ROOT) -> int:
    """Write the student's tree for @lab to @to, which must be empty or absent. Returns the number of files."""
    return write_all([lab], to, root)


def write_all(labs: list[Lab], to: pathlib.Path, root: pathlib.Path = ROOT) -> int:
    """Write a tree for students of all @labs, with a stub in each region of each."""
    if manifest(root):
        raise LabError("a hand-out is made from the trunk, and this tree is itself a hand-out")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise LabError(f"{to}: it exists and is not an empty directory")
    cut: dict[str, str] = {}
    outside: dict[str, str] = {}
    for lab in labs:
        mine = regions.cut(texts(lab, root), lab)
        if both := cut.keys() & mine.keys():
            raise LabError(f"lab {lab.number}: {min(both)} has a region of another lab, too")
        cut |= mine
        outside |= regions.outside(mine, lab)
    is_there = to.exists()
    try:
        return _fill(labs, to, root, cut, outside)
    except OSError:  # no half tree is left, which a second attempt would refuse
        shutil.rmtree(to, ignore_errors=True)
        if is_there:
            to.mkdir()
        raise


def _fill(labs: list[Lab], to: pathlib.Path, root: pathlib.Path, cut: dict[str, str], outside: dict[str, str]) -> int:
    """Write the tree: files with a stub as @cut has them, with the digests of what is @outside of regions."""
    files: dict[str, str] = {}
    for name, path in [*((name, root / name) for name in source_files(root)),
                       *(pair for lab in labs for pair in own_files(lab)),
                       *([(CLASSROOM, root / "labs/classroom.yml")] if len(labs) == 1 else [])]:
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in cut:
            target.write_text(cut[name], encoding="utf-8")
        else:
            shutil.copy2(path, target)
        files[name] = digest(target.read_bytes())
    (to / "README.md").write_text(_start(labs), encoding="utf-8")
    (to / "labs/README.md").write_text(_for_students(root), encoding="utf-8")
    files.update({name: digest(text.encode()) for name, text in outside.items()})
    which: dict[str, Any] = {"lab": labs[0].number} if len(labs) == 1 else {"labs": [lab.number for lab in labs]}
    (to / MANIFEST).write_text(json.dumps({**which, "files": files, "texts": cut}, indent=0) + "\n", encoding="utf-8")
    return len(files)

# SPDX-License-Identifier: GPL-2.0-only
"""The student's tree: the trunk without what gives the lab away, with stubs where the student writes.

It has no history, no documentation of the project's own tests, no seeded bugs and no wrong solutions. A file
`labs/handout.json` says which lab it is and what each file was, so that the grader can say what else was changed.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from . import regions
from .spec import ROOT, Lab, LabError

TOP = ("Makefile", "VERSION", "LICENSE", ".gitignore", ".clang-format", ".editorconfig", "linker.ld", "mk", "arch",
       "kernel", "lib", "sched", "sim", "user", "tools", "examples", "tests/unit", "tests/oracle", "tests/prop",
       "tests/model", "tests/kernel", "tests/guest")
MANIFEST = pathlib.Path("labs/handout.json")
START = """# Lab {lab.number}, {lab.title}

Begin with [labs/{lab.directory.name}/README.md](labs/{lab.directory.name}/README.md). `sh tools/setup.sh` installs what
is missing, `make lab` grades what you wrote, `make run` boots the machine, `make help` lists the rest.
"""


def digest(text: bytes) -> str:
    """Of the text with any line ends: an editor that changes them has changed nothing."""
    return hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()[:16]


def manifest(root: pathlib.Path) -> dict[str, Any] | None:
    """What the hand-out @root was made of, or None if it is the trunk."""
    try:
        data = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LabError(f"{MANIFEST} cannot be read: {error}") from error
    return dict(data)


def source_files(root: pathlib.Path = ROOT) -> list[str]:
    """The files of the tree @root that a hand-out has, by path; without those of the labs."""
    made_of = manifest(root)
    if made_of:
        return sorted(name for name in made_of["files"] if not name.startswith("labs/"))
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *TOP], cwd=root,
                            capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.splitlines() if (root / name).is_file())


def texts(lab: Lab, root: pathlib.Path = ROOT) -> dict[str, str]:
    """The files with holes, as the tree @root has them."""
    return regions.trunk_texts(lab, ((name, (root / name).read_text(encoding="utf-8")) for name in lab.files))


def own_files(lab: Lab) -> Iterator[tuple[str, pathlib.Path]]:
    """(path in the hand-out, file) of the lab's directory: what a student may see."""
    for path in sorted(lab.directory.rglob("*")):
        relative = path.relative_to(lab.directory)
        if path.is_file() and relative.parts[0] != "wrong" and relative.name != "instructor.md":
            yield f"labs/{lab.directory.name}/{relative}", path
    yield ".github/workflows/classroom.yml", lab.directory.parent / "classroom.yml"


def write(lab: Lab, to: pathlib.Path, root: pathlib.Path = ROOT) -> int:
    """Write the student's tree for @lab to @to, which must be empty or absent. Returns the number of files."""
    if manifest(root):
        raise LabError("a hand-out is made from the trunk, and this tree is itself a hand-out")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise LabError(f"{to}: it exists and is not an empty directory")
    cut = regions.cut(texts(lab, root), lab)
    files: dict[str, str] = {}
    sources = [(name, root / name) for name in source_files(root)] + list(own_files(lab))
    for name, path in sources:
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in cut:
            target.write_text(cut[name], encoding="utf-8")
        else:
            shutil.copy2(path, target)
        files[name] = digest(target.read_bytes())
    (to / "README.md").write_text(START.format(lab=lab), encoding="utf-8")
    outside = regions.outside(cut, lab)
    files.update({name: digest(text.encode()) for name, text in outside.items()})
    (to / MANIFEST).write_text(json.dumps({"lab": lab.number, "files": files}, indent=0) + "\n", encoding="utf-8")
    return len(files)

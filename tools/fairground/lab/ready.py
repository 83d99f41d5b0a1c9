# SPDX-License-Identifier: GPL-2.0-only
"""Objects that a hand-out brings, so that the first `make lab` compiles what the student writes and little else.

They are built from the hand-out itself, by the compiler that the archive's name has; where another is installed they
are not used. An object that depends on a file with a region, or on one that was changed since, is left out.
"""

import functools
import lzma
import os
import pathlib
import re
import subprocess
import tarfile
import time
import typing

from . import handout, regions
from .spec import Lab, LabError

if typing.TYPE_CHECKING:
    from .workshop import Workshop

MADE = ("inc", "policies", "sim", "unit", "kernel", "user", "initramfs.cpio", "vdso.so", "vdso.so.d", "vdso.so.debug",
        ".flags", ".commit")
DEPENDS = re.compile(r"[^\s\\:]+")


@functools.cache
def _compiler() -> str:
    return "-".join(subprocess.run(["gcc", asked], capture_output=True, text=True, check=True).stdout.strip()
                    for asked in ("-dumpmachine", "-dumpfullversion"))


def archive(root: pathlib.Path) -> pathlib.Path:
    """Where the tree @root has objects of this host's compiler."""
    return root / f"labs/objects-{_compiler()}.tar.xz"


def _needs(rule: pathlib.Path, changed: set[str]) -> bool:
    """Does the object whose dependencies the file @rule has depend on one of the files @changed?"""
    return any(word in changed or any(word.endswith("/" + name) for name in changed)
               for word in DEPENDS.findall(rule.read_text(encoding="utf-8")))


def _without(build: pathlib.Path, changed: set[str]) -> None:
    """Remove the objects in @build that depend on files that are @changed."""
    for rule in build.rglob("*.d"):
        if _needs(rule, changed):
            for made in (rule.with_suffix(".o"), rule.with_suffix("")):  # vdso.so.d is of vdso.so
                made.unlink(missing_ok=True)
            rule.unlink()


def pack(lab: Lab, workshop: "Workshop", to: pathlib.Path) -> int:
    """Build what the grade of @lab needs of the hand-out, and put the objects into the hand-out @to. Returns the size
    of the archive in bytes.
    """
    from . import tiers  # which need this module
    workshop.put(lab, regions.stubs(lab))
    _, failed = tiers.build(lab, workshop, list(lab.tiers))
    if failed:
        raise LabError(f"the hand-out of lab {lab.number} does not compile: {failed}")
    build = workshop.tree / "build"
    _without(build, set(lab.files))
    with lzma.open(archive(to), "wb", preset=1) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name in MADE:
            if (build / name).exists():
                tar.add(build / name, name, filter=is_object)
    return archive(to).stat().st_size


def is_object(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """@info, unless it is a test program: these are linked anew, and those of references have the answers."""
    return None if re.match(r"unit/(?:test|prop)_[\w-]+$", info.name) else info


def unpack(root: pathlib.Path, build: pathlib.Path) -> None:
    """Put the objects that the hand-out @root brings into @build, newer than all sources, without those that are of
    files as they were.
    """
    made_of = handout.manifest(root)
    if not made_of or not archive(root).exists():
        return
    build.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive(root)) as tar:
        tar.extractall(build)
    now = time.time()
    for path in build.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (now, now))  # one moment for all, so that none is older than a stamp
    _without(build, {name for name, was in made_of["files"].items()
                     if not (root / name).exists() or handout.digest((root / name).read_bytes()) != was})

# SPDX-License-Identifier: GPL-2.0-only
"""Where the project's tree is, whose lists, experiments and tests the tools read.

In place, the tools are a part of it. A package that pip installed asks $FAIRGROUND_TREE, then looks from the current
directory upwards. Where there is none, it has its own copies of what tools read that need no tree (pyproject.toml).
"""

import os
import pathlib

PACKED = pathlib.Path(__file__).parents[1] / "packed"
SIGN = "sched/fair/policies.def"  # a directory with this file is a tree


def find(start: pathlib.Path, named: str | None) -> pathlib.Path:
    """The tree of these tools; or @named; or the one around @start; or what is packed with the tools."""
    own = pathlib.Path(__file__).resolve().parents[3]
    places = [own, *([pathlib.Path(named).absolute()] if named else [start, *start.parents])]
    return next((place for place in places if (place / SIGN).exists()), PACKED)


ROOT = find(pathlib.Path.cwd(), os.environ.get("FAIRGROUND_TREE"))
IS_PACKED = ROOT == PACKED


def build() -> str:
    """The build directory, unless the user names another: $B, or that of the tree around us."""
    around = not IS_PACKED and (ROOT in pathlib.Path.cwd().parents or os.environ.get("FAIRGROUND_TREE"))
    return os.environ.get("B") or (str(ROOT / "build") if around else "build")


def version() -> str:
    """The project's version."""
    file = ROOT / "VERSION"
    if file.exists():
        return file.read_text(encoding="utf-8").strip()
    import importlib.metadata  # here, because make asks this package about each setting while it parses
    return importlib.metadata.version("fairground")

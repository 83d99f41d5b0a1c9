# SPDX-License-Identifier: GPL-2.0-only
"""docs/locking.md speaks of the code: its fields are members of those structs, its functions and files exist."""

import functools
import pathlib
import re

import pytest

from tests.conftest import ROOT

PAGE = pathlib.Path(ROOT, "docs/locking.md").read_text()


@functools.cache
def sources():
    rooms = [pathlib.Path(ROOT, room) for room in ("kernel", "sched", "arch", "lib")]
    files = [path for room in rooms for path in sorted(room.rglob("*.[ch]"))]
    return "\n".join(path.read_text() for path in files)


@functools.cache
def members(struct):
    """What stands between the braces of all structs of this name, or of those that a member of this name has."""
    types = {struct, *re.findall(rf"\bstruct (\w+) \*?{struct}(?:\[\w+\])?;", sources())}
    either = "|".join(sorted(types))
    return "\n".join(re.findall(rf"^(?:static )?struct (?:{either}) \{{$(.*?)^\}}", sources(), re.M | re.S))


def fields():
    """Pairs of a struct and a field in the first columns of the tables of fields; a struct counts for what follows."""
    for line in PAGE.splitlines():
        struct = None
        first = line.split("|")[1] if line.startswith("| `") and "->" not in line.split("|")[1] else ""
        for name in re.findall(r"`([\w.]+)\*?`", first):
            *before, field = name.split(".")
            struct = before[-1] if before else struct
            if struct:
                yield struct, field


def test_fields_are_members():
    pairs = list(fields())
    assert len(pairs) > 50
    missing = [f"{struct}.{field}" for struct, field in pairs if not re.search(rf"\b{field}", members(struct))]
    assert not missing, missing


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(\w+)\(\)`", PAGE))))
def test_functions_exist(name):
    assert re.search(rf"^[\w#][^\n;]*\b{name}\(", sources(), re.M)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?:kernel|sched|tests|arch)/[\w/]+\.(?:c|h|pml|py)\b", PAGE))))
def test_files_exist(path):
    assert pathlib.Path(ROOT, path).is_file()

# SPDX-License-Identifier: GPL-2.0-only
"""What people found out about survivors: tests/mutation/verdicts.toml, by key, so that lines may move."""

import pathlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from .points import Mutation

FILE = pathlib.Path("tests/mutation/verdicts.toml")
FIELDS = ("file", "function", "operator", "before", "after", "nr")
KINDS = {
    "equivalent": "no run can tell the two apart",
    "cost only": "decisions and everything that is printed stay; something is computed that need not be",
    "text only": "a help text or the form of a dump: nothing is decided by it",
}


@dataclass(frozen=True)
class Verdict:
    kind: str
    reason: str


def read_verdicts(path: pathlib.Path = FILE) -> dict[str, Verdict]:
    """By key of the mutation. Raises ValueError, a sentence, if an entry is no verdict."""
    found: dict[str, Verdict] = {}
    if not path.exists():
        return found
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("mutation", []):
        missing = {*FIELDS[:-1], "verdict", "reason"} - set(entry)
        if missing:
            raise ValueError(f"{path}: an entry of {entry.get('file', '?')} lacks {', '.join(sorted(missing))}")
        if entry["verdict"] not in KINDS:
            raise ValueError(f"{path}: \"{entry['verdict']}\" is none of {', '.join(KINDS)}")
        key = " :: ".join(str(entry.get(name, 1)) for name in FIELDS)
        if key in found:
            raise ValueError(f"{path}: two verdicts of {key}")
        found[key] = Verdict(entry["verdict"], entry["reason"])
    return found


def stale(verdicts: Iterable[str], mutations: Iterable[Mutation]) -> list[str]:
    """Keys of verdicts whose mutation the source does not have any more."""
    known = {mutation.key for mutation in mutations}
    return [key for key in verdicts if key not in known]

# SPDX-License-Identifier: GPL-2.0-only
"""Variants of labs: the trunk with other rules, drawn by a key, so that last year's answer does not fit.

labs/*/variants.toml has a table for each rule that may be another:

    [name]
    rule = "the rule in one sentence, with @word@ where a value goes"
    values = [{ word = "text" }, ...]      a choice of values for the words; or the rule stays as it is
    [[name.change]]                        everything in which the rule is written down
    files = ["sched/rt/rt.c", ...]
    before = 'text'                        each time that it is there, and it is there in each of the files
    after = 'text with @word@'

The trunk of a key and a lab is a copy with all these changes: text, tests, judges, reference, right and wrong
solutions. Other labs keep their rules there: the machine of one may rest on what another changes. The copy is written
for one command, which then runs in it and removes it. At least one rule of the lab is another than the trunk's. The key
is the instructor's: whoever has it can draw the same again.
"""

import hmac
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from ..base.option_values import U32
from ..base.settings import UsageError
from ..base.tomlfile import TomlFile
from ..base.tree import ROOT
from . import handout
from .spec import Lab, LabError

FILE = "variants.toml"
MADE = pathlib.Path("labs/variant.json")  # says of a tree that it is the trunk of a key
WORD = re.compile(r"@(\w+)@")


@dataclass(frozen=True)
class Change:
    """In each of @files, @before becomes @after."""

    files: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True)
class Rule:
    """A rule of a lab that may be another: the values of its words, and where it is written down."""

    where: str
    says: str
    values: tuple[dict[str, str], ...]
    changes: tuple[Change, ...]


Texts = dict[str, str]  # by file


def rules(lab: Lab) -> tuple[Rule, ...]:
    """The rules of @lab that can be drawn."""
    path = lab.directory / FILE
    if not path.exists():
        return ()
    try:
        file = TomlFile(path)
        for name, table in file.data.items():
            kinds = {"rule": str, "values": list, "change": list}
            file.check_keys((name,), table, kinds, tuple(kinds))
            for number, change in enumerate(table["change"]):
                kinds = {"files": list, "before": str, "after": str}
                file.check_keys((name, "change", number), change, kinds, tuple(kinds))
    except UsageError as error:
        raise LabError(str(error)) from error
    return tuple(Rule(f"{path}: {name}", table["rule"], tuple(table["values"]),
                      tuple(Change(tuple(change["files"]), change["before"], change["after"])
                            for change in table["change"])) for name, table in file.data.items())


# --- drawing --------------------------------------------------------------------------------------------------


def number_of(lab: Lab) -> int:
    """How many variants @lab has beside the trunk."""
    return math.prod(len(rule.values) + 1 for rule in rules(lab)) - 1


def _draw(key: str, what: str, below: int) -> int:
    return int.from_bytes(hmac.digest(key.encode(), what.encode(), "sha256")[:8]) % below


def seed(key: str) -> int:
    """The seed of the runs, unless the instructor gives one."""
    return _draw(key, "seed", U32) + 1


def variant(lab: Lab, number: int) -> list[tuple[Rule, dict[str, str]]]:
    """The rules that are others in variant @number of @lab, which counts from 1, with the values of their words."""
    found = []
    for rule in rules(lab):
        number, digit = divmod(number, len(rule.values) + 1)
        if digit:
            found.append((rule, rule.values[digit - 1]))
    return found


def drawn(lab: Lab, key: str) -> list[tuple[Rule, dict[str, str]]]:
    """The rules of @lab that are others under @key."""
    number = number_of(lab)
    return variant(lab, 1 + _draw(key, f"lab {lab.number}", number)) if number else []


def filled(text: str, words: dict[str, str]) -> str:
    """@text with the values of its words."""
    return WORD.sub(lambda match: words.get(match[1], match[0]), text)


def told(lab: Lab, key: str) -> list[str]:
    """What the instructor is told of @lab under @key."""
    number = number_of(lab)
    if not number:
        return [f"lab {lab.number} has no variants: only its seed is another"]
    return [f"lab {lab.number}, one of {number} variants:",
            *(f"  {filled(rule.says, words)}" for rule, words in drawn(lab, key))]


def changed(chosen: list[tuple[Rule, dict[str, str]]], root: pathlib.Path = ROOT) -> Texts:
    """{file: its text} of each file in which a chosen rule is written down."""
    texts: Texts = {}
    for rule, words in chosen:
        for change in rule.changes:
            for name in change.files:
                text = texts.get(name) or (root / name).read_text(encoding="utf-8")
                if change.before not in text:
                    raise LabError(f"{rule.where}: {name} has no {change.before.strip().splitlines()[0]}")
                texts[name] = text.replace(change.before, filled(change.after, words))
    return texts


# --- the trunk of a key ---------------------------------------------------------------------------------------


def trunk() -> pathlib.Path | None:
    """Where the trunk is that this tree is a variant of; None: it is itself the trunk."""
    path = ROOT / MADE
    return pathlib.Path(json.loads(path.read_text(encoding="utf-8"))["trunk"]) if path.exists() else None


def write(lab: Lab, key: str, to: pathlib.Path) -> None:
    """Write the trunk of @key for @lab to @to."""
    texts = changed(drawn(lab, key))
    labs = (path for path in (ROOT / "labs").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for name in [*handout.source_files(), *(str(path.relative_to(ROOT)) for path in labs)]:
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in texts:
            target.write_text(texts[name], encoding="utf-8")
        else:
            shutil.copy2(ROOT / name, target)
    (to / MADE).write_text(json.dumps({"trunk": str(ROOT)}) + "\n", encoding="utf-8")


def run_elsewhere(lab: Lab, key: str, build: str, words: list[str]) -> int:
    """Run the command of @words in the trunk of @key for @lab, and return its status."""
    if handout.manifest(ROOT):
        raise LabError("a hand-out has the variant that it was made with: without --variant it is graded by that")
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        write(lab, key, pathlib.Path(directory))
        environment = {**os.environ, "PYTHONPATH": f"{directory}/tools", "B": str(pathlib.Path(build).resolve())}
        return subprocess.run([sys.executable, "-m", "fairground", *words], env=environment, check=False).returncode

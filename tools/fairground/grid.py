# SPDX-License-Identifier: GPL-2.0-only
"""The grid of a sweep: a file that spans it, its cells, and the store of their results."""

import hashlib
import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .expect import expect
from .qemu import QemuError
from .settings import SCHEDULERS, UsageError
from .stats import parse_seeds
from .tomlfile import TomlFile

KEYS = {"title": str, "policies": list, "workloads": list, "topologies": list, "hz": list, "time": str, "seeds": str,
        "features": list, "tunables": dict, "costs": dict}
TUNABLE = {"values": list, "policies": list}


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    policy: str
    workload: str
    topology: str
    hz: int
    time: str
    seed: int
    tunables: dict[str, int] = field(hash=False)
    features: tuple[str, ...]
    costs: dict[str, str] = field(hash=False)
    files: dict[str, str] = field(hash=False)  # name -> text of the rt-app files of the workload

    def words(self) -> list[str]:
        """The words for schedsim."""
        words = ["--sched", self.policy, "--topology", self.topology, "--hz", str(self.hz), "--time", self.time,
                 "--seed", str(self.seed), "--vary", str(self.seed)]
        words += [word for name, value in self.costs.items() for word in (f"--cost-{name}", value)]
        words += [word for name, value in self.tunables.items() for word in ("--set", f"{name}={value}")]
        words += [word for name in self.features for word in ("--features", name)]
        return words + [name if name in self.files else word
                        for word in self.workload.split() for name in [os.path.basename(word)]]

    def key(self, program: str) -> str:
        """The address of its result: all that it depends on. @program is the digest of the simulator."""
        text = json.dumps({**asdict(self), "program": program}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def digest_of(program: bytes, commit: str) -> str:
    """The digest of a simulator without the name of its @commit: a commit that changes no code changes no result."""
    return hashlib.sha256(program.replace(commit.encode(), b"")).hexdigest()


def commit_of(path: str) -> str:
    """The commit that the simulator at @path was built from, as it says itself."""
    done = subprocess.run([path, "--time", "1us", "hogs:n=1"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise QemuError(f"{path}: {done.stderr.strip() or done.returncode}")
    return expect(r"^schedsim (\S+): ", done.stdout)[1]


class Grid:
    """The cells of a file."""

    def __init__(self, path: Path, seeds: str | None = None) -> None:
        self.file = TomlFile(path)
        data = self.data = self.file.data
        self.file.check_keys((), data, KEYS, ("title", "policies", "workloads", "topologies", "time"))
        for key in ("policies", "workloads", "topologies", "hz"):
            if not data.get(key, [0]):
                raise self.file.wrong((key,), f"{key} is empty: the grid has no cell")
        for policy in data["policies"]:
            if policy not in SCHEDULERS:
                raise self.file.wrong(("policies",), f"{policy}: one of {', '.join(SCHEDULERS)} is expected")
        self.check_tunables()
        self.title: str = data["title"]
        self.seeds = parse_seeds(seeds or str(data.get("seeds", "1")))

    def check_tunables(self) -> None:
        for name, values in self.data.get("tunables", {}).items():
            if isinstance(values, dict):
                self.file.check_keys(("tunables", name), values, TUNABLE, ("values", "policies"))
            elif not isinstance(values, list):
                raise self.file.wrong(("tunables", name), f"{name} in tunables is a list, or a table of lists")

    def tunables(self, policy: str) -> Iterator[dict[str, int]]:
        """Each combination of the tunables that @policy has."""
        table = {}
        for name, values in self.data.get("tunables", {}).items():
            if isinstance(values, list):
                table[name] = values
            elif policy in values["policies"]:
                table[name] = values["values"]
        for chosen in itertools.product(*table.values()):
            yield dict(zip(table, chosen))

    @cached_property
    def files(self) -> dict[str, str]:
        """The texts of all rt-app files by the words that name them."""
        found = {}
        for word in {word for workload in self.data["workloads"] for word in workload.split()}:
            path = self.file.path.parent / word
            if word.endswith(".json"):
                try:
                    found[word] = path.read_text(encoding="utf-8")
                except OSError as error:
                    raise self.file.wrong(("workloads",), f"{path}: {error.strerror}") from None
        return found

    def cells(self) -> Iterator[Cell]:
        data = self.data
        for policy, workload, topology, hz in itertools.product(
                data["policies"], data["workloads"], data["topologies"], data.get("hz", [250])):
            files = {os.path.basename(word): self.files[word] for word in workload.split() if word in self.files}
            for tunables in self.tunables(policy):
                for seed in self.seeds:
                    yield Cell(policy, workload, topology, hz, data["time"], seed, tunables,
                               tuple(data.get("features", ())), data.get("costs", {}), files)


class Store:
    """Results by address, a file each. A file is there as a whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{directory}: {error.strerror}") from None

    def path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """The result at @key; None if there is none, or one that cannot be read."""
        try:
            found: dict[str, Any] = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep @result. UsageError if there is no room for it."""
        path = self.path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as f:
                json.dump(result, f)
            os.replace(f.name, path)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; what was finished before is kept") from None

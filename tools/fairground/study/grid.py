# SPDX-License-Identifier: GPL-2.0-only
"""The grid of a sweep: a file that spans it, its cells, and the store of their results."""

import hashlib
import itertools
import json
import math
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..base import tree
from ..base.errors import DAMAGE, FileError, reading, why_failed
from ..base.expect import expect
from ..base.settings import SCHEDULERS, UsageError, make_settings
from ..base.stats import parse_seeds
from ..base.tomlfile import NO_TEXT, TomlFile
from ..machine.qemu import QemuError
from ..machine.simulator import SCX, scx_object
from .claims import KERNEL, SIMULATOR
from .experiment_file import set_up
from .runs import other_start

KEYS = {"title": str, "policies": list, "workloads": list, "topologies": list, "hz": list, "time": str, "seeds": str,
        "features": list, "tunables": dict, "costs": dict, "hosts": list, "kernel": dict}
TUNABLE = {"values": list, "policies": list}
WORKLOAD = {"name": str, SIMULATOR: str, KERNEL: str}
MACHINE = {"mem": int, "timeout": int}
POLICY_NAME = re.compile(r"^policy\s+(\w+)", re.MULTILINE)
TRACING = "/sys/kernel/tracing"


@dataclass(frozen=True)
class Cell:
    """One run of the grid. What is run are words for schedsim, or a command of the kernel's shell."""

    policy: str
    workload: str  # its name
    topology: str
    hz: int
    time: str
    seed: int
    tunables: dict[str, int] = field(hash=False)
    features: tuple[str, ...]
    costs: dict[str, str] = field(hash=False)
    files: dict[str, str] = field(hash=False)  # name -> text of the workload's rt-app files, and of an own policy
    host: str = SIMULATOR
    run: str = ""

    def words(self) -> list[str]:
        """The words for schedsim."""
        words = policy_words(self.policy, self.files.get(self.policy, ""))
        words += ["--topology", self.topology, "--hz", str(self.hz), "--time", self.time,
                 "--seed", str(self.seed), "--vary", str(self.seed)]
        words += [word for name, value in self.costs.items() for word in (f"--cost-{name}", value)]
        words += [word for name, value in self.tunables.items() for word in ("--set", f"{name}={value}")]
        words += [word for name in self.features for word in ("--features", name)]
        return words + [name if name in self.files else word
                        for word in self.run.split() for name in [os.path.basename(word)]]

    def machine(self) -> dict[str, str]:
        """The settings of the kernel's machine, as texts; its topology is the simulator's."""
        return {"sched": self.policy, "hz": str(self.hz), "smp": str(cpus_of(self.topology)), "seed": str(self.seed),
                "icount": "1", "append": f"topology={self.topology}"}

    def command(self) -> str:
        """The command for the kernel's shell."""
        return recorded(self.run.replace("{time}", self.time), self.tunables, self.features, self.seed)

    def said(self) -> str:
        """The command that repeats the cell's run."""
        if self.host == SIMULATOR:
            return f"schedsim {' '.join(self.words())}"
        words = {**self.machine(), "cmd": self.command()}
        return " ".join(["make run", *(f"{name.upper()}={shlex.quote(text)}" for name, text in words.items())])

    def key(self, program: str) -> str:
        """The address of its result: all that it depends on. @program is the digest of what its host runs."""
        text = json.dumps({**asdict(self), "program": program}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def recorded(command: str, tunables: Mapping[str, Any], features: Iterable[str], seed: int) -> str:
    """Commands for the kernel's shell: only what @command does is recorded, and the first failure ends all."""
    return "; ".join(["set -e", f"echo 0 > {TRACING}/tracing_on", *set_up(tunables, features), other_start(seed),
                      f"echo > {TRACING}/trace", f"echo 1 > {TRACING}/tracing_on", command,
                      f"echo 0 > {TRACING}/tracing_on"])


def cpus_of(topology: str) -> int:
    """How many CPUs a machine of the shape @topology has, as 1x2x4x1. ValueError if it is none."""
    return math.prod(map(int, topology.split("x")))


def digest_of(program: bytes, commit: str) -> str:
    """The digest of a program without the name of its @commit: a commit that changes no code changes no result."""
    return hashlib.sha256(program.replace(commit.encode(), b"")).hexdigest()


def commit_of(path: str) -> str:
    """The commit that the simulator at @path was built from, as it says itself."""
    done = subprocess.run([path, "--time", "1us", "hogs:n=1"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise QemuError(f"{path}: {why_failed(done)}")
    return expect(r"^schedsim (\S+): ", done.stdout)[1]


def policy_words(policy: str, text: str = "") -> list[str]:
    """schedsim's words for a @policy that is built in, or a file: scx:NAME.so, NAME.so, or NAME.policy with this @text,
    which says its name."""
    if policy in SCHEDULERS:
        return ["--sched", policy]
    if policy.startswith(SCX):
        return ["--scx", policy.removeprefix(SCX)]
    named = POLICY_NAME.search(text) if policy.endswith(".policy") else None
    return ["--plugin", policy, "--sched", (named[1] if named else Path(policy).stem).replace("_", "-")]


def own_file(policy: str) -> str:
    """The file of a @policy that is not built in."""
    return scx_object(policy, os.path.abspath(tree.build())).partition(",")[0] if policy.startswith(SCX) else policy


class Grid:
    """The cells of a file."""

    def __init__(self, path: Path, seeds: str | None = None) -> None:
        self.file = TomlFile(path)
        data = self.data = self.file.data
        self.file.check_keys((), data, KEYS, ("title", "policies", "workloads", "topologies", "time"))
        for key in ("policies", "workloads", "topologies", "hz"):
            if not data.get(key, [0]):
                raise self.file.wrong((key,), f"{key} is empty: the grid has no cell")
        self.hosts: list[str] = data.get("hosts", [SIMULATOR])
        if not self.hosts or not set(self.hosts) <= {SIMULATOR, KERNEL}:
            raise self.file.wrong(("hosts",), f"hosts: {SIMULATOR}, {KERNEL} or both are expected")
        self.machine = data.get("kernel", {})
        self.file.check_keys(("kernel",), self.machine, MACHINE, ())
        self.own_policies = {policy: self.read_policy(policy) for policy in data["policies"]
                             if policy not in SCHEDULERS}
        self.check_tunables()
        self.check_workloads()
        self.check_machines()
        self.title: str = data["title"]
        self.seeds = parse_seeds(seeds or str(data.get("seeds", "1")))

    def read_policy(self, policy: str) -> str:
        """The contents of the file @policy, NAME.policy or NAME.so, or that of scx:FILE. Each byte that is no text has
        a stand-in."""
        if Path(policy).suffix not in (".policy", ".so") and not policy.startswith(SCX):
            raise self.file.wrong(("policies",), f"{policy}: one of {', '.join(SCHEDULERS)} is expected, or "
                                  f"NAME.policy or NAME.so, or {SCX}NAME.so")
        if KERNEL in self.hosts:
            raise self.file.wrong(("policies",), f"{policy}: policies of one's own run in the simulator only")
        try:
            return (self.file.path.parent / own_file(policy)).read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            raise self.file.wrong(("policies",), f"{policy}: {error.strerror}") from None

    def check_tunables(self) -> None:
        for name, values in self.data.get("tunables", {}).items():
            if isinstance(values, dict):
                self.file.check_keys(("tunables", name), values, TUNABLE, ("values", "policies"))
            elif not isinstance(values, list):
                raise self.file.wrong(("tunables", name), f"{name} in tunables is a list, or a table of lists")

    def check_workloads(self) -> None:
        for nr, workload in enumerate(self.data["workloads"]):
            if isinstance(workload, dict):
                self.file.check_keys(("workloads",), workload, WORKLOAD, ("name", *self.hosts))
            elif KERNEL in self.hosts:
                raise self.file.wrong(("workloads",), f"workload {nr + 1}: in the kernel a table is expected, as "
                                      "{ name = ..., kernel = a command, simulator = words for schedsim }")

    def check_machines(self) -> None:
        """Refuse what the kernel's machine cannot be."""
        if KERNEL not in self.hosts:
            return
        for topology, hz in itertools.product(self.data["topologies"], self.data.get("hz", [250])):
            try:
                make_settings({"smp": str(cpus_of(topology)), "append": f"topology={topology}", "hz": str(hz),
                               **{name: str(value) for name, value in self.machine.items()}})
            except (UsageError, ValueError) as error:
                raise self.file.wrong(("topologies",), f"topology {topology}, hz {hz}: {error}") from None

    def runs(self, host: str) -> Iterator[tuple[str, str]]:
        """Each workload on @host: its name, and what is run."""
        for workload in self.data["workloads"]:
            yield (workload["name"], workload[host]) if isinstance(workload, dict) else (workload, workload)

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
        for word in {word for _, run in self.runs(SIMULATOR) for word in run.split()}:
            path = self.file.path.parent / word
            if word.endswith(".json"):
                try:
                    with reading(path, FileError, NO_TEXT):
                        found[word] = path.read_text(encoding="utf-8")
                except FileError as error:
                    raise self.file.wrong(("workloads",), str(error)) from None
        return found

    def cells(self) -> Iterator[Cell]:
        for host in self.hosts:
            yield from self.cells_on(host)

    def cells_on(self, host: str) -> Iterator[Cell]:
        data, costs = self.data, self.data.get("costs", {}) if host == SIMULATOR else {}
        for policy, (workload, run), topology, hz in itertools.product(
                data["policies"], self.runs(host), data["topologies"], data.get("hz", [250])):
            files = {os.path.basename(word): self.files[word] for word in run.split()
                     if host == SIMULATOR and word in self.files}
            name = os.path.basename(own_file(policy))
            files |= {name: self.own_policies[policy]} if policy in self.own_policies else {}
            if policy.startswith(SCX):
                name = SCX + name + "".join(policy.partition(",")[1:])
            for tunables in self.tunables(policy):
                for seed in self.seeds:
                    yield Cell(name, workload, topology, hz, data["time"], seed, tunables,
                               tuple(data.get("features", ())), costs, files, host, run)


def fingerprint(result: Any) -> str:
    """The digest of a @result, however its JSON is laid out."""
    return hashlib.sha256(json.dumps(result, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Store:
    """Results by address, a file each, with a digest of the result. A file is there as a whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.changed: list[str] = []  # addresses of results that are not what was kept
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{directory}: {error.strerror}") from None

    def path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """The result at @key; None if there is none, or one that cannot be read, or was changed since."""
        try:
            text = self.path(key).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
        try:
            found: dict[str, Any] = json.loads(text)
            if found.pop("digest") == fingerprint(found):
                return found
        except (*DAMAGE, KeyError, AttributeError, TypeError):
            pass
        self.changed.append(key)
        return None

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep @result. UsageError if there is no room for it."""
        path = self.path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as f:
                json.dump({**result, "digest": fingerprint(result)}, f)
            os.replace(f.name, path)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; what was finished before is kept") from None

# SPDX-License-Identifier: GPL-2.0-only
"""A side of a comparison, and a workload: texts of parts that are joined by +, as eevdf+base_slice_ns=3000000 and
cpus=2+hogs:n=3+bursts:n=2. docs/measuring.md lists the parts."""

import functools
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..base.names import nearest
from ..base.option_values import shortened
from ..base.settings import SCHEDULERS, Settings, UsageError
from ..base.tree import ROOT
from ..machine import simulator
from ..machine.linux import KERNELS, RELEASES
from ..machine.simulator import SCX
from .claims import KERNEL, SIMULATOR
from .grid import cpus_of, policy_words, recorded

POLICY, HOST, COMMIT, TRACE = "policy", "host", "commit", "trace"
TUNABLE, FEATURE = "tunable ", "feature "
LINUX = "Linux "  # with its release: a host
HOST_WORDS = {"kernel:": KERNEL, "sim:": SIMULATOR, **{f"linux:{release}": LINUX + release for release in RELEASES}}
# Machines: options of schedsim. Those of KERNEL_TOO are boot parameters, too, or settings.
KERNEL_TOO = ("cpus", "topology", "opp", "governor", "preempt", "isolcpus", "hz")
COSTS = ("switch", "tick", "timer", "wake", "ipi", "migration", "cold", "shard", "mem")
MACHINE = (*KERNEL_TOO, "skew", "clock", "late-ticks", "jumps", *(f"cost-{name}" for name in COSTS))
TICK = "250"  # HZ of Debian's kernels
USUAL_COSTS = {"cost-switch": "2us", "cost-tick": "1us", "cost-wake": "1us", "cost-migration": "5us"}
JOINT = re.compile(r"\+(?=[A-Za-z./])")  # cores=4+2 is one part
BUILT_IN = ("hogs", "bursts", "yielders", "periodic", "forks", "jobs", "requests", "messages", "pingpong", "pipes",
            "hotplug", "group", "groups")  # workloads of schedsim


@functools.cache
def listed(name: str) -> frozenset[str]:
    """The names in the table sched/observe/@name.def."""
    text = (ROOT / f"sched/observe/{name}.def").read_text(encoding="utf-8")
    return frozenset(re.findall(r'^TUNABLE\(\w+, \w+,\s+"(\w+)"' if name == "tunable" else r"^FEATURE\((\w+)", text,
                                re.MULTILINE))


def part_of(text: str) -> tuple[str, str] | None:
    """What the part @text of a side sets, and to what value; None if it is no part of a side."""
    name, equals, value = text.partition("=")
    if text in SCHEDULERS or text.startswith(SCX) or Path(text).suffix in (".policy", ".so"):
        return POLICY, text
    if text in HOST_WORDS:
        return HOST, HOST_WORDS[text]
    if text.startswith("commit:"):
        return COMMIT, text.removeprefix("commit:")
    if text.endswith(".dat") or os.path.isdir(text):
        return TRACE, text
    if equals and value and name in MACHINE:
        return ("topology", f"1x1x{value}x1") if name == "cpus" else (name, value)
    if equals and value and name in listed("tunable"):
        return TUNABLE + name, value
    feature = text.removeprefix("NO_")
    return (FEATURE + feature, text) if feature in listed("feature") else None


def parts_of(text: str) -> dict[str, str]:
    """What each part of @text sets. UsageError if one is none, or two set the same."""
    found: dict[str, str] = {}
    for word in JOINT.split(text):
        part = part_of(word)
        if part is None:
            raise UsageError(f"{shortened(word)}: {not_a_part(word)}")
        if part[0] in found:
            raise UsageError(f"{shortened(text)}: {part[0]} is set twice")
        found[part[0]] = part[1]
    return found


def not_a_part(word: str) -> str:
    """Why @word is neither a part of a side nor a workload, with what may have been meant."""
    name = word.partition("=")[0].partition(":")[0]
    if name == "linux":
        return f"one of {', '.join(f'linux:{release}' for release in RELEASES)} is expected"
    meant = nearest(name, {*SCHEDULERS, *MACHINE, *BUILT_IN, *listed("tunable"), *listed("feature")})
    return "a policy, NAME=VALUE, a feature, a file, commit:REV or a host is expected" + (
        f"; is {meant} meant?" if meant else " (docs/measuring.md)")


def is_side(text: str) -> bool:
    """Is the first part of @text one of a side that is no machine alone? cpus=2+hogs:n=3 is a workload."""
    return all(part_of(word) for word in JOINT.split(text))


def text_of(policy: str) -> str:
    """The text of a @policy in a file NAME.policy; nothing of another, or of one that the simulator is to refuse."""
    try:
        return Path(policy).read_text(encoding="utf-8") if policy.endswith(".policy") else ""
    except (OSError, ValueError):
        return ""


@dataclass(frozen=True)
class Workload:
    """What runs: words for schedsim, a command for the kernel's shell, and the machine that both expect."""

    name: str
    simulator: tuple[str, ...] = ()
    kernel: str = ""
    machine: Mapping[str, str] = field(default_factory=dict, hash=False)

    def said(self, hosts: Collection[str]) -> str:
        """The workload as text: its name, and what it is on @hosts."""
        machine = [f"{name}={value}" for name, value in self.machine.items()]
        texts = {SIMULATOR: "+".join([*machine, *map(relative, self.simulator)]), KERNEL: self.kernel}
        found = [f"in the {host}: {text}" if len(hosts) > 1 else text for host, text in texts.items()
                 if host in hosts and text != self.name]
        return f"workload {self.name}" + (f": {'; '.join(found)}" if found else "")


def relative(word: str) -> str:
    """The @word for schedsim; the path of a file as it is from here."""
    return os.path.relpath(word) if word.endswith(".json") else word


def workload_of(text: str) -> Workload:
    """The workload @text: built-in ones, rt-app files and the machine's parts, joined by +; or NAME.sh, commands for
    the kernel's shell."""
    if text.endswith(".sh"):
        try:
            return Workload(text, kernel=Path(text).read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as error:
            raise UsageError(f"{text}: {error}") from None
    words, machine = [], {}
    for word in sorted(JOINT.split(text), key=lambda word: part_of(word) is not None):  # what is mistyped comes first
        part = part_of(word)
        if part and part[0] in MACHINE:
            machine[part[0]] = part[1]
        elif word.endswith(".json") or word.partition(":")[0] in BUILT_IN:
            words.append(word)
        elif part:
            raise UsageError(f"{shortened(word)} is part of a side; sides come before the workloads")
        else:
            raise UsageError(f"{shortened(word)}: {not_a_part(word)}")
    if not words:
        raise UsageError(f"{shortened(text)}: a workload is expected, as hogs:n=3 or cpus=2+hogs:n=3")
    return Workload(text, tuple(words), machine=machine)


@dataclass(frozen=True)
class Side:
    """One side: what its text sets."""

    text: str
    parts: Mapping[str, str] = field(hash=False)

    @property
    def host(self) -> str:
        return self.parts.get(HOST, SIMULATOR)

    @property
    def linux(self) -> str | None:
        """The release of Debian's Linux on which the runs are made, if they are."""
        return self.host.removeprefix(LINUX) if self.host.startswith(LINUX) else None

    @property
    def trace(self) -> str | None:
        return self.parts.get(TRACE)

    def named(self, kind: str) -> dict[str, str]:
        """The tunables or the features that are set, by name."""
        return {name.removeprefix(kind): value for name, value in self.parts.items() if name.startswith(kind)}

    def machine(self, workload: Workload, settings: Settings) -> dict[str, str]:
        """The machine: the settings', with what @workload expects and this side changes."""
        own = {name: value for name, value in self.parts.items() if name in MACHINE}
        return {"topology": f"1x1x{settings.cpus}x1", "hz": str(settings.hz), **workload.machine, **own}

    def policy(self, settings: Settings) -> str:
        """The policy; that of the @settings as the user gave it, unless this side has its own."""
        return self.parts.get(POLICY, settings.given.get("sched", settings.sched))

    def words(self, workload: Workload, settings: Settings, seed: int, time: str) -> list[str]:
        """The words for schedsim."""
        policy = self.policy(settings)
        words = ["--seed", str(seed), "--vary", str(seed), "--time", time]
        if policy.startswith(SCX):
            words += simulator.policy_words(policy, settings.build)
        else:
            words += policy_words(policy, text_of(policy))
        for name, value in {**USUAL_COSTS, **self.machine(workload, settings)}.items():
            words += [f"--{name}", value]
        words += [word for name, value in self.named(TUNABLE).items() for word in ("--set", f"{name}={value}")]
        words += [word for value in self.named(FEATURE).values() for word in ("--features", value)]
        return words + list(workload.simulator)

    def boot(self, workload: Workload, settings: Settings, seed: int) -> dict[str, str]:
        """The settings of the kernel's machine, as texts."""
        policy = self.policy(settings)
        if policy not in SCHEDULERS and not policy.startswith(SCX):
            raise UsageError(f"{self.text}: {policy} runs in the simulator only")
        machine = self.machine(workload, settings)
        if self.linux:
            return self.boot_linux(machine, settings, seed)
        if policy.startswith(SCX):
            policy = SCX + simulator.scx_object(policy, settings.build, ".o")
        for name in machine:
            if name not in KERNEL_TOO and name in self.parts:
                raise UsageError(f"{self.text}: {name} is of the simulator only")
        append = [f"{name}={value}" for name, value in machine.items() if name in KERNEL_TOO and name != "hz"]
        return {**settings.given, "sched": policy, "hz": machine["hz"], "seed": str(seed), "icount": "1", "cmd": "",
                "smp": str(cpus_of(machine["topology"])), "append": " ".join([settings.append, *append]).strip()}

    def boot_linux(self, machine: Mapping[str, str], settings: Settings, seed: int) -> dict[str, str]:
        """The settings of Linux's machine: CPUs that share a cache, the tick of Debian's kernels, our usual model of
        preemption."""
        if POLICY in self.parts or COMMIT in self.parts:
            raise UsageError(f"{self.text}: Linux has its own policy, and no commit of ours")
        given = {name: value for name, value in machine.items() if name not in ("topology", "hz", "preempt")}
        cpus = cpus_of(machine["topology"])
        if given or machine["topology"] != f"1x1x{cpus}x1" or machine["hz"] != TICK:
            raise UsageError(f"{self.text}: of a machine Linux takes cpus=N and preempt=MODEL, at hz={TICK}")
        return {**settings.given, "seed": str(seed), "cmd": "", "smp": str(cpus),
                "append": f"preempt={machine.get('preempt', 'full')}"}

    def command(self, workload: Workload, seed: int, time: str) -> str:
        """The command for the kernel's shell. Only what the workload does is recorded, and the first failure ends
        all."""
        if not workload.kernel:
            raise UsageError(f"{workload.name}: the kernel runs NAME.sh, commands of its shell, or a workload by name "
                             "(docs/measuring.md)")
        return recorded(workload.kernel.replace("{time}", time), self.named(TUNABLE), list(
            self.named(FEATURE).values()), seed)

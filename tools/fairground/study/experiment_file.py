# SPDX-License-Identifier: GPL-2.0-only
"""Experiments as files: reads experiments/NAME.toml and says what is wrong in it. docs/experiments.md has the keys.

The file's `code` names a module, experiments/NAME.py beside this file, for all that TOML cannot say: measure(x, run)
takes figures from a trace, draw(x, figure, results) makes the picture, and other functions are for the file's
expressions. There x is the Experiment, and x.v has the file's values.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from .. import experiments
from ..base.errors import reading
from ..base.expect import expect
from ..base.settings import UsageError
from ..base.stats import parse_seeds
from ..base.tomlfile import KeyPath, TomlFile
from ..base.tree import ROOT
from ..machine.simulator import SCX
from . import expressions
from .claims import KERNEL, SIMULATOR, TRACED, Claim, bound_of
from .expressions import BadExpression

FOLDER = ROOT / "experiments"
TEXT_OR_NUMBER = (str, int)
NUMBER = (int, float, str)  # a text is an expression in @{}
TABLE = {"machine": dict, "values": dict, "tunables": dict, "kernel": dict, "simulator": dict, "metrics": dict}
KEYS = {"title": str, "source": str, "code": str, "policies": list, "seconds": int, "timeout": int, "seeds": str,
        "events": str, "twice": list, "picture": list, "features": (list, str), "case": list, "claim": list, **TABLE}
REQUIRED = ("title", "source", "policies", "seconds", "machine", "case", "claim", "metrics")
MACHINE = {"smp": TEXT_OR_NUMBER, "hz": int, "append": str, "mem": TEXT_OR_NUMBER, "numa": int}
CASE = {"name": str, "for": dict, "when": str, "policies": (list, str), "hosts": (list, str), "values": dict,
        "tunables": (dict, str), "features": (list, str)}
SIMULATED = {"topology": str, "time": str, "opp": str, "governor": str, "costs": dict, "set": dict, "workload": str,
             "rtapp": (dict, str)}
RTAPP = {"global": dict, "groups": list, "tasks": list}
ENTRY = {"name": str, "for": dict, "when": str, "is": dict}
METRIC = {"text": str, "value": str, "hosts": list}
CLAIM = {"for": dict, "when": str, "text": str, "value": str, "form": str, "published": (*NUMBER, list),
         "line": TEXT_OR_NUMBER, "policies": (list, str), "hosts": (list, str), "near": NUMBER, "about": NUMBER,
         "equals": NUMBER, "within": NUMBER, "range": (list, str), "holds": str, "bound": str}
BOUNDS = ("near", "about", "equals", "within", "range", "holds")
DEBUG, SYSCTL = "/sys/kernel/debug/sched", "/proc/sys/kernel"


def set_up(tunables: Mapping[str, Any], features: Iterable[str]) -> list[str]:
    """Commands for the kernel's shell that set @tunables and @features."""
    return [f"echo {value} > {SYSCTL if name.startswith('sched_') else DEBUG}/{name}"
            for name, value in tunables.items()] + [f"echo {name} > {DEBUG}/features" for name in features]


@dataclass
class Case:
    """One case: what it sets, and where it runs. Without policies or hosts it runs under and on all."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    tunables: dict[str, Any] = field(default_factory=dict)
    features: list[str] = field(default_factory=list)
    policies: list[str] | None = None
    hosts: list[str] | None = None


class Experiment:
    """One experiment: its file, what the file says, and the Python beside it."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.file = TomlFile(path, text)
        self.name, data = path.stem, self.file.data
        self.data: dict[str, Any] = data
        check_form(self.file)
        self.title, self.source, self.seconds = data["title"], data["source"], data["seconds"]
        self.policies: list[str] = data["policies"]
        self.timeout = str(data.get("timeout", ""))
        self.events: str = data.get("events", TRACED)
        self.twice: list[str] = data.get("twice", [])
        self.seeds = parse_seeds(data["seeds"]) if "seeds" in data else []
        self.picture: list[float] = data.get("picture", [11, 4.2])
        self.hosts = tuple(host for host in (KERNEL, SIMULATOR) if host in data)
        self.machine = {name: str(value) for name, value in data["machine"].items()}
        self.code: ModuleType | None = self.load_code()
        self.values: dict[str, Any] = {}
        for name, value in data.get("values", {}).items():
            self.values[name] = self.filled(value, self.values, ("values", name))
        self.v = SimpleNamespace(**self.values)
        self.cases = {case.name: case for case in self.make_cases()}
        check_use(self)

    # --- reading ---

    def load_code(self) -> ModuleType | None:
        name = self.data.get("code")
        if not name:
            return None
        if not re.fullmatch(r"\w+", name) or not (Path(__file__).parents[1] / "experiments" / f"{name}.py").exists():
            raise self.file.wrong(("code",), f"there is no tools/fairground/experiments/{name}.py")
        return importlib.import_module(f"{experiments.__name__}.{name}")

    @cached_property
    def functions(self) -> dict[str, Any]:
        """The functions that the file's expressions may call. The experiment is the first argument of those that want
        it: their first parameter is called x."""
        found: dict[str, Any] = {}
        here = self.code.__name__ if self.code else ""
        for name, value in vars(self.code).items() if self.code else ():
            if isinstance(value, FunctionType) and value.__module__ == here:
                wants = value.__code__.co_varnames[:1] == ("x",)
                found[name] = partial(value, self) if wants else value
        return found

    def filled(self, value: Any, scope: dict[str, Any], where: KeyPath) -> Any:
        """@value with its expressions replaced. UsageError with the line of @where if one makes no sense."""
        try:
            return expressions.fill(value, {**self.functions, **scope})
        except UsageError:
            raise
        except (BadExpression, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise self.file.wrong(where, str(error)) from None

    def loops(self, table: dict[str, Any], scope: dict[str, Any], where: KeyPath) -> Iterator[dict[str, Any]]:
        """The scopes of @table's `for`, without those for which its `when` is false."""
        try:
            for made in expressions.loop(table.get("for", {}), {**self.functions, **scope}):
                inner = {**scope, **made}
                if "when" not in table or expressions.evaluate(table["when"], {**self.functions, **inner}):
                    yield inner
        except (BadExpression, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise self.file.wrong(where, str(error)) from None

    def make_cases(self) -> Iterator[Case]:
        for nr, table in enumerate(self.data["case"]):
            where = ("case", nr)
            for scope in self.loops(table, self.values, where):
                set_here = self.filled(table.get("values", {}), scope, where)
                made = {name: scope[name] for name in scope.keys() - self.values.keys()}
                scope = {**scope, **set_here}
                get = partial(self.of_case, table, scope, where)
                yield Case(str(self.filled(table["name"], scope, where)), {**made, **set_here},
                           {**self.filled(self.data.get("tunables", {}), scope, ("tunables",)), **get("tunables", {})},
                           [*self.filled(self.data.get("features", []), scope, ("features",)), *get("features", [])],
                           get("policies", None), get("hosts", None))

    def of_case(self, table: dict[str, Any], scope: dict[str, Any], where: KeyPath, key: str, default: Any) -> Any:
        return self.filled(table[key], scope, (*where, key)) if key in table else default

    # --- what is run ---

    def scope(self, case: str, seconds: int, seed: int = 1) -> dict[str, Any]:
        """The names of the expressions about a run of @case."""
        return {**self.values, **self.cases[case].values, "case": case, "seconds": seconds, "seed": seed}

    def runs(self, host: str, policy: str, case: str) -> bool:
        chosen = self.cases[case]
        if host == KERNEL and policy.startswith(SCX):
            return False
        return (host in self.hosts and (chosen.hosts is None or host in chosen.hosts)
                and (chosen.policies is None or policy in chosen.policies))

    def kernel(self, case: str, seconds: int) -> str:
        """The command line for the kernel's shell. Tunables and features come first."""
        chosen = self.cases[case]
        command: str = self.filled(self.data["kernel"]["command"], self.scope(case, seconds), ("kernel", "command"))
        return "; ".join([*set_up(chosen.tunables, chosen.features), command])

    def workload(self, case: str, seconds: int, seed: int = 1) -> Any:
        """The same for the simulator: rt-app's JSON as a table, or the text of a built-in workload."""
        table, scope = self.data["simulator"], self.scope(case, seconds, seed)
        if "workload" in table:
            return self.filled(table["workload"], scope, ("simulator", "workload"))
        if isinstance(table["rtapp"], str):
            return self.filled(table["rtapp"], scope, ("simulator", "rtapp"))
        rtapp, where = table["rtapp"], ("simulator", "rtapp")
        found = {"global": self.filled(rtapp["global"], scope, (*where, "global")),
                 "taskgroups": self.entries(rtapp, "groups", scope), "tasks": self.entries(rtapp, "tasks", scope)}
        return {key: value for key, value in found.items() if value}

    def entries(self, rtapp: dict[str, Any], key: str, scope: dict[str, Any]) -> dict[str, Any]:
        """The tasks or groups of a file. An empty table among their values is left out: `when` of a value."""
        found = {}
        for nr, entry in enumerate(rtapp.get(key, [])):
            where = ("simulator", "rtapp", key, nr)
            for inner in self.loops(entry, scope, where):
                made = self.filled(entry["is"], inner, where)
                found[self.filled(entry["name"], inner, where)] = {k: v for k, v in made.items() if v is not None}
        return found

    def simulate(self, case: str, seconds: int) -> list[str]:
        """Options of schedsim: --topology also sets the number of CPUs."""
        chosen, table = self.cases[case], self.data["simulator"]
        scope, where = self.scope(case, seconds), ("simulator",)
        words = [word for key in ("topology", "time", "opp", "governor") if key in table
                 for word in (f"--{key}", str(self.filled(table[key], scope, (*where, key))))]
        costs = self.filled(table.get("costs", {}), scope, (*where, "costs"))
        words += [word for name, value in costs.items() for word in (f"--cost-{name}", str(value))]
        tunables = {**chosen.tunables, **self.filled(table.get("set", {}), scope, (*where, "set"))}
        words += [word for name, value in tunables.items() for word in ("--set", f"{name}={value}")]
        return words + [word for name in chosen.features for word in ("--features", name)]

    # --- what comes of it ---

    def measure(self, run: Any) -> dict[str, Any]:
        """The figures of @run: those that the code takes from it, and the file's metrics."""
        found: dict[str, Any] = self.functions["measure"](run) if "measure" in self.functions else {}
        scope = {**self.scope(run.case, run.seconds), **self.functions, "host": run.host, "f": found, "task": run.task,
                 "number": lambda pattern: float(expect(pattern, run.console)[1]),
                 "total": lambda pattern: sum(map(float, re.findall(pattern, run.console, re.M)))}
        for name, metric in self.data["metrics"].items():
            if run.host not in metric.get("hosts", [run.host]):
                continue
            if "value" in metric:
                found[name] = self.filled(f"@{{{metric['value']}}}", {**scope, **found}, ("metrics", name))
            elif name not in found:
                raise self.file.wrong(("metrics", name), f"nothing measures {name}: neither a value nor the code")
        return found

    def metrics(self) -> dict[str, str]:
        """What each metric is, by name."""
        return {name: metric["text"] for name, metric in self.data["metrics"].items()}

    def claims(self) -> list[Claim]:
        found = []
        for nr, table in enumerate(self.data["claim"]):
            where = ("claim", nr)
            scope = {**self.values, "policies": self.policies, "cases": list(self.cases)}
            for inner in self.loops(table, scope, where):
                found.append(self.claim(table, inner, where))
        return found

    def claim(self, table: dict[str, Any], scope: dict[str, Any], where: KeyPath) -> Claim:
        get = partial(self.of_case, table, scope, where)
        form, published = get("form", "{:.3f}"), get("published", "-")
        several = published if isinstance(published, list) else [published]
        shown = " to ".join(value if isinstance(value, str) else form.format(value) for value in several)
        kind = next((key for key in BOUNDS if key in table), None)
        if kind == "near" and isinstance(published, str | list):
            raise self.file.wrong(where, "near needs a published number")
        holds: Callable[[Any], bool] = lambda v: True
        bound = "none"
        if kind == "holds":
            bound = get("bound", "")
            holds = lambda v: bool(self.filled(f"@{{{table['holds']}}}", {**scope, "v": v}, where))
        elif kind:
            bound, holds = bound_of(kind, get(kind, None), published, form)
        return Claim(get("text", ""), shown, bound, tuple(get("policies", self.policies)), holds,
                     lambda r: self.filled(f"@{{{table['value']}}}", {**scope, "r": r}, where), form,
                     tuple(get("hosts", list(self.hosts))), kind is not None,
                     tuple(value for value in several if not isinstance(value, str)), str(get("line", "")))

    def draw(self, figure: Any, results: dict[str, Any]) -> None:
        """The picture. The code has it."""
        self.functions["draw"](figure, results)

    @property
    def draws(self) -> bool:
        return "draw" in self.functions


# --- checks -----------------------------------------------------------------------------------------------------------


def check_form(file: TomlFile) -> None:
    """UsageError at the first key that is unknown, missing or of the wrong kind."""
    data = file.data
    file.check_keys((), data, KEYS, REQUIRED)
    file.check_keys(("machine",), data["machine"], MACHINE)
    file.check_keys(("kernel",), data.get("kernel", {}), {"command": str})
    check_simulator(file)
    for key, known, required in (("case", CASE, ("name",)), ("claim", CLAIM, ("text", "value"))):
        for nr, table in enumerate(data[key]):
            file.check_keys((key, nr), table, known, required)
    for name, metric in data["metrics"].items():
        file.check_keys(("metrics", name), metric, METRIC, ("text",))
    for nr, table in enumerate(data["claim"]):
        bounds = [key for key in BOUNDS if key in table]
        if len(bounds) > 1 or ("holds" in bounds) != ("bound" in table):
            raise file.wrong(("claim", nr), "a claim has one bound at most, and `holds` its words in `bound`")
        if bounds and "published" in table and "line" not in table:
            raise file.wrong(("claim", nr), "a published value needs the line of the source where it stands")
    if "kernel" not in data and "simulator" not in data:
        raise file.wrong((), "neither a table kernel nor a table simulator: the experiment runs nowhere")
    if "kernel" in data and "command" not in data["kernel"]:
        raise file.wrong(("kernel",), "kernel lacks the key command")


def check_simulator(file: TomlFile) -> None:
    table = file.data.get("simulator")
    if table is None:
        return
    file.check_keys(("simulator",), table, SIMULATED)
    if ("workload" in table) == ("rtapp" in table):
        raise file.wrong(("simulator",), "simulator has either a workload or rtapp")
    if isinstance(table.get("rtapp"), dict):
        where = ("simulator", "rtapp")
        file.check_keys(where, table["rtapp"], RTAPP, ("global", "tasks"))
        for key in ("groups", "tasks"):
            for nr, entry in enumerate(table["rtapp"].get(key, [])):
                file.check_keys((*where, key, nr), entry, ENTRY, ("name", "is"))


def check_use(x: Experiment) -> None:
    """UsageError if a value, or a case that is made twice, has no effect."""
    used: set[str] = set(re.findall(r"\bx\.v\.(\w+)", Path(x.code.__file__ or "").read_text("utf-8") if x.code else ""))
    with reading(x.file.path, UsageError):
        used |= {name for text in all_expressions(x.data) for name in expressions.free_names(text)}
    for name in x.values.keys() - used:
        raise x.file.wrong(("values", name), f"the value {name} is used nowhere")
    for name in x.twice:
        if name not in x.cases or KERNEL not in x.hosts:
            raise x.file.wrong(("twice",), f"twice: the kernel has no case {name}")
    for case in x.cases.values():
        for policy in case.policies or ():
            if policy not in x.policies:
                raise x.file.wrong(("case",), f"case {case.name}: {policy} is none of the experiment's policies")


def all_expressions(data: Any) -> Iterator[str]:
    """Each expression of a file: in @{}, and the values of keys that are expressions."""
    yield from expressions.holes(data)
    for table in data["case"] + data["claim"] + rtapp_entries(data):
        yield from (table[key] for key in ("when", "value", "holds") if key in table)
        yield from (values for values in table.get("for", {}).values() if isinstance(values, str))
    yield from (metric["value"] for metric in data["metrics"].values() if "value" in metric)


def rtapp_entries(data: Any) -> list[Any]:
    rtapp = data.get("simulator", {}).get("rtapp", {})
    return [] if isinstance(rtapp, str) else rtapp.get("groups", []) + rtapp.get("tasks", [])


def names() -> list[str]:
    """Every experiment there is."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Experiment:
    if name not in names():
        raise UsageError(f"{name}: there is no such experiment, only {', '.join(names())}")
    return Experiment(FOLDER / f"{name}.toml")

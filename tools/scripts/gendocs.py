#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the reference pages of docs/ from the .def lists. The C structures come from the same lists.

Usage: gendocs.py    rewrites the pages; tidy.py checks that they are up to date
"""

import ast
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence

import apidocs
import boot_variance
import calibration
import decisiondocs
import guards
import replanteddocs
import seedsdocs
import usage

NOTE = "<!-- Made from {source} by tools/scripts/gendocs.py; change that and run `make generated`. -->\n"
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|[(),]|[^"(),/]+|/', re.DOTALL)


def rows(source: str, macro: str) -> Iterator[list[str]]:
    """The arguments of each use of @macro in @source, its own simple macros expanded; adjacent strings are joined."""
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(source).read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"\\\n\s*", "", text)
    for name, value in re.findall(r"^#define (\w+) (.*)$", text, re.MULTILINE):
        text = re.sub(rf"\b{name}\b", value.replace("\\", r"\\"), text)
    for match in re.finditer(rf"^{macro}\(", text, re.MULTILINE):
        yield [argument(a) for a in split_arguments(text[match.end():])]


def split_arguments(text: str) -> list[str]:
    """The arguments up to the parenthesis that closes, split at the commas of the outermost level."""
    depth, current = 0, ""
    out: list[str] = []
    for token in TOKEN.findall(text):
        if token == ")" and depth == 0:
            return out + [current]
        if token == "," and depth == 0:
            out.append(current)
            current = ""
            continue
        depth += {"(": 1, ")": -1}.get(token, 0)
        current += token
    raise ValueError("a list entry without its closing parenthesis")


def argument(text: str) -> str:
    """A string's value, any other argument as it is."""
    text = text.strip()
    if text.startswith('"') and text.endswith('"'):
        return "".join(ast.literal_eval(part) for part in re.findall(r'"(?:\\.|[^"\\])*"', text))
    return text


def page(title: str, source: str, intro: str, header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    body = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    body += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines]
    return f"# {title}\n{NOTE.format(source=source)}\n{intro}\n\n" + "\n".join(body) + "\n"


def tunables() -> str:
    source = "sched/observe/tunable.def"
    where = {"debug": "/sys/kernel/debug/sched/", "sysctl": "/proc/sys/kernel/",
             "qos": "/sys/kernel/debug/qos/qos_params: ", "freq": "/sys/devices/system/cpu/cpufreq/sched/"}
    def folder(file: str, w: str) -> str:
        if w == "freq" and file.startswith("sched_"):
            return where["sysctl"]
        return "/sys/devices/system/cpu/cpufreq/schedutil/" if file == "rate_limit_us" else where[w]
    lines = [(f"`{folder(file, w)}{file}`", policy.replace("NULL", ""), default,
              "yes" if scaled == "true" else "no", doc)
             for _, _, file, w, default, scaled, _, policy, doc in rows(source, "TUNABLE")]
    return page("Tunables", source,
                "Files that change how the scheduler decides; names, defaults and errors are Linux's.\n"
                "Scaled: the default is multiplied by 1 + log2 of the number of CPUs (at most 8).\n"
                "Policy: the fair policy it belongs to. A file that several policies know means the row of the one in\n"
                "use, or the first if that has none; each row has its own value.",
                ("file", "policy", "default", "scaled", "meaning"), lines)


def features() -> str:
    source = "sched/observe/feature.def"
    lines = [(f"`{name}`", "on" if on == "true" else "off", doc) for name, on, doc in rows(source, "FEATURE")]
    return page("Features", source,
                "Switches in `/sys/kernel/debug/sched/features`: write the name to switch one on, `NO_` and the name\n"
                "to switch it off.", ("feature", "default", "meaning"), lines)


def invariants() -> str:
    source = "sched/observe/invariant.def"
    lines = [(f"**{number}**", statement, broken) for number, statement, broken in rows(source, "INVARIANT")]
    return page("Invariants", source,
                "Rules that always hold in the scheduler. `sched/observe/check.c` and the classes test them after\n"
                "every operation of the unit and property tests, and every so often in a debug kernel. An id begins\n"
                "with its subject: T tasks, R runqueues, Q queues, P load averages, W work, and so on.",
                ("id", "what holds", "what would break it"), lines)


def events() -> str:
    files = ("sched/observe/event.def", "sched/observe/decision.def", "kernel/trace/event.def")
    source = f"{files[0]}, {files[1]} and {files[2]}"
    lines = []
    for path in files:
        for macro, skipped in (("EVENT", 4), ("TRACE_EVENT", 5)):
            lines += [(row[2], f"`{row[0]}:{row[1]}`", f"`{row[skipped]}`") for row in rows(path, macro)]
    lines.sort(key=lambda line: int(line[0]))
    return page("Trace events", source,
                "What can be recorded: `/sys/kernel/tracing/events/SYSTEM/NAME`. Names, fields and texts are Linux's,\n"
                "so `trace-cmd` and KernelShark read our traces. Events of the system `decision` are ours:\n"
                "[decisions.md](decisions.md).", ("id", "event", "text"), lines)


def parameters() -> str:
    source = "kernel/base/param.def"
    lines = [(f"`{name}={values}`" if values else f"`{name}`", default, doc)
             for name, values, default, doc in rows(source, "PARAM")]
    return page("Boot parameters", source,
                "Words of the kernel's command line: `make run APPEND=\"llc=2 watchdog=10\"`. The kernel says which\n"
                "words it does not know, and gives them to the first program ([machine.md](machine.md)).",
                ("word", "default", "meaning"), lines)


PAGES = {"docs/tunables.md": tunables, "docs/features.md": features, "docs/invariants.md": invariants,
         "docs/events.md": events, "docs/parameters.md": parameters,
         "docs/api.md": apidocs.page, "docs/seeds.md": seedsdocs.page,
         "docs/calibration.md": calibration.page, "docs/measuring.md": boot_variance.page,
         "docs/fields.md": guards.page, "docs/replanted.md": replanteddocs.page,
         "docs/decisions.md": decisiondocs.page, "docs/decisions.schema.json": decisiondocs.schema}


def stale() -> Iterator[str]:
    """A finding for each page that differs from its list."""
    for path, make in PAGES.items():
        file = pathlib.Path(path)
        if not file.exists() or file.read_text(encoding="utf-8") != make():
            yield f"{path}:1: not what its .def file says; run make generated"


def main() -> None:
    usage.words(__doc__, 0, 0)
    for path, make in PAGES.items():
        pathlib.Path(path).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""The results as lines, as a table, and as the middle of docs/mutation.md."""

import pathlib
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .verdicts import KINDS, Verdict

PAGE = pathlib.Path("docs/mutation.md")
GENERATED = re.compile(r"(<!-- generated: make mutate -->\n).*?(<!-- end -->)", re.DOTALL)
WIDTH = 120  # of a line of prose
SHOWN = 100  # characters of a text
PHASES = ("unit tests", "short exploration", "property tests and long exploration", "tests of the simulator",
          "its long ones")
KERNEL_PHASES = ("objects on this host", "nothing", "selftests and programs in the machine")
Result = Mapping[str, Any]


def change(result: Result) -> str:
    texts = [text if len(text) <= SHOWN else f"{text[:SHOWN // 2]} ... {text[-SHOWN // 2:]}"
             for text in (result["before"], result["after"] or "nothing")]
    return " -> ".join(texts)


def line(result: Result) -> str:
    by = f" by {result['by']}: {result['reason']}" if "by" in result else ""
    return (f"{result['verdict']:<9} {result['file']}:{result['line']} {result['operator']}: {change(result)}{by} "
            f"[{result['cpu_s']:.1f} s]")


@dataclass(frozen=True)
class Table:
    """All @results, and what is @known of the survivors among them; @before: those without the tests added since."""

    results: Sequence[Result]
    known: Mapping[str, Verdict]
    of: int
    seed: int
    commit: str
    invalid: int
    before: Sequence[Result] = ()

    def kind(self, result: Result) -> str:
        """killed, same code, a kind of verdict, or hole."""
        if result["verdict"] in ("killed", "same code"):
            return str(result["verdict"])
        verdict = self.known.get(result["key"])
        return verdict.kind if verdict else "hole"

    def kinds(self) -> list[str]:
        return ["killed", "hole", *(kind for kind in KINDS), "same code"]

    def rows(self, name: Callable[[Result], str]) -> list[tuple[str, list[int]]]:
        """For each name: how many results of each kind."""
        names = sorted({name(result) for result in self.results})
        return [(each, [sum(name(result) == each and self.kind(result) == kind for result in self.results)
                        for kind in self.kinds()]) for each in names]

    def score(self) -> str:
        kinds = [self.kind(result) for result in self.results]
        killed, all_valid = kinds.count("killed"), len(kinds)
        different = all_valid - kinds.count("same code") - kinds.count("equivalent")
        deciding = different - kinds.count("cost only") - kinds.count("text only")
        return (f"Killed: {killed} of {all_valid} that compile ({percent(killed, all_valid)}); {killed} of {different} "
                f"({percent(killed, different)}) without those of the same code and those judged equivalent; {killed} "
                f"of {deciding} ({percent(killed, deciding)}) without those judged cost only and text only, too."
                f"{self.closed()}")

    def closed(self) -> str:
        """What tests that were written for survivors made of the score."""
        killed = sum(result["verdict"] == "killed" for result in self.before)
        return (f" Before tests were written for what survived, {killed} of {len(self.before)} were killed "
                f"({percent(killed, len(self.before))} of all that compile).") if self.before else ""

    def met(self) -> str:
        """The tests that all survivors met."""
        names = KERNEL_PHASES if self.results[0]["file"].startswith("kernel/") else PHASES
        phases = [result.get("phase", len(names) - 1) for result in self.results
                  if result["verdict"] in ("survived", "unreached")]
        met = names[:min(phases, default=len(names)) + 1]
        return f" The survivors met {len(met)} of {len(names)} phases: {', '.join(met)}." if phases else ""

    def about(self) -> str:
        invalid = "" if self.before else f"; {self.invalid} more did not compile"
        first = self.before or self.results
        cpu_s = sum(result["cpu_s"] for result in first) / max(1, len(first))
        return (f"Seed {self.seed} at commit {self.commit}: {len(self.results)} of {self.of} mutations{invalid}. "
                f"{cpu_s:.1f} s of CPU time each.{self.met()}")

    def text(self) -> str:
        survivors = [result for result in self.results if self.kind(result) not in ("killed", "same code")]
        lines = [f"{self.kind(result):<10} {line(result)}\n           {result['key']}" for result in survivors]
        listed = [result["key"] for result in self.results
                  if result["verdict"] == "killed" and result["key"] in self.known]
        lines += [f"killed, though its verdict says no test can: {key}" for key in listed]
        return "\n".join(["", *lines, "", self.about(), self.score()])

    def markdown(self) -> str:
        out = [self.about(), "", self.score(), ""]
        for title, name in (("operator", lambda result: result["operator"]),
                            ("room", lambda result: result["file"].rpartition("/")[0]),
                            ("noticed by", lambda result: result.get("by", "-").split()[0])):
            out += [f"| {title} | {' | '.join(self.kinds())} |", "|---" * (1 + len(self.kinds())) + "|"]
            out += [f"| {each} | {' | '.join(map(str, counts))} |" for each, counts in self.rows(name)]
            out.append("")
        out += ["Survivors:", ""]
        for result in self.results:
            kind = self.kind(result)
            if kind in ("killed", "same code"):
                continue
            why = self.known[result["key"]].reason if result["key"] in self.known else "no test notices it yet"
            out.append(f"* {result['file']}, {result['operator']}: `{change(result)}`: **{kind}**: {why}")
        return "\n".join(each if each.startswith("|") else wrap(each) for each in out) + "\n"

    def write(self) -> None:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(GENERATED.sub(lambda match: match[1] + self.markdown() + match[2], text), encoding="utf-8")


def wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  " if text.startswith("* ") else "",
                         break_long_words=False, break_on_hyphens=False)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"

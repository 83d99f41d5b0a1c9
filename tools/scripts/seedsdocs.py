#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""docs/seeds.md: every row of the publications behind the experiments, what is published, ours, and a verdict.

Usage: seedsdocs.py DIR    keeps the results that `make experiments` left in DIR, build/experiments, and makes the page

The rows are in seeds.toml; results are kept in experiments/kept.json, so the page is made without running anything.
"""

import json
import pathlib
import re
import sys
import tomllib
from collections import Counter
from typing import Any

import usage
from fairground.study.claims import HOSTS, verdict

ROWS = pathlib.Path("tools/scripts/seeds.toml")
KEPT = pathlib.Path("experiments/kept.json")
PAGE = pathlib.Path("docs/seeds.md")
NOT_RUN = "not run for this page"
RESULTS = "x*/results.json"
NONE = "-"
INTRO = """# The publications, row by row

<!-- Made from tools/scripts/seeds.toml, experiments/kept.json; `make seeds ARGS=DIR` keeps results. -->

Five publications are behind the [experiments](experiments.md). Here is each of their rows: what is published, ours, and
a verdict. Values are of the last runs that were kept, with the commit of each at the end; `make experiment ARGS=NAME`
repeats one. Bounds have two sides and are in the experiment's file.

| verdict | |
|---|---|
| PASS | ours is within the bound, and so is the published value |
| holds | ours is within the bound; published are words or a picture |
| not reproduced | ours is within a bound of its own, which excludes the published value |
| FAIL, OPEN | ours is outside; chance may decide ([measuring.md](measuring.md)) |
| shown | no bound |
| there | a mechanism without numbers |
"""
Line = tuple[str, str, str, str, str]  # row, published, ours, verdict, where


def publications() -> list[dict[str, Any]]:
    """The publications with their rows, as seeds.toml has them."""
    found: list[dict[str, Any]] = tomllib.loads(ROWS.read_text(encoding="utf-8"))["publication"]
    return found


def kept() -> dict[str, Any]:
    """The results of each experiment that were kept."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def take(directory: pathlib.Path) -> dict[str, Any]:
    """What was kept, with the results that are in the folders of @directory."""
    found = kept()
    for path in sorted(directory.glob(RESULTS)):
        data = json.loads(path.read_text(encoding="utf-8"))
        found[data["experiment"]] = {"header": data["header"], "claims": [
            {"claim": row["claim"], "published": row["published"], "verdict": verdict(row),
             "shown": {host: row["shown"][host] for host in HOSTS if host in row["shown"]}} for row in data["claims"]]}
    return dict(sorted(found.items()))


def lines_of(row: dict[str, Any], results: dict[str, Any]) -> list[Line]:
    """The lines of a @row: its own, and below that one for each claim of its experiment that it names."""
    name, published = row.get("experiment"), row.get("published", "")
    if not name:
        see = f"[{row['see'].removesuffix('.md')}]({row['see']})" if "see" in row else ""
        return [(row["row"], published, row.get("note", ""), row["verdict"], see)]
    where, pattern = f"[{name.partition('-')[0]}](experiments.md#{name})", re.compile(row.get("claims", ""))
    claims = [claim for claim in results.get(name, {"claims": []})["claims"] if pattern.search(claim["claim"])
              and ("claims" in row or claim["published"] != NONE)]
    return [(f"**{row['row']}**", published, "", "" if claims else NOT_RUN, where), *(
        (claim["claim"], claim["published"], ", ".join(f"{host} {value}" for host, value in claim["shown"].items()),
         verdict_of(claim), "") for claim in claims)]


def verdict_of(claim: dict[str, Any]) -> str:
    """The verdict about a kept @claim. One without a published number reproduces none."""
    return "holds" if claim["verdict"] == "PASS" and claim["published"] == NONE else str(claim["verdict"])


def page() -> str:
    """The text of the page."""
    results, parts, counts = kept(), [INTRO], Counter[str]()
    for of in publications():
        lines = [line for row in of["rows"] for line in lines_of(row, results)]
        counts.update(line[3].partition(" in the ")[0] for line in lines if line[3])
        parts += [f"## {of['title']}\n", "| row | published | ours | verdict | |", "|---|---|---|---|---|",
                  *(f"| {' | '.join(map(escaped, line))} |" for line in lines), ""]
    total = ", ".join(f"{nr} {word}" for word, nr in sorted(counts.items()))
    parts += [f"## How many\n\n{sum(counts.values())} lines: {total}.\n\n| experiment | kept from |\n|---|---|"]
    return "\n".join([*parts, *(f"| {name} | {escaped(of['header'])} |" for name, of in results.items())]) + "\n"


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> None:
    directory, = usage.words(__doc__, 1, 1)
    if not list(pathlib.Path(directory).glob(RESULTS)):
        sys.exit(f"{directory}: no results, {RESULTS}: make experiments makes them in build/experiments")
    found = take(pathlib.Path(directory))
    KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""Print as JSON the workloads that the page for browsers offers: labs, scenario cards, experiments.

A list of {"group", "name", "sched", "words", "file"}: the policies or "", words for schedsim, and the text of an rt-app
file or "". `make page` uses it; docs/browser.md describes the page.

Usage: page_presets.py
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from fairground.study import experiment_file
from fairground.lab.results import drawn
from fairground.judge.scenarios import CARDS, read_card

import usage

LABS, SECONDS, SEED = Path("labs"), 1, 1
OMITTED = ("--sched", "--time", "--trace", "--decisions", "--json")  # the page has its own

Preset = dict[str, str]


def preset(group: str, name: str, words: list[str], file: str = "") -> Preset:
    omitted = {at + i for at, word in enumerate(words) if word in OMITTED for i in (0, 1)}
    sched = words[words.index("--sched") + 1] if "--sched" in words else ""
    kept = " ".join(word for at, word in enumerate(words) if at not in omitted)
    return {"group": group, "name": name, "sched": sched, "words": kept, "file": file}


def of_labs() -> list[Preset]:
    found = []
    for path in sorted(LABS.glob("*/lab.toml")):
        lab = tomllib.loads(path.read_text(encoding="utf-8"))
        number = path.parent.name.partition("-")[0].lstrip("0")
        found += [preset("labs", f"Lab {number}: {run['title']}", drawn(run["run"], SEED).split())
                  for run in lab.get("simulator", []) if ".json" not in run["run"] and "--ops" not in run["run"]]
    return found


def of_card(card: dict[str, Any]) -> Preset:
    words = ["--topology", card["topology"]]
    words += ["--hz", str(card["hz"])] if "hz" in card else []
    words += ["--governor", card["governor"]] if "governor" in card else []
    words += ["--skew", card["skew"]] if "skew" in card else []
    words += [word for name in card.get("features", []) for word in ("--features", name)]
    words += [word for text in card.get("set", []) for word in ("--set", text)]
    words += [word for name, cost in card.get("costs", {}).items() for word in (f"--cost-{name}", cost)]
    return preset("cards", f"{card['id']}: {card['title']}", [*words, *card.get("workload", [])], card.get("rtapp", ""))


def of_experiments() -> list[Preset]:
    found = []
    for name in experiment_file.names():
        chosen = experiment_file.load(name)
        if "simulator" not in chosen.hosts:
            continue
        case = next(case for case in chosen.cases if any(chosen.runs("simulator", sched, case)
                                                         for sched in chosen.policies))
        text, words = chosen.workload(case, SECONDS), chosen.simulate(case, SECONDS)
        words = words if "--topology" in words else ["--cpus", chosen.machine["smp"], *words]
        title = f"{name.partition('-')[0].upper()}: {chosen.title.rstrip('.')}"
        if isinstance(text, str):
            found.append(preset("experiments", title, [*words, *text.split()]))
        else:
            found.append(preset("experiments", title, words, json.dumps(text, indent=1)))
    return found


def main() -> int:
    usage.words(__doc__, 0, 0)
    cards = [read_card(path) for path in sorted(CARDS.glob("*.toml"))]
    presets = of_labs() + [of_card(card) for card in cards if "topology" in card] + of_experiments()
    print(json.dumps(presets, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Scenario cards: each keeps its bounds under every policy, and wrong cards and commands are refused."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CARDS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
         for path in sorted(Path("tests/scenarios").glob("*.toml"))}
BUILD = os.environ.get("B", "build")


def scenarios(*words):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "scenarios", *words], text=True,
                          capture_output=True, check=False, env={**os.environ, "PYTHONPATH": "tools"})


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if "topology" in card])
def test_no_bound_is_broken(name):
    done = scenarios(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"- {name} " in done.stdout and "not ok" not in done.stdout


def test_every_flip_is_a_seeded_bug_that_runs_the_card():
    for card in CARDS.values():
        if "flip" in card:
            patch = Path("tests/mutants", card["flip"] + ".patch").read_text(encoding="utf-8")
            assert f"Noticed-by: {card['id']}" in patch and "Run: scenario" in patch


@pytest.mark.parametrize("words, complaint", [
    (["F-99"], "no scenario is called F-99"),
    (["--scheds", "nobody", "F-29"], "no scheduler is called nobody"),
])
def test_nonsense_is_refused(words, complaint):
    done = scenarios(*words)
    assert done.returncode == 2 and complaint in done.stderr and not done.stdout

"""Each scenario card with a kernel part keeps its bounds, here under one policy (`make scenarios HOST=kernel`: all)."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

BUILD = os.environ.get("B", "build")
CARDS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in Path("tests/scenarios").glob("*.toml")}


def policy_of(card):
    policies = card["kernel"].get("classes", card.get("classes", ["eevdf"]))
    return "eevdf" if "eevdf" in policies else policies[0]


@pytest.mark.parametrize("name", sorted(name for name, card in CARDS.items() if "kernel" in card))
def test_a_card_keeps_its_bounds_in_the_kernel(name):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "scenarios", "--host", "kernel",
                           "--scheds", policy_of(CARDS[name]), name], text=True, capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == 0 and f"- {name} " in done.stdout and "not ok" not in done.stdout, \
        done.stdout + done.stderr

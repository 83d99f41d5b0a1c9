# SPDX-License-Identifier: GPL-2.0-only
"""Each scenario card with a kernel part keeps its bounds, under one policy here. `make scenarios ARGS="--host kernel"`
tries all.
"""

import os
import subprocess
import sys

import pytest

from fairground.judge.scenarios import choose_cards, policies_of

BUILD = os.environ.get("B", "build")
CARDS = {card["id"]: card for card in choose_cards([]) if "kernel" in card}


def policy_of(card):
    policies = policies_of(card, "kernel", ["eevdf"])
    return "eevdf" if "eevdf" in policies else policies[0]


@pytest.mark.sampled(10, "a bound that the kernel breaks, not the simulator")
@pytest.mark.parametrize("name", CARDS)
def test_a_card_keeps_its_bounds_in_the_kernel(name):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "scenarios", "--host", "kernel",
                           "--scheds", policy_of(CARDS[name]), name], text=True, capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == 0 and f"- {name} " in done.stdout and "not ok" not in done.stdout, \
        done.stdout + done.stderr

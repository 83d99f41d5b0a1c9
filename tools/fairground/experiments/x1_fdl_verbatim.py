# SPDX-License-Identifier: GPL-2.0-only
"""The script that FDL was proposed with, unchanged, on 4 CPUs instead of 96: examples/fdl.sh.

200 processes of hackbench and three servers of 34 threads want many times what the machine has. x1-fdl is the
comparison scaled to so few CPUs. Here the order of the three servers must come out, and the same bytes twice.
"""

import os
from typing import Any

from ..experiment import Claim, Results
from ..settings import UsageError
from . import x1_fdl
from .x1_fdl import EVENTS, GROUPS, HOSTS, SCHEDULERS, SETTINGS, SOURCE, TIMEOUT, measure  # noqa: F401 (its parts)

TITLE = "The script that FDL was proposed with, as it stands: wakeup latency"
SECONDS = 30
CASES = TWICE = ("as-it-stands",)
SIZE = (6, 4.5)

SCRIPT = "examples/fdl.sh"


def kernel(_: str, seconds: int) -> str:
    if seconds != SECONDS:
        raise UsageError(f"SECS={seconds}: the script says {SECONDS}, and it is run unchanged")
    with open(os.path.join(os.path.dirname(__file__), "../../..", SCRIPT), encoding="utf-8") as f:
        return f.read()


def claims() -> list[Claim]:
    samples = [x1_fdl.latency(f"{name}: samples", *CASES, name, "samples", published) for name, published in
               zip(GROUPS, ("8496", "8544", "8534"))]
    return x1_fdl.claims_of_case(*CASES) + samples


def draw(figure: Any, results: dict[str, Results]) -> None:
    x1_fdl.draw(figure, results)

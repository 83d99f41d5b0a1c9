# SPDX-License-Identifier: GPL-2.0-only
"""Scenario cards: each keeps its bounds under every policy, and wrong cards and commands are refused."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mutants

CARDS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
         for path in sorted(Path("tests/scenarios").glob("*.toml"))}
BUILD = os.environ.get("B", "build")


def scenarios(*words, cwd=None):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", os.path.abspath(BUILD), "scenarios", *words],
                          text=True, capture_output=True, check=False, cwd=cwd,
                          env={**os.environ, "PYTHONPATH": os.path.abspath("tools")})


@pytest.mark.sampled(12, "a bound of one card")
@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if "topology" in card])
def test_no_bound_is_broken(name):
    done = scenarios(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"- {name} " in done.stdout and "not ok" not in done.stdout


def test_every_flip_is_a_seeded_bug_that_runs_the_card():
    bugs = mutants.read_mutants()
    for card in CARDS.values():
        if "flip" in card:
            bug = bugs[card["flip"]]
            assert card["id"] in bug.noticed_by and bug.run.startswith("scenario")


def test_a_program_for_sched_ext_is_judged_by_cards_for_all():
    """F-05 is for some fair policies."""
    done = scenarios("F-03", "F-05", "--scheds", "scx:fifo,slice_ns=4000000,scx:vtime")
    found = re.findall(r"^ok \d+ - (\S+) +(\S+) (\S+) ", done.stdout, re.MULTILINE)
    assert found == [("F-03", sched, metric) for sched in ("scx:fifo,slice_ns=4000000", "scx:vtime")
                     for metric in ("waste", "worker.wakeup_p99")], done.stdout + done.stderr


@pytest.mark.parametrize("words, complaint", [
    (["F-99"], "no scenario is called F-99"),
    (["--scheds", "nobody", "F-29"], "no scheduler is called nobody"),
    (["--scheds", "cfs,scx:nobody", "F-29"], "scx:nobody: FILE.so of make scx is expected"),
])
def test_nonsense_is_refused(words, complaint):
    done = scenarios(*words)
    assert done.returncode == 2 and complaint in done.stderr and not done.stdout


GOVERNED = """id = "F-99"
title = "A card"
source = []
topology = "1x1x4x1"
governor = "sched"
time = "100ms"
rtapp = '''{ "platform": "juno-a53", "tasks": { "hog": { "loop": -1, "run": 1000 } } }'''
[[metric]]
name = "hog.energy"
op = ">="
value = 90
"""
KERNEL = '[kernel]\nsmp = 1\nseconds = 1\ncmd = "true"\nappend = "hz=250"\n'


def of_card(tmp_path, text):
    """One card in a directory of its own is run."""
    (tmp_path / "tests/scenarios").mkdir(parents=True)
    (tmp_path / "tests/scenarios/F-99.toml").write_text(text, encoding="utf-8")
    return scenarios("F-99", cwd=tmp_path)


@pytest.mark.parametrize("governor, good", [("performance", True), ("powersave", False)])
def test_a_card_names_a_governor(tmp_path, governor, good):
    """A hog takes 93 at the fastest point, 33 at the slowest."""
    done = of_card(tmp_path, GOVERNED.replace('"sched"', f'"{governor}"'))
    assert f", governor {governor}, HZ 250" in done.stdout and done.returncode == (not good), done.stdout + done.stderr


@pytest.mark.parametrize("old, new, complaint", [
    ('"sched"', '"shedutil"', "no governor is called shedutil; is schedutil meant?"),
    ('"sched"', '"xx"', "no governor is called xx; there are performance powersave userspace sched schedutil ondemand"),
    ('"sched"', "3", "no governor is called 3; there are "),
    ('"sched"', '["sched"]', "no governor is called ['sched']"),
    ('"platform": "juno-a53", ', "", 'governor sched needs several speeds: "platform" in rtapp, opp= in kernel.append'),
    ("[[metric]]", KERNEL + "[[metric]]", "governor sched needs several speeds"),
])
def test_a_governor_that_makes_no_sense_is_refused(tmp_path, old, new, complaint):
    done = of_card(tmp_path, GOVERNED.replace(old, new))
    assert done.returncode == 2 and complaint in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_a_card_with_a_trait_is_for_the_policies_that_claim_it(tmp_path):
    lines = subprocess.run([f"{BUILD}/schedsim", "--list-policies"], text=True, capture_output=True, check=True).stdout
    claim = [line.split()[0] for line in lines.splitlines() if "requests" in line.split()[1:]]
    done = of_card(tmp_path, GOVERNED.replace('"sched"', '"performance"\ntrait = "requests"'))
    assert [line.split()[4] for line in done.stdout.splitlines() if line.startswith("ok ")] == claim != []


def test_a_trait_that_no_policy_claims_is_refused(tmp_path):
    done = of_card(tmp_path, GOVERNED.replace('"sched"', '"performance"\ntrait = "request"'))
    assert done.returncode == 2 and "F-99: no policy claims the trait request" in done.stderr and not done.stdout

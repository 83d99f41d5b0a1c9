# SPDX-License-Identifier: GPL-2.0-only
"""The page for browsers (docs/browser.md), used in Chromium: runs, steps, forks, links, files, a phone's width."""

import json
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("B", "build"))
PAGE = f"{BUILD}/fairground.html"
NEEDED = ("node", "npm", "chromium")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {missing}")
    if not os.path.exists(PAGE):
        pytest.skip("make page was not run")
    place = tmp_path_factory.mktemp("page")
    subprocess.run([f"{BUILD}/schedsim", "--sched", "eevdf", "--time", "50ms", "--decisions", place / "a.json",
                    "hogs:n=3"], check=True, capture_output=True)
    done = subprocess.run(["node", f"{ROOT}/tests/tools/page.mjs", f"{BUILD}/web/node_modules", PAGE, place / "a.json",
                           place], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"decisions": (place / "a.json").read_text().count("\n") - 1}


def test_page_is_one_small_file_and_asks_nobody(seen):
    assert os.path.getsize(PAGE) < 1_000_000
    assert seen["console"] == []
    assert all(re.match(r"file://.*/fairground\.html|blob:", url) for url in seen["requests"]), seen["requests"]


def test_first_run_and_steps(seen):
    assert seen["lanes"] == ["cfs", "eevdf"] and "hog 1" in seen["shares"] and "burst 3" in seen["shares"]
    assert seen["stepped"].startswith("61 / ") and seen["rule"] != seen["first"]
    assert "because" in seen["rule"] and seen["rows"] >= 1 and seen["drawn"] > 6


def test_page_tells_the_shares_of_the_program(seen, tmp_path):
    subprocess.run([f"{BUILD}/schedsim", "--sched", "cfs", "--time", "100ms", "--json", tmp_path / "r.json", "hogs:n=2",
                    "bursts:run=2ms,sleep=10ms"], check=True, capture_output=True)
    tasks = json.loads((tmp_path / "r.json").read_text())["results"][0]["tasks"]
    burst = next(row for row in tasks if row["name"] == "burst")
    ran, waits = burst["cpu_ns"] / 1e6, burst["wait_ns"]
    # name and number, share of 100 ms, what it ran, how often it waited, the mean
    assert f"burst 3{ran:.2f}{ran:.1f}{waits['n']}{waits['mean'] / 1e6:.3f}" in seen["shares"]


def test_fork(seen):
    assert seen["forked"] == ["cfs", "cfs → eevdf"] and "The first decision that differs" in seen["differs"]
    assert "refused" in seen["badNice"]


def test_workload_is_edited_and_mistakes_are_named(seen):
    assert "burst 3" in seen["edited"] and "hog" not in seen["edited"]
    assert "n=x" in seen["mistake"]


def test_a_link_holds_the_state(seen):
    assert seen["shared"] == seen["edited"] and seen["phoneWidth"] <= 390


def test_hostile_links_do_nothing(seen):
    assert [images for _, images in seen["hostile"]] == [0, 0, 0, 0] and all(error for error, _ in seen["hostile"])


def test_files_are_opened_or_refused(seen):
    names, where = seen["dropped"]
    assert names == ["eevdf"] and f"/ {seen['decisions']} " in where
    assert all("not a file of decisions" in error for error in seen["badFiles"])

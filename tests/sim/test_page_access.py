# SPDX-License-Identifier: GPL-2.0-only
"""The page for browsers (docs/browser.md) as a screen reader has it: Chromium's accessibility tree in six states."""

import pytest

from tests.sim.conftest import browse, page_or_skip

STATES = ("plain", "forked", "mistaken", "tour", "hunt", "own")
NAMED = {"button", "checkbox", "combobox", "form", "heading", "image", "link", "radio", "region", "searchbox", "slider",
         "spinbutton", "table", "textbox", "img"}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return browse("access", page_or_skip(), tmp_path_factory.mktemp("access"))["states"]


def of(nodes, role):
    return [node for node in nodes if node["role"] == role]


@pytest.mark.parametrize("state", STATES)
def test_all_that_is_used_has_a_name(seen, state):
    nodes = seen[state]
    assert len(of(nodes, "main")) == 1 and len(of(nodes, "table")) >= 2
    nameless = [node for node in nodes if node["role"] in NAMED and not node["name"]]
    assert not nameless
    assert not [node for node in nodes if node.get("focusable") and node["role"] != "RootWebArea" and not node["name"]]


@pytest.mark.parametrize("state", STATES)
def test_headings_skip_no_level_and_regions_differ(seen, state):
    levels = sorted({node["level"] for node in of(seen[state], "heading")})
    assert levels == list(range(1, levels[-1] + 1))
    regions = [node["name"] for node in of(seen[state], "region")]
    assert len(regions) == len(set(regions)) and {"Timeline", "Shares and waits", "What if?"} <= set(regions)


def test_the_policy_that_is_shown_is_told(seen):
    pressed = {node["name"]: node["pressed"] for node in of(seen["forked"], "button") if "pressed" in node}
    assert len(pressed) == 3 and [name for name, value in pressed.items() if value == "true"] == ["cfs → cfs"]


def test_news_are_told(seen):
    """The rule of the decision and the end of a search politely, a mistake at once."""
    assert [node for node in seen["plain"] if node.get("live") == "polite"]
    told = [node for node in seen["mistaken"] if node.get("live") == "assertive"]
    assert [node["role"] for node in told] == ["alert"]
    assert "alert" in {node["role"] for node in seen["own"]}

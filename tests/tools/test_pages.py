# SPDX-License-Identifier: GPL-2.0-only
"""The pages for those with a question: docs/troubleshooting.md has the sentences that the tools say, and all of them;
CITATION.cff has this version."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\| `(.+?)`", PAGE, re.MULTILINE)
# Sentences about a thing that is not there, as against one that is wrong.
MISSING = re.compile(r"is missing: (run|sh)|is needed|needs the Python package|needs the project's tree|fetches it|"
                     r"pictures need")


def pattern(sentence):
    """What @sentence of the page stands for: its "..." is anything."""
    return re.compile(".*".join(re.escape(part) for part in sentence.split("...")), re.DOTALL)


def said():
    """All texts of the tools, of make and of tools/setup.sh, with blanks as one: strings that stand side by side are
    one."""
    found = []
    for path in (ROOT / "tools/fairground").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        inner = {id(each) for node in nodes if isinstance(node, ast.JoinedStr) for each in node.values}
        for node in (node for node in nodes if id(node) not in inner):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(each.value if isinstance(each, ast.Constant) else "..." for each in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    for path in ("Makefile", "mk/tools.mk", "mk/page.mk", "tools/setup.sh"):
        found.append(re.sub(r"\$\(\d\)", "...", (ROOT / path).read_text(encoding="utf-8")))
    return found


SAID = said()


@pytest.mark.parametrize("sentence", sorted(set(SHOWN) - {"Permission denied"}))  # the system says that
def test_a_sentence_of_the_page_is_said(sentence):
    assert any(pattern(sentence).search(text) for text in SAID)


def test_every_sentence_about_a_missing_thing_is_on_the_page():
    """A new one in tools/fairground needs a row."""
    told = [text for text in SAID if len(text) < 400 and "\n" not in text and MISSING.search(text)]
    assert len(told) > 10
    assert not [text for text in told if not any(pattern(sentence).search(text) for sentence in SHOWN)]


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.search(r"^## (\S+) \((\S+)\)$", changes, re.MULTILINE).groups()
    assert f'version: "{version}"\n' in text and f"date-released: {date}\n" in text
    assert version == (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    assert "cff-version: 1.2.0\n" in text and "license: GPL-2.0-only\n" in text and "authors:\n" in text

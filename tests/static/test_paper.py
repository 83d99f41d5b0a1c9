# SPDX-License-Identifier: GPL-2.0-only
"""The pages of the book: sessions fit on paper, with lines of at most 120 columns; listings are those of the files."""

import pathlib
import re

import pytest

import docblocks
from tests.conftest import ROOT

WIDEST = 120
PAGES = sorted(pathlib.Path(ROOT, "docs/book").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions_fit_on_paper(page):
    wide = [f"line {first + nr} has {len(line)} columns: {line}" for first, lines in docblocks.blocks(str(page))
            for nr, line in enumerate(lines) if len(line) > WIDEST]
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_listings_are_in_a_file_that_the_page_links(page):
    """A reader's copy, which is called mine, is the file with another name."""
    text = page.read_text()
    linked = [pathlib.Path(page.parent, path) for path in re.findall(r"\]\((\S+\.c)\)", text)]
    for listing in re.findall(r"^```c\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        assert any(listing.replace("mine_", f"{path.name.partition('.')[0]}_") in path.read_text()
                   for path in linked), f"{page.name}: in no file that it links:\n{listing}"

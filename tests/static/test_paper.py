# SPDX-License-Identifier: GPL-2.0-only
"""The pages of the book fit on paper: its sessions have lines of at most 120 columns."""

import pathlib

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

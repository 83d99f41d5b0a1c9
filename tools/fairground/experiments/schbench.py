# SPDX-License-Identifier: GPL-2.0-only
"""What schbench prints, which several experiments run."""

import re

PERCENTILE = re.compile(r"^\t\*?([\d.]+)th: (\d+) ", re.MULTILINE)


def percentiles(text: str) -> dict[str, int]:
    """{percentile: latency in us}, as in {"99.0": 1234}."""
    return {percent: int(us) for percent, us in PERCENTILE.findall(text)}

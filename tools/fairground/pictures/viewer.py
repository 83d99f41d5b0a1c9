# SPDX-License-Identifier: GPL-2.0-only
"""The viewer of `fairground report`: the timelines and decisions of the page for browsers (web/page/viewer.ts), in a
frame, with the runs as the files have them. `make page` builds it."""

import base64
import gzip
import html
import os
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from ..base import tree
from ..trace.tracefile import TraceFile

MOST = 12_000_000  # bytes of a file, compressed: a page with more is slow to send and to open


@dataclass(frozen=True)
class Data:
    """A file that the viewer reads: its name and its bytes, compressed."""

    name: str
    packed: bytes


def load(path: str, is_trace: bool) -> Data:
    """The file @path, of a version that the viewer reads. The same file gives the same bytes."""
    data = TraceFile(path).as_version_6() if is_trace else pathlib.Path(path).read_bytes()
    return Data(os.path.basename(path), gzip.compress(data, 9, mtime=0))


def template(build: str) -> str:
    """The viewer without runs: of the directory @build, or packed with the tools; "" if there is none."""
    for path in (pathlib.Path(build, "viewer.html"), tree.PACKED / "viewer.html"):
        if path.exists():
            return path.read_text(encoding="utf-8")
    return ""


def frame(viewer: str, runs: Sequence[Data], span: tuple[float, float] | None) -> str:
    """The HTML of a frame: @viewer with the data of @runs. It opens at @span, in seconds from their begin."""
    scripts = "\n".join(f'<script type="text/plain" class="run" data-name="{html.escape(run.name)}">'
                        f"{base64.b64encode(run.packed).decode()}</script>" for run in runs)
    viewer = viewer.replace("<!--RUNS-->", scripts, 1)
    if span:
        viewer = viewer.replace("<body>", f'<body data-from="{span[0] * 1e9:.0f}" data-to="{span[1] * 1e9:.0f}">', 1)
    return f'<iframe id="viewer-frame" title="Timelines and decisions" srcdoc="{html.escape(viewer)}"></iframe>'

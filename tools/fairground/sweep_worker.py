# SPDX-License-Identifier: GPL-2.0-only
"""What a worker of a sweep does. It needs nothing of this project: the function goes to it by value, and so do the
simulator and the files of workloads, so a worker may be on another machine."""

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any


class CellError(Exception):
    """A cell's run failed. The text is one line."""


def place(program: bytes) -> str:
    """The path of the simulator on this machine; its name is its digest, so that it is written once."""
    path = os.path.join(tempfile.gettempdir(), f"fairground-{os.getuid()}",
                        f"schedsim-{hashlib.sha256(program).hexdigest()[:24]}")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle, new = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(handle, "wb") as f:
            f.write(program)
        os.chmod(new, 0o700)
        os.replace(new, path)
    return path


def run_cell(program: bytes, words: Sequence[str], files: Mapping[str, str]) -> dict[str, Any]:
    """schedsim's JSON of the run with @words, beside which are @files by name."""
    simulator = place(program)
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        for name, text in files.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run([simulator, "--json", "run.json", *words], cwd=directory, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise CellError(f"status {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        with open(os.path.join(directory, "run.json"), encoding="utf-8") as f:
            found: dict[str, Any] = json.load(f)
    return found

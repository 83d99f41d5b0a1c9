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


def place(files: Mapping[str, bytes]) -> str:
    """The directory on this machine with @files, by name. Its name is their digest, so that they are written once."""
    digest = hashlib.sha256(b"".join(hashlib.sha256(name.encode() + b"/" + data).digest()
                                     for name, data in sorted(files.items()))).hexdigest()
    directory = os.path.join(tempfile.gettempdir(), f"fairground-{os.getuid()}", digest[:24])
    os.makedirs(directory, mode=0o700, exist_ok=True)
    for name, data in files.items():
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            handle, new = tempfile.mkstemp(dir=directory)
            with os.fdopen(handle, "wb") as f:
                f.write(data)
            os.chmod(new, 0o700)
            os.replace(new, path)
    return directory


def run_cell(simulator: str, words: Sequence[str], files: Mapping[str, str], directory: str) -> dict[str, Any]:
    """schedsim's JSON of the run with @words in @directory, where @files are by name."""
    for name, text in files.items():
        with open(os.path.join(directory, name), "wb") as f:
            f.write(text.encode("utf-8", "surrogateescape"))  # a shared object is no text
    done = subprocess.run([simulator, "--json", "run.json", *words], cwd=directory, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise CellError(f"status {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    with open(os.path.join(directory, "run.json"), encoding="utf-8") as f:
        found: dict[str, Any] = json.load(f)
    return found


def run_cells(program: Mapping[str, bytes], cells: Sequence[tuple[Sequence[str], Mapping[str, str]]],
              tries: int) -> tuple[list[dict[str, Any] | str], float]:
    """schedsim's JSON of each of @cells, (words, files), or why the cell failed @tries times; and the seconds of a
    processor that all of it took. @program: {"schedsim": its bytes}. What starts a process and reads the simulator
    costs as much as some short runs, so one task of a worker is a batch of them."""
    before, simulator = spent_s(), os.path.join(place(program), "schedsim")
    found: list[dict[str, Any] | str] = []
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        for words, files in cells:
            for left in reversed(range(tries)):
                try:
                    found.append(run_cell(simulator, words, files, directory))
                    break
                except CellError as error:
                    if not left:
                        found.append(str(error))
    return found, spent_s() - before


def spent_s() -> float:
    """Seconds of a processor, of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

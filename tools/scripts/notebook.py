#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run examples/results.ipynb, and keep in it what its cells show: all runs in it are simulated and repeat to the digit.

Usage: notebook.py [FILE]    keeps the notebook with its outputs in FILE instead
"""

import os
import pathlib
import sys

import usage
from fairground.base.packages import load
from fairground.base.errors import InputError

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/results.ipynb"


def run(out: pathlib.Path) -> None:
    """Run the notebook in its directory and write it to @out, without what differs from run to run."""
    nbformat, nbclient = (load(name, "the notebook", "apt-get install python3-nbclient python3-ipykernel")
                          for name in ("nbformat", "nbclient"))
    os.environ.update(B=os.path.abspath(os.environ.get("B") or "build"), MPLBACKEND="",  # it runs elsewhere
                      PYDEVD_DISABLE_FILE_VALIDATION="1")
    book = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3",
                            resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    for cell in book.cells:
        cell.metadata = {}
    book.metadata = {"kernelspec": book.metadata.kernelspec, "language_info": {"name": "python"}}
    nbformat.write(book, out)


if __name__ == "__main__":
    words = usage.words(__doc__, 0, 1)
    try:
        run(pathlib.Path(words[0]) if words else NOTEBOOK)
    except (InputError, OSError) as error:
        print(f"notebook: {error}", file=sys.stderr)
        sys.exit(2)

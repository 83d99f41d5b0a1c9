# SPDX-License-Identifier: GPL-2.0-only
"""Python packages that Debian 12 does not have: tools/setup.sh puts them into a directory of their own."""

import importlib
import os
import pathlib
import sys
from typing import Any

from . import tree
from .settings import UsageError

EXTRAS = {"pandas": "tables", "numpy": "statistics", "scipy": "statistics", "distributed": "sweeps", "dask": "sweeps"}
SYSTEM = pathlib.Path("/opt/fairground/python")


class MissingPackage(UsageError):
    """A Python package is not there. The text is one sentence, and says what brings it."""


def brings(extra: str) -> str:
    """What brings the packages of the extra @extra of pyproject.toml: here, or where pip installed the tools."""
    if tree.IS_PACKED:
        return f"pip install 'fairground[{extra}]'"
    return "sh tools/setup.sh --for pictures"


def directories() -> list[pathlib.Path]:
    """Where tools/setup.sh may have put packages: for all users if root ran it, otherwise for this user; or where
    $FAIRGROUND_PYTHON says."""
    if named := os.environ.get("FAIRGROUND_PYTHON"):
        return [pathlib.Path(named)]
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return [SYSTEM, pathlib.Path(data, "fairground", "python")]


def load(module: str, purpose: str, how: str = "") -> Any:
    """The @module; Debian's, if there is one. MissingPackage if it is not there: @purpose needs it, and @how says what
    brings it unless it is in an extra."""
    sys.path += [path for path in map(str, directories()) if path not in sys.path]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = EXTRAS.get(module.partition(".")[0], "forms")
        raise MissingPackage(f"{purpose} needs the Python package {module.partition('.')[0]}: "
                             f"{how or brings(extra)} brings it") from error

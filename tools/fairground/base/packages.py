# SPDX-License-Identifier: GPL-2.0-only
"""Python packages that Debian 12 does not have: tools/setup.sh puts them into a directory of their own."""

import importlib
import os
import pathlib
import sys
from typing import Any

from . import tree
from .settings import UsageError

EXTRAS = {"perfetto": "forms", "pyarrow": "forms", "argcomplete": "completion", "distributed": "sweeps",
          "cloudpickle": "sweeps"}  # of pyproject.toml; pip brings other packages with the tools
SYSTEM = pathlib.Path("/opt/fairground/python")


class MissingPackage(UsageError):
    """A Python package is not there. The text is one sentence, and says what brings it."""


def brings(package: str) -> str:
    """The command that brings the Python package @package: here, or where pip installed the tools."""
    if tree.IS_PACKED:
        return f"pip install 'fairground[{EXTRAS[package]}]'" if package in EXTRAS else f"pip install {package}"
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
    brings it, if brings() does not."""
    sys.path += [path for path in map(str, directories()) if path not in sys.path]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackage(f"{purpose} needs the Python package {package}: "
                             f"{how or brings(package)} brings it") from error

# SPDX-License-Identifier: GPL-2.0-only
"""Where `pip install .` builds: in build/python, beside the kernel's build, without what an earlier one left there. The
viewer of reports and the simulator are packed if they were built (`make page`, `make sim`), and with a simulator the
package is one for its platform. The manual pages are made here, from the programs' helps."""

import os
import platform
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

BUILD = os.environ.get("B") or "build"
PLACE = os.path.join("build", "python")
SIMULATOR = os.path.join(BUILD, "schedsim")


class BuildWithMore(build_py):
    """Also copies what was built and the package reads, and makes the manual pages."""

    def run(self) -> None:
        super().run()
        for name in ("viewer.html", "schedsim"):
            path = os.path.join(BUILD, name)
            if os.path.exists(path):
                self.copy_file(path, os.path.join(self.build_lib, "fairground", "packed", name))
        words = [sys.executable, "tools/scripts/manpages.py", os.path.join(PLACE, "man")]
        pages = subprocess.run([*words, *([SIMULATOR] if os.path.exists(SIMULATOR) else [])], check=True,
                               capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "tools"}).stdout.split()
        self.distribution.data_files = [("share/man/man1", pages)]


class WithSimulator(Distribution):
    """With a simulator, if that was built: then all of it is installed where files of one platform are."""

    def has_ext_modules(self) -> bool:
        return os.path.exists(SIMULATOR)


class PlatformWheel(bdist_wheel):
    """A wheel with a simulator is for the platform of that, and for each Python 3."""

    def get_tag(self) -> tuple[str, str, str]:
        tag = super().get_tag()
        return tag if self.root_is_pure else ("py3", "none", platform_of(SIMULATOR) or tag[2])


def platform_of(program: str) -> str | None:
    """The platforms on which @program runs, as pip names them: Linux with the glibc whose symbols it asks for, or a
    later one. None of a program that is not Linux's."""
    with open(program, "rb") as f:
        data = f.read()
    if not data.startswith(b"\x7fELF"):
        return None
    asked = {tuple(map(int, found)) for found in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", data)}
    return "manylinux_{}_{}_{}".format(*max(asked, default=(2, 17)), platform.machine())


shutil.rmtree(PLACE, ignore_errors=True)
os.makedirs(PLACE)
setup(options={"build": {"build_base": PLACE}, "egg_info": {"egg_base": PLACE}},
      distclass=WithSimulator, cmdclass={"build_py": BuildWithMore, "bdist_wheel": PlatformWheel})

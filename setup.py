# SPDX-License-Identifier: GPL-2.0-only
"""Where `pip install .` builds: in build/python, beside the kernel's build, without what an earlier one left there. If
`make page` has built the viewer of reports, it is packed too."""

import os
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py

BUILD = os.environ.get("B") or "build"
PLACE = os.path.join("build", "python")


class BuildWithViewer(build_py):
    """Also copies what was built and the package reads."""

    def run(self) -> None:
        super().run()
        viewer = os.path.join(BUILD, "viewer.html")
        if os.path.exists(viewer):
            self.copy_file(viewer, os.path.join(self.build_lib, "fairground", "packed", "viewer.html"))


shutil.rmtree(PLACE, ignore_errors=True)
os.makedirs(PLACE)
setup(options={"build": {"build_base": PLACE}, "egg_info": {"egg_base": PLACE}}, cmdclass={"build_py": BuildWithViewer})

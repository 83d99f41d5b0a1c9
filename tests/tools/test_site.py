# SPDX-License-Identifier: GPL-2.0-only
"""The site: every page is there, every link leads somewhere, and what the gallery says of a picture is so."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

import pytest

from tests.conftest import BUILD, ROOT
from tests.sim.conftest import browse, page_or_skip

import book
import gallery
import site as _standard  # noqa: F401

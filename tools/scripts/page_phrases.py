#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The words in which the page for browsers says why a task waited: those of `fairground why`, as JSON.

Usage: page_phrases.py >PHRASES.json
"""

import json

from fairground.decisions.lateness import PHRASES

import usage

if __name__ == "__main__":
    usage.words(__doc__, 0, 0)
    print(json.dumps(PHRASES, indent=1))

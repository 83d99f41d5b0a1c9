#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The words in which the page for browsers says why a task waited: those of `fairground why`, as JSON. "queue N" is
where a task of a program for sched_ext waits, by the number of its queue.

Usage: page_phrases.py >PHRASES.json
"""

import json

from fairground.decisions.class_decisions import DSQ
from fairground.decisions.lateness import PHRASES

import usage

if __name__ == "__main__":
    usage.words(__doc__, 0, 0)
    print(json.dumps({**PHRASES, **{f"queue {number}": where for number, where in DSQ.items()}}, indent=1))

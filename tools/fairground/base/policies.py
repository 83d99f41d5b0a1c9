# SPDX-License-Identifier: GPL-2.0-only
"""What fair policies claim: the traits of sched/fair/trait.def in the table of each policy."""

import re
from functools import cache

from .tree import ROOT

TABLE = re.compile(r"^const struct fair_policy (\w+)_policy = \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
SHARED = re.compile(r"^#define (TRAITS_\w+)((?:.*\\\n)*.*)", re.MULTILINE)
TRAIT = re.compile(r'^TRAIT\((\w+), "([a-z-]+)"\)', re.MULTILINE)


@cache
def traits() -> dict[str, frozenset[str]]:
    """The traits, as texts name them, of each policy that is built in. A policy has the name of its records and of its
    C table: bore_cfs, not bore-cfs."""
    fair = ROOT / "sched/fair"
    texts = dict(TRAIT.findall((fair / "trait.def").read_text(encoding="utf-8")))
    shared = dict(SHARED.findall((fair / "core/policy.h").read_text(encoding="utf-8")))
    found = {}
    for path in sorted(fair.glob("*/*.c")):
        for name, table in TABLE.findall(path.read_text(encoding="utf-8")):
            claim = re.search(r"\.traits = ([^,]*),", table)
            words = re.sub(r"\bTRAITS_\w+", lambda word: shared[word[0]], claim[1] if claim else "")
            found[name] = frozenset(texts[word] for word in re.findall(r"\bTRAIT_(\w+)", words))
    return found


def claim(policy: str, trait: str) -> bool:
    """Does the table of @policy, the name of a record, claim @trait? False of a policy that is not built in."""
    return trait in traits().get(policy, ())

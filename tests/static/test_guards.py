# SPDX-License-Identifier: GPL-2.0-only
"""The GUARDED() lines of structures: what tools/scripts/guards.py reads in them. The locks that they name exist."""

import pytest

import guards
from tests.conftest import ROOT

SOURCE = """struct box {
    struct spinlock lock;
    GUARDED(lock, outer_lock, "poll, which looks again");
    u32 head, *tail; /* of the ring */
    /* more of it */
    void (*fn)(struct box *b);
    GUARDED(atomic);
    u32 refs[4];

    u32 free;
    GUARDED(%s);
    bool last;
};
static struct spinlock outer_lock = SPINLOCK_INIT("outer");
"""


@pytest.fixture
def tree(tmp_path):
    def make(last):
        (tmp_path / "kernel").mkdir()
        (tmp_path / "kernel" / "box.c").write_text((SOURCE % last).replace("    ", "\t"))
        return str(tmp_path)
    return make


def test_declarations_are_read(tree):
    first, second, third = guards.declared(tree("self, outer_lock"))
    assert (first.kind, first.members, first.rule, first.readers) == (
        "box", ("head", "tail", "fn"), ("lock", "outer_lock"), "poll, which looks again")
    assert (second.members, second.rule, second.readers) == (("refs",), ("atomic",), "")
    assert (third.members, third.text()) == (("last",), "the thread itself, or with `outer_lock`")


@pytest.mark.parametrize("last", ["inner_lock", "cat->lock", ""])
def test_a_wrong_rule_is_found(tree, last):
    assert len(list(guards.unknown(tree(last)))) == 1


def test_rules_of_the_tree():
    assert not list(guards.unknown(ROOT))
    assert len(guards.declared(ROOT)) > 100

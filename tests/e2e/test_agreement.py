# SPDX-License-Identifier: GPL-2.0-only
"""The simulator decides as the kernel does: the agreement reached, workload by workload and scheduler by scheduler, and
the arithmetic behind it."""

import functools
import random
import re

import pytest

from tests.e2e.conftest import BUILD
from fairground.judge import agreement, agreement_numbers
from fairground.judge.agreement import Decision, align, compare, disagreement
from fairground.judge.calibrate import calibrate
from fairground.base.tree import ROOT

import mutants
from fairground.base.edit import plant


# By workload: what there is enough of, and of which decisions numbers are compared.
KINDS_OF = {"sleepers": {"pick", "tick", "charge", "preempt", "place", "leave"},
            "anywhere": {"pick", "tick", "charge", "place", "leave", "select", "balance"},
            "real time": {"pick", "preempt", "tick", "enter", "leave", "select"},
            "pushed": {"pick", "preempt", "tick", "enter", "leave", "select", "push"}}
NUMBERS_OF = {"sleepers": {"pick", "charge", "place", "leave"}, "anywhere": {"pick", "charge", "place", "select"},
              "real time": KINDS_OF["real time"], "pushed": KINDS_OF["pushed"]}


@pytest.mark.parametrize("a, b, edits, exchanges", [
    ("ABCABC", "ABCABC", 0, 0),
    ("ABCABC", "ABCBAC", 0, 1),    # a tie decided the other way
    ("ABCABC", "ABABC", 1, 0),     # one turn less
    ("ABCABC", "ABXABC", 1, 0),    # another task
    ("ABAB", "BABA", 0, 2),
    ("", "AB", 2, 0),
    ("AAAA", "BBBB", 4, 0),
])
def test_alignment(a, b, edits, exchanges):
    assert align(a, b) == align(b, a) == (edits, exchanges)


def test_agreement_is_over_all_cpus():
    def one(text):
        return [Decision(i, role) for i, role in enumerate(text)]
    counts = compare({0: one("ABAB"), 1: one("CDCDCD")}, {0: one("ABAB"), 1: one("CDCD")})
    assert (counts["kernel"], counts["simulator"], counts["edits"]) == (10, 8, 2)
    assert counts["agreement"] == pytest.approx(0.8)


def test_a_disagreement_names_both_rules():
    """The edit of two sequences that differ in one decision, among others that are exchanged."""
    def one(text, rule):
        return [Decision(i, role, rule, ("yes",)) for i, role in enumerate(text)]
    ours, theirs = one("ABABAB", "slice"), one("ABAB", "slice") + [Decision(4, "A", "slice", ("no",))]
    theirs.append(Decision(5, "B", "slice_ahead", ("yes",)))
    counts = compare({0: ours}, {0: theirs})
    assert (counts["edits"], counts["rules"]) == (2, {"slice": 1, "slice/slice_ahead": 1})
    assert counts["first"] == (ours[4], theirs[4])
    assert compare({0: ours}, {0: ours})["first"] is None


def test_a_narrow_band_is_enough():
    """The alignment in a band is as good as one of all cells, for sequences that differ a lot or hardly."""
    numbers = random.Random(7)
    for changes in (0, 3, 40, 300):
        a = [numbers.choice("ABCD") for _ in range(300)]
        b = list(a)
        for _ in range(changes):
            b[numbers.randrange(len(b))] = numbers.choice("ABCD")
            if numbers.random() < 0.3:
                del b[numbers.randrange(len(b))]
        assert align(a, b)[0] == agreement.alignment(a, b, 999)[-1][len(b)] // agreement.EDIT


def test_two_runs_that_have_nothing_in_common_do_not_agree():
    sides = [{0: [Decision(0, role)] * 10} for role in "AB"]
    assert compare(*sides)["agreement"] == 0


def test_numbers_are_those_of_one_time():
    """Of equal decisions those pair that were made at one time, each once; later ones are looked at again."""
    ours, theirs = ([agreement_numbers.Seen(0, None, token, time, 0) for token, time in of]
                    for of in ([("A", 100), ("B", 110), ("A", 900)], [("A", 95), ("A", 105), ("B", 120), ("A", 890)]))
    assert list(agreement_numbers.moments(ours, theirs, 10)) == [(0, 0), (1, 2), (2, 3)]
    assert list(agreement_numbers.moments(ours, theirs, 9)) == [(0, 0)]


@functools.cache
def costs_of(sched):
    return calibrate(agreement.settings_for(sched, BUILD), agreement.TRACED)


@pytest.mark.sampled(14, "a rule of one policy that the hosts apply differently in one workload")
@pytest.mark.parametrize("sched, name", [(sched, name) for name, sched in agreement.FLOORS])
def test_kernel_and_simulator_agree(tmp_path, sched, name):
    """The agreement is as good as when FLOORS was written. Half of the time suffices, except with BORE's longer turns,
    and where a slice of RR goes from CPU to CPU: on each one it must have been seen whole."""
    found = agreement.agree(agreement.settings_for(sched, BUILD), name, costs_of(sched), str(tmp_path),
                            seconds=2 if sched == "bore" or name == "pushed" else 1)
    assert KINDS_OF.get(name, {"pick", "tick", "charge"}) <= set(found)
    assert not NUMBERS_OF.get(name, {"pick", "charge"}) - {kind for kind in found if found[kind]["numbers"].pairs}
    for kind, counts in found.items():
        text, good = agreement.row(name, sched, kind, counts)
        assert good and agreement.floor_of(name, sched, kind) > 0, "\n".join([text, *disagreement(counts)])


def test_another_policy_does_not_agree(tmp_path, monkeypatch):
    """EEVDF in the kernel, CFS in the simulator: the comparison can tell."""
    settings = agreement.settings_for("eevdf", BUILD)
    run = agreement.simulator.run

    def as_cfs(how, *rest):
        return run(agreement.replace(how, sched="cfs"), *rest)
    monkeypatch.setattr(agreement.simulator, "run", as_cfs)
    found = agreement.agree(settings, "nices", {}, str(tmp_path), seconds=1)
    for kind in ("pick", "tick", "charge"):
        assert found[kind]["agreement"] < agreement.floor_of("nices", "eevdf", kind), kind


@pytest.mark.nightly("a comparison that does not say what differs")
def test_the_rule_that_disagrees_is_named(tmp_path, monkeypatch):
    """The simulator's slices are longer: in the kernel ticks end turns that go on there. The comparison says so, by the
    rule about slices, and shows both queues at the first such tick."""
    settings = agreement.settings_for("cfs", BUILD)
    run = agreement.simulator.run

    def with_long_slices(how, workload, out, costs, more):
        return run(how, workload, out, costs, (*more, "--set", "latency_ns=40000000"))
    monkeypatch.setattr(agreement.simulator, "run", with_long_slices)
    found = agreement.agree(settings, "nices", calibrate(settings, agreement.TRACED), str(tmp_path), seconds=1)
    text, good = agreement.row("nices", "cfs", "tick", found["tick"])
    assert not good and "FAIL" in text and "slice" in found["tick"]["rules"].most_common(1)[0][0]
    ours, theirs = found["tick"]["first"]
    assert ours.rule.startswith("slice") and ours.answer != theirs.answer
    shown = "\n".join(disagreement(found["tick"]))
    assert re.search(r"^kernel: [\d.]+ ms, tick of cfs +\| simulator: [\d.]+ ms, tick of cfs$", shown, re.MULTILINE)
    assert re.search(r"^ > +hog-\d+ .*\| .*hog\+\d+-\d", shown, re.MULTILINE), shown
    assert re.search(r"turn is over, because what counts .*\| .*goes on, because", shown), shown


@pytest.fixture(scope="module", name="with_bugs")
def simulator_with_bugs(tmp_path_factory):
    """The directory of a simulator in which everybody is eligible under EEVDF, and RR tasks get one slice."""
    tree = tmp_path_factory.mktemp("bugs") / "tree"
    mutants.refresh(tree)
    for name in ("everybody_is_eligible", "rr_slice_not_reloaded"):
        plant(mutants.read_mutants()[name].edits, tree)
    mutants.build(tree, ["build/schedsim"])
    return str(tree / "build")


@pytest.mark.nightly("a comparison that overlooks a bug")
@pytest.mark.parametrize("sched, case, wrong", [
    ("eevdf", "nices", {"pick": "earliest_deadline: eligible", "tick": "request_used_up: eligible"}),
    ("cfs", "pushed", {"tick": "slice_lasts: slice"}),
])
def test_a_bug_in_one_host_is_named_by_rule_and_number(tmp_path, monkeypatch, with_bugs, sched, case, wrong):
    """Most answers are the same, and more agree than must; the numbers behind them tell."""
    settings, run = agreement.settings_for(sched, BUILD), agreement.simulator.run

    def with_bug(how, *rest):
        return run(agreement.replace(how, build=with_bugs), *rest)
    monkeypatch.setattr(agreement.simulator, "run", with_bug)
    found = agreement.agree(settings, case, calibrate(settings, agreement.TRACED), str(tmp_path), seconds=1)
    for kind, number in wrong.items():
        text, good = agreement.row(case, sched, kind, found[kind])
        assert found[kind]["agreement"] >= agreement.floor_of(case, sched, kind), text
        assert not good and "FAIL" in text and f"{number} " in text and set(found[kind]["numbers"].fields) == {number}

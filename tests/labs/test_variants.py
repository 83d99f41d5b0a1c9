# SPDX-License-Identifier: GPL-2.0-only
"""Variants of labs: what a key draws, and that the answer of one variant does not fit another."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import pytest

from fairground.base.settings import Settings
from fairground.lab import command, handout, regions, spec, variants
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]
VARIED = [lab for lab in spec.all_labs() if variants.rules(lab)]
SAID = re.compile(r"@\w+@")


def lab_command(*words):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "lab", *words], cwd=ROOT, check=False,
                          env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)


@pytest.mark.parametrize("lab", VARIED, ids=lambda lab: lab.directory.name)
def test_every_variant_can_be_written(lab):
    """Each is another than the trunk in the text that students read, in what grades them and in the reference."""
    seen = set()
    for number in range(1, variants.number_of(lab) + 1):
        chosen = variants.variant(lab, number)
        texts = variants.changed(chosen)
        for name, text in texts.items():
            assert text != (ROOT / name).read_text(encoding="utf-8") and not SAID.search(text), name
        assert f"labs/{lab.directory.name}/README.md" in texts
        trunk = handout.texts(lab)
        own = {name: text for name, text in texts.items() if name in lab.files}
        assert (any(name.startswith("tests/") or name.endswith("reading.py") for name in texts)
                or regions.outside(trunk | own, lab) != regions.outside(trunk, lab))  # what the processor restores
        code = regions.read(trunk | own, lab)
        assert code != regions.read(trunk, lab)
        seen.add(json.dumps(code))
        assert all(not SAID.search(variants.filled(rule.says, words)) for rule, words in chosen)
    assert len(seen) == variants.number_of(lab)


def test_a_key_draws_the_same_again_and_another_draws_another():
    def drawn(key):
        return [[variants.filled(rule.says, words) for rule, words in variants.drawn(lab, key)] for lab in VARIED]

    assert drawn("autumn") == drawn("autumn")
    assert all(all(drawn(f"key {number}")) for number in range(20))
    assert len({json.dumps(drawn(f"key {number}")) for number in range(20)}) > 10
    assert variants.seed("autumn") == variants.seed("autumn") != variants.seed("spring")


def test_a_handout_has_the_values_and_neither_the_key_nor_the_choice(tmp_path):
    key = "a key that is nowhere else"
    done = lab_command("handout", "2", str(tmp_path / "tree"), "--variant", key)
    assert done.returncode == 0 and "one of 3 variants" in done.stdout, done.stderr
    texts = {path: path.read_bytes() for path in (tmp_path / "tree").rglob("*") if path.is_file()}
    assert not any(key.encode() in text for text in texts.values())
    assert not any(path.name in ("variants.toml", "variant.json", *handout.INSTRUCTORS) for path in texts)
    rule = next(line.strip() for line in done.stdout.splitlines() if line.startswith("  "))
    times = rule.split()[-2]
    assert f"fill it up with {times} times" in (tmp_path / "tree/labs/02-round-robin/README.md").read_text("utf-8")


def test_the_rules_of_other_labs_stay(tmp_path):
    """The machine of one lab may rest on what another one changes."""
    variants.write(spec.find("2"), "key", tmp_path)
    kept = [file for lab in VARIED if lab.number != 2 for file in lab.files if file not in spec.find("2").files]
    assert kept and all((tmp_path / file).read_bytes() == (ROOT / file).read_bytes() for file in kept)
    assert (tmp_path / "sched/rt/rt.c").read_bytes() != (ROOT / "sched/rt/rt.c").read_bytes()


def test_a_check_of_several_labs_is_made_in_the_trunk_of_each(monkeypatch):
    run = []
    monkeypatch.setattr(variants, "run_elsewhere", lambda lab, key, build, words: run.append((lab.number, words)) or 0)
    words = ["lab", "check", "--lab", "3", "--full", "--lab=2", "--variant", "k"]
    monkeypatch.setattr(sys, "argv", ["fairground", *words])
    arguments = argparse.Namespace(lab_command="check", lab=["3", "2"], variant="k")
    assert command.main(Settings(), arguments) == 0
    assert run == [(number, ["lab", "check", "--full", "--variant", "k", f"--lab={number}"]) for number in (3, 2)]


def test_a_handout_is_no_trunk_of_a_key(tmp_path, monkeypatch):
    monkeypatch.setattr(handout, "manifest", lambda _: {"lab": 2, "files": {}})
    with pytest.raises(spec.LabError, match="without --variant"):
        variants.run_elsewhere(spec.find("2"), "key", str(tmp_path), [])


def test_a_rule_that_is_written_nowhere_is_refused(tmp_path):
    lab = spec.find("2")
    rule, words = variants.variant(lab, 1)[0]
    gone = variants.Change(("sched/rt/rt.c",), "no line of this file", "")
    with pytest.raises(spec.LabError, match="refill: sched/rt/rt.c has no no line of this file"):
        variants.changed([(variants.Rule(rule.where, rule.says, rule.values, (gone,)), words)])


@pytest.mark.nightly("an answer of last year that still fits, or a variant whose own answer does not")
@pytest.mark.parametrize("lab", VARIED, ids=lambda lab: lab.directory.name)
def test_the_answer_of_one_key_is_no_answer_under_another(lab, tmp_path):
    """The answers of two keys and of the trunk, graded under the first: everything, and at least 5 points less.

    The two differ in as little as keys of this lab can. A lab with one variant has no other key.
    """
    own = "key 0"

    def says(key):
        return {variants.filled(rule.says, words) for rule, words in variants.drawn(lab, key)}

    others = sorted((key for key in (f"key {number}" for number in range(1, 50)) if says(key) != says(own)),
                    key=lambda key: len(says(key) ^ says(own)))
    assert bool(others) == (variants.number_of(lab) > 1)
    tiers = [tier for tier in lab.tiers if tier != "kernel"] or ["kernel"]
    scores = []
    for name, key in [("own", own), *(("other", key) for key in others[:1]), ("trunk", "")]:
        answer = handout.texts(lab)
        changed = variants.changed(variants.drawn(lab, key)) if key else {}
        for file, text in answer.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(changed.get(file, text), encoding="utf-8")
        out = tmp_path / f"{name}.json"
        lab_command("grade", "--lab", str(lab.number), "--variant", own, "--seed", "5", "--tiers", ",".join(tiers),
                    "--json", str(out), str(tmp_path / name))
        graded = json.loads(out.read_text(encoding="utf-8"))
        scores.append(sum(test["score"] for test in graded["tests"] if "max_score" in test))
        assert not graded["extra_data"]["refused"]
    full = sum(lab.points(tier) for tier in tiers)
    assert scores[0] == full and max(scores[1:]) <= full - 5, scores

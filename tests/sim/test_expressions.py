# SPDX-License-Identifier: GPL-2.0-only
"""Policies in expressions (docs/policies.md): a text, in the simulator and in WebAssembly, and the C exported from it
make the same decisions; mistakes are sentences with a line; what is broken is found and shrunk."""

import glob
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, make_plugin

EXAMPLES = sorted(pathlib.Path(path) for path in glob.glob(f"{ROOT}/examples/policies/*.policy"))
WORK = ["--cpus 2 --check hogs:n=2 hogs:n=1,nice=5 bursts:run=2ms,sleep=10ms",
        "--cpus 4 requests:workers=3 yielders:n=2",
        "--cpus 2 --hz 1000 group:name=q,quota=5ms,period=20ms hogs:n=3,group=q,nice=3 hogs:n=1",
        "--topology 2x2x2 messages:n=1,workers=4,run=2ms forks:n=2"]
UNFAIR = "policy unfair\npromises even\nentity a\nkey a\nplace {\n    a = clock\n}\ncharge {\n    a -= delta\n}\n"
SMALL = "policy small\nentity turn\nqueue last\nkey turn\nplace {\n    last += 1\n    turn = last\n}\n"


def schedsim(*words):
    return subprocess.run([f"{BUILD}/schedsim", *map(str, words)], cwd=ROOT, capture_output=True, text=True,
                          check=False)


def exported(text, directory):
    """The options of schedsim that load the C made from the policy in the file @text."""
    name = re.search(r"^policy (\w+)", text.read_text(), re.MULTILINE).group(1)
    done = schedsim("--export", text)
    assert done.returncode == 0, done.stderr
    (directory / f"{name}.c").write_text(done.stdout)
    return name.replace("_", "-"), make_plugin(str(directory / f"{name}.c"))


def digest(content):
    """Of all decisions; the first line tells the command, which differs."""
    head, _, decisions = content.partition(b"\n")
    assert head and decisions.count(b"\n") > 100
    return hashlib.sha256(decisions).hexdigest()


def decided(load, name, work, directory):
    done = schedsim(*load, "--sched", name, "--time", "300ms", "--decisions", directory / "d.json", *work.split())
    assert done.returncode == 0, done.stdout + done.stderr
    return digest((directory / "d.json").read_bytes())


@pytest.mark.sampled(2, "an expression whose C decides otherwise")
@pytest.mark.parametrize("text", EXAMPLES, ids=lambda path: path.stem)
def test_the_exported_c_decides_the_same(text, tmp_path):
    name, load = exported(text, tmp_path)
    same = [decided(["--plugin", text], name, work, tmp_path) for work in WORK]
    assert [decided(load, name, work, tmp_path) for work in WORK] == same
    assert len(set(same)) == len(WORK)
    seeds = ["--sched", name, "--seed", "11", "--ops", "20000"]
    assert schedsim(*load, *seeds).stdout.splitlines()[1:] == schedsim("--plugin", text, *seeds).stdout.splitlines()[1:]


@pytest.mark.sampled(3, "an expression that the page compiles otherwise")
@pytest.mark.parametrize("text", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_s_form_decides_the_same(text, tmp_path):
    if not shutil.which("node") or not os.path.exists(f"{BUILD}/session.wasm"):
        pytest.skip("needs node and make wasm")
    name, load = exported(text, tmp_path)
    runs = [{"words": ["--plugin", str(text), "--sched", name, "--time", "300ms", *work.split()], "step": 0, "at": 0,
             "policy": "cfs", "files": [str(text)]} for work in WORK]
    done = subprocess.run(["node", f"{ROOT}/tests/tools/run_session.mjs", f"{BUILD}/session.wasm", tmp_path],
                          input=json.dumps(runs), text=True, capture_output=True, check=False)
    assert json.loads(done.stdout) == [1] * len(WORK), done.stderr
    for nr, work in enumerate(WORK):
        assert digest((tmp_path / f"{nr}.run").read_bytes()) == decided(load, name, work, tmp_path), work


def test_the_page_explores_and_shrinks_as_the_simulator_does(tmp_path):
    if not shutil.which("node") or not os.path.exists(f"{BUILD}/session.wasm"):
        pytest.skip("needs node and make wasm")
    texts = [EXAMPLES[0].read_text(), UNFAIR, SMALL + "leave {\n    while queued {\n        turn += 1\n    }\n}\n",
             UNFAIR.replace("a -= delta", "a = delta / 2")]
    done = subprocess.run(["node", f"{ROOT}/tests/tools/explore_session.mjs", f"{BUILD}/session.wasm"], text=True,
                          input=json.dumps([{"text": text, "seed": 1, "ops": 20000} for text in texts]),
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["found"]
    for text, page in zip(texts, found, strict=True):
        (tmp_path / "own.policy").write_text(text)
        name = re.search(r"policy (\w+)", text).group(1)
        native = subprocess.run([f"{BUILD}/schedsim", "--plugin", "own.policy", "--sched", name, "--seed", "1", "--ops",
                                 "20000"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert page["out"] == native.stdout.partition("\n")[2]
        assert page["failed"] == (native.returncode == 1)
        assert page["bytes"] < 300 << 20
    assert [page["failed"] for page in found[:3]] == [False, True, True] and found[1]["attempts"] > 20


class Writer:
    """Writes policies at random that use all of the language, large and negative numbers, and divisions by zero."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.read = []  # what an expression may read

    def value(self, depth=3):
        draw = self.random.random()
        if not depth or draw < 0.2:
            if self.random.random() < 0.3:
                return str(self.random.choice([0, 1, 2, 7, 1024, "3ms", 2**31 - 1, 2**32, 2**63 - 1]))
            return self.random.choice(self.read)
        part = lambda: self.value(depth - 1)  # noqa: E731
        if draw < 0.3:
            return f"{self.random.choice(['min', 'max'])}({part()}, {part()})"
        if draw < 0.4:
            return f"{self.random.choice('-!')}{part()}"
        if draw < 0.5:
            return f"({part()} ? {part()} : {part()})"
        op = self.random.choice("+ - * / % < > <= >= == != && ||".split())
        left, right = part(), part()
        shown = f"{left} {op} {right if right != left else 7}"
        return shown if self.random.random() < 0.3 else f"({shown})"

    def policy(self, name):
        given = ["clock", "count", "load", "first", "base_slice", "granularity"]
        own = ["weight", "ran", "queued"]
        self.read = [*given, *own, "a", "b", "c"]
        text = f"policy {name}\nentity a b\nqueue c\nkey a\nslice = {self.value(1)}\ntick = {self.value()}\n"
        for hook, more in [("place", ["is_new", "slept", "lead"]), ("charge", ["delta"]), ("leave", ["sleeps"]),
                           ("yield", []), ("reweight", ["new_weight"])]:
            self.read = [*given, *own, "a", "b", "c", "slice", "x", "n", *more]
            text += (f"{hook} {{\n    let x = {'b'}\n    let n = count\n    c += {self.value()}\n"
                     f"    while n > 0 {{\n        n -= 1\n        x = {self.value()}\n    }}\n"
                     f"    if {self.value()} {{\n        b = {self.value()}\n    }} else {{\n"
                     f"        b -= {self.value()}\n    }}\n"
                     f"    a = {self.value()}\n}}\n")
        self.read = [*given, "c"] + [f"{who}.{what}" for who in ("curr", "woken") for what in [*own, "a", "b", "slice"]]
        return text + f"preempts = {self.value()}\n"


@pytest.mark.sampled(2, "a text whose C decides otherwise")
@pytest.mark.parametrize("seed", range(6))
def test_texts_made_at_random_and_their_c_decide_the_same(seed, tmp_path):
    """They starve tasks and promise nothing, so only decisions are compared."""
    text = tmp_path / "any.policy"
    text.write_text(Writer(seed).policy(f"any_{seed}"))
    name, load = exported(text, tmp_path)
    for work in WORK[:3]:
        assert decided(load, name, work, tmp_path) == decided(["--plugin", text], name, work, tmp_path)


@pytest.mark.parametrize("line, text, sentence", [
    (1, "policy", "The policy's name is expected, not the end of the text."),
    (1, "policy Fast", 'Names have small letters: "Fast".'),
    (1, "policy x é", "A character here is not one of ASCII."),
    (2, "policy x\npromises fairness", '"fairness" is no promise; proportional, even, bounded-lag and deterministic'),
    (2, "policy x\nentity int", 'The name "int" is taken.'),
    (3, "policy x\nentity a\nkey b", 'The key must be a number that "entity" has named above.'),
    (2, "policy x\nsleep { }", '"sleep" is neither a declaration nor a hook.'),
    (2, "policy x\nentity a_name_of_17_char", 'The name "a_name_of_17_cha..." is longer than 16 characters.'),
    (9, SMALL + "tick = ran >", 'A number, a name or "(" is expected, not the end of the'),
    (11, SMALL + "tick = (ran >\n\n slice", '")" is expected, not the end of the text.'),
    (9, SMALL + "tick = 3 seconds", 'The end of the line is expected, not "seconds".'),
    (9, SMALL + "tick = 3xs", '"3xs" is not a number: 250, 3ms, 1.5us and 2s are'),
    (9, SMALL + "tick = delta", '"delta" is not known in tick.'),
    (9, SMALL + "tick = curr.turn", "Only preempts knows curr and woken."),
    (9, SMALL + "tick = $", 'The character "$" means nothing here.'),
    (9, SMALL + "tick = " + 99 * "(" + "1", "This is nested more than 64 deep."),
    (9, SMALL + "tick = " + " + ".join(5000 * ["ran"]), "The policy is too large."),
    (9, SMALL + "preempts = turn", "Whose? In preempts say curr.turn or woken.turn."),
    (9, SMALL + "preempts = curr.last", '"last" is not known.'),
    (9, SMALL + "preempts = woken.clock", "\"clock\" is not an entity's: it stands alone."),
    (9, SMALL + "slice = slice", '"slice" is not known in slice.'),
    (9, SMALL + "place {", "There is a place already."),
    (10, SMALL + "charge {\n    clock = 1\n}", '"clock" is given, and cannot be set.'),
    (11, SMALL + "charge {\n    last = 1\n", 'A statement or "}" is expected, not the end of the text.'),
    (4, "policy x\nentity a\nkey a\n", "There is no place: it sets the key of one that comes."),
    (1, "", 'The policy has no name: "policy NAME" is missing.'),
    (1, "# " + 70000 * "x", "The text has more than 65536 characters.")])
def test_a_mistake_is_told_by_line_and_sentence(line, text, sentence, tmp_path):
    path = tmp_path / "wrong.policy"
    path.write_text(text, encoding="utf-8")
    for option in "--plugin", "--export":
        done = schedsim(option, path, "--time", "10ms", "hogs")
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"schedsim: {option} {path}: line {line}: {sentence}"), done.stderr


def test_a_name_that_is_built_in_is_refused(tmp_path):
    (tmp_path / "wrong.policy").write_text(SMALL.replace("small", "cfs"))
    assert "a policy cfs is built in" in schedsim("--plugin", tmp_path / "wrong.policy", "hogs").stderr


def test_a_loop_that_does_not_end_is_a_bug_with_its_line(tmp_path):
    path = tmp_path / "loops.policy"
    path.write_text(SMALL + "yield {\n    while 1 {\n        turn += 1\n    }\n}\n")
    done = schedsim("--plugin", path, "--sched", "small", "--time", "1s", "yielders:n=2")
    assert done.returncode == 1 and "loops.policy:10: this loop does not end" in done.stderr
    done = schedsim("--plugin", path, "--sched", "small", "--ops", "20000")
    assert done.returncode == 1 and "loops.policy:10: this loop does not end" in done.stdout
    assert "operations are left" in done.stdout


def test_a_broken_promise_is_shrunk(tmp_path):
    """The task that ran is preferred for ever."""
    path = tmp_path / "unfair.policy"
    path.write_text(UNFAIR)
    done = schedsim("--plugin", path, "--sched", "unfair", "--ops", "40000")
    left = re.search(r"a task starves among equals\n(\d) operations are left", done.stdout)
    assert done.returncode == 1 and left, done.stdout
    again = re.search(r'--replay "([^"]*)"', done.stdout).group(1)
    replayed = schedsim("--plugin", path, "--sched", "unfair", "--replay", again)
    assert replayed.returncode == 1 and "a task starves among equals" in replayed.stdout

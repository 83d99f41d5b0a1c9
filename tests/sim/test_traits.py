# SPDX-License-Identifier: GPL-2.0-only
"""Every policy keeps the promises of its table (sched/fair/trait.def), judged from outside: by CPU times and by order.
`make traits SRC=mine.c` asks for one policy alone, SRC=sched/fair/eevdf/eevdf.c for one that is built in.
"""

import glob
import os
import pathlib
import re
import subprocess

import pytest

from fairground.base import policies
from tests.sim.conftest import BUILD, MS, ROOT, SEC, make_plugin, run

WEIGHT = {-5: 3121, 0: 1024, 5: 335, 10: 110}
TICK_NS = 4 * MS
SOURCES = [os.environ["SRC"]] if os.environ.get("SRC") else sorted(glob.glob("examples/policies/*.*", root_dir=ROOT))


def load(source):
    """The options of schedsim that load the policy in @source, and its line of --list-policies."""
    options = make_plugin(source)
    return options, list_policies(options)[-1]


def list_policies(options=()):
    words = [f"{BUILD}/schedsim", *options, "--list-policies"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def asked():
    """(options that load it, line of --list-policies) of each policy that is judged."""
    built_in = [([], line) for line in list_policies()]
    source = os.environ.get("SRC", "")
    if source.startswith("sched/"):
        return [row for row in built_in if row[1].split()[0] == pathlib.Path(source).stem.replace("_", "-")]
    return [*([] if source else built_in), *map(load, SOURCES)]


def subjects():
    """(options that load it, name, trait) of every policy and each of its traits that a judge knows."""
    for options, line in asked():
        name, *traits = line.split()
        for trait in traits:
            if trait in JUDGES:
                yield pytest.param(options, name, trait, id=f"{name}-{trait}")


# --- the judges: each raises AssertionError for a policy without the trait -------------------------

def proportional(simulate, tmp_path):
    """Four minutes: a lottery of 60,000 draws is off by 0.2 points as a rule."""
    done = simulate("--time", "240s", *(f"hogs:n=1,nice={nice}" for nice in WEIGHT))
    for nice, weight in WEIGHT.items():
        assert done.share("hog", nice) == pytest.approx(100 * weight / sum(WEIGHT.values()), abs=1)


def weighted(simulate, tmp_path):
    """Each gets more than the lighter ones, and from a third of its part by weight to three times as much."""
    done = simulate("--time", "24s", *(f"hogs:n=1,nice={nice}" for nice in WEIGHT))
    shares = [done.share("hog", nice) for nice in WEIGHT]
    assert shares == sorted(shares, reverse=True)
    for share, weight in zip(shares, WEIGHT.values()):
        assert 1 / 3 <= share / (100 * weight / sum(WEIGHT.values())) <= 3


def least_of_equals(simulate):
    """The least CPU time of seven hogs in each of three times 8 s."""
    before = dict.fromkeys(range(7), 0)
    least = []
    for seconds in (8, 16, 24):
        done = simulate("--time", f"{seconds}s", *(f"hogs:n=1,group=/g{i}" for i in range(7)))
        now = {i: task["cpu_ns"] for i, task in enumerate(done.result()["tasks"])}
        least.append(min(now[i] - before[i] for i in now))
        before = now
    return least


def even(simulate, tmp_path):
    assert min(least_of_equals(simulate)) >= 8 * SEC / 7 / 2


def bounded_lag(simulate, tmp_path):
    assert min(least_of_equals(simulate)) >= 8 * SEC / 7 - 3 * TICK_NS


def deterministic(simulate, tmp_path):
    """The seed changes nothing: with nothing drawn in the workload, the decisions are the same to the byte."""
    decisions = []
    for seed in "123":
        path = tmp_path / seed
        simulate("--seed", seed, "--time", "1s", "--decisions", str(path), "hogs:n=5", "bursts:n=2,run=1ms,sleep=7ms")
        decisions.append([line for line in path.read_text().splitlines() if '"kind"' in line])
    assert len(decisions[0]) > 100 and decisions[0] == decisions[1] == decisions[2]


JUDGES = {"proportional": proportional, "weighted": weighted, "even": even,
          "bounded-lag": bounded_lag, "deterministic": deterministic}


def simulator(tmp_path, options, name):
    def simulate(*words):
        done = run([*options, "--sched", name, "--cpus", "1", *words], tmp_path)
        assert done.status == 0, done.err
        return done
    return simulate


@pytest.mark.parametrize(("options", "name", "trait"), list(subjects()))
def test_a_policy_keeps_its_promises(tmp_path, options, name, trait):
    JUDGES[trait](simulator(tmp_path, options, name), tmp_path)


@pytest.mark.skipif("SRC" in os.environ, reason="one policy alone")
def test_a_policy_that_is_built_in_can_be_asked_alone():
    def collected(source):
        words = ["make", "-s", "traits", f"SRC={source}", f"B={os.path.relpath(BUILD, ROOT)}"]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTEST_ADDOPTS": "--collect-only"})
    found = re.findall(r"promises\[(.*)\]", collected("sched/fair/bore/bore_cfs.c").stdout)
    assert sorted(found) == ["bore-cfs-deterministic", "bore-cfs-even", "bore-cfs-weighted"]
    done = collected("sched/fair/eevdf/request.c")
    assert done.stderr.startswith("request is no policy of sched/fair/policies.def\n") and not done.stdout


@pytest.mark.parametrize("target", ["plugin", "scx", "scx-linux", "traits"])
@pytest.mark.parametrize(("name", "sentence"), [
    ("", "a file is to be named"), ("README.md", "a source in C is wanted, whose name ends in "),
    ("mine.cpp", "a source in C is wanted, whose name ends in "), ("gone.bpf.c", "there is no such file"),
    ("two words.bpf.c", "rename the file: "), ("a;touch b.bpf.c", "rename the file: "),
    ("a'b.bpf.c", "rename the file: "),
], ids=["none", "text", "other_language", "gone", "blank", "command", "quotation_mark"])
def test_a_source_that_cannot_be_one_is_refused_before_anything_is_made(tmp_path, target, name, sentence):
    if " " in name or "'" in name:
        (tmp_path / name).touch()
        name = str(tmp_path / name)
    done = make_in(tmp_path, target, f"SRC={name}")
    assert done.returncode == 2 and f"make {target} SRC={name}: {sentence}" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout and not list(tmp_path.glob("build/s*"))


def make_in(directory, *words):
    """The ended make that builds below @directory."""
    return subprocess.run(["make", "-s", *words, f"B={os.path.relpath(directory / 'build', ROOT)}"], cwd=ROOT,
                          capture_output=True, text=True, check=False, env={**os.environ, "MAKEFLAGS": ""})


def test_what_a_program_for_linux_lacks_is_said(tmp_path):
    """Where errors are expected, also by the tools that call make."""
    done = make_in(tmp_path, "scx-linux", "SRC=examples/scx/fifo.bpf.c")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("make scx-linux needs headers of Linux: sh tools/setup.sh --compare --scx ")


@pytest.mark.skipif("SRC" in os.environ, reason="one policy alone")
def test_tools_read_the_traits_that_the_tables_claim():
    built_in = {name.replace("-", "_"): frozenset(traits) for name, *traits in map(str.split, list_policies())}
    assert policies.traits() == built_in
    assert policies.claim("bore_cfs", "scores") and not policies.claim("guest", "scores")


# --- the judges can tell ----------------------------------------------------------------------------

@pytest.mark.skipif("SRC" in os.environ, reason="one policy alone")
@pytest.mark.parametrize(("base", "trait"), [("mlfq", "proportional"), ("round_robin", "weighted"),
                                            ("lottery", "deterministic"), ("lottery", "bounded-lag")])
def test_a_false_promise_is_found(tmp_path, base, trait):
    text = pathlib.Path(f"{ROOT}/examples/policies/{base}.c").read_text(encoding="utf-8")
    liar = f"{base}_{trait.replace('-', '_')}"
    claim = f"BIT(TRAIT_{trait.upper().replace('-', '_')})"
    assert claim not in text
    source = tmp_path / f"{liar}.c"
    source.write_text(re.sub(r"\.traits = [^,]*,", f".traits = {claim},", text.replace(base, liar)))
    options, line = load(str(source))
    name, *traits = line.split()
    assert traits == [trait]
    with pytest.raises(AssertionError):
        JUDGES[trait](simulator(tmp_path, options, name), tmp_path)

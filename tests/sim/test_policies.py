# SPDX-License-Identifier: GPL-2.0-only
"""Policies written from sched/README.md or docs/policies.md alone, each in one file: as plugins they decide, keep the
books, and hold to the traits they claim; and no list of policies has to know them."""

import glob
import os
import re
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, make_plugin

POLICIES = sorted(os.path.basename(path) for path in glob.glob(f"{ROOT}/examples/policies/*.*"))
OPERATIONS = "20000"


@pytest.fixture(scope="module", params=POLICIES)
def plugin(request):
    """(name of the policy, options of schedsim that load it)"""
    name = request.param.partition(".")[0].replace("_", "-")
    return name, make_plugin(f"examples/policies/{request.param}")


def schedsim(*words):
    return subprocess.run([f"{BUILD}/schedsim", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_random_operations_keep_every_invariant_and_the_traits(plugin):
    name, load = plugin
    done = schedsim(*load, "--sched", name, "--seed", "3", "--ops", OPERATIONS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: {OPERATIONS} operations" in done.stdout


def test_it_swaps_with_the_policies_that_are_built_in(plugin):
    """Exploration swaps among all policies; so do these, with the plugin as one of them."""
    name, load = plugin
    done = schedsim(*load, "--sched", "cfs", "--seed", "5", "--ops", OPERATIONS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_stands_beside_the_others_in_one_table(plugin):
    name, load = plugin
    done = schedsim(*load, "--sched", "all", "--cpus", "2", "--time", "500ms", "hogs:n=3", "bursts:n=2")
    assert done.returncode == 0 and name in done.stdout and "eevdf" in done.stdout


def test_it_explains_a_decision_in_its_own_numbers(plugin):
    name, load = plugin
    done = schedsim(*load, "--sched", name, "--cpus", "1", "--explain", "200ms", "hogs:n=3")
    assert done.returncode == 0 and "picked" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name, within", [("stride.c", 0.5), ("lottery.c", 4.0), ("strides.policy", 0.5),
                                          ("deadlines.policy", 0.5)])
def test_shares_are_proportional(name, within):
    """Nice 0 and nice 5 for 20 s: 75.3 % and 24.7 %; a lottery of 5,000 draws is off by 0.6 points as a rule."""
    load = make_plugin(f"examples/policies/{name}")
    done = schedsim(*load, "--sched", name.partition(".")[0], "--cpus", "1", "--time", "20s", "hogs:n=1",
                    "hogs:n=1,nice=5")
    share = next(float(line.split()[4]) for line in done.stdout.splitlines() if line.startswith("hog nice 0"))
    assert abs(share - 100 * 1024 / (1024 + 335)) < within, done.stdout


def test_a_plugin_that_is_none_is_refused(tmp_path):
    done = schedsim("--plugin", str(tmp_path / "missing.so"), "--sched", "mine", "hogs:n=1")
    assert done.returncode == 2 and "missing.so" in done.stderr


@pytest.mark.parametrize("feature, wait_ms, turns", [("HRTICK_DL", (1.4, 1.5), (70, 80)),
                                                     ("NO_HRTICK_DL", (3.5, 5.5), (45, 55))])
def test_a_tick_ends_the_budget_of_a_deadline_task_or_a_timer(sim, feature, wait_ms, turns):
    """A job of 3.1 ms each 7.9 ms with a budget of 1.5 ms gets 1.5 / 7.9 of the CPU both ways, for a debt is paid. By a
    tick, as on Linux 6.1 and 6.12, in longer turns, so another deadline task waits longer than one budget."""
    run = sim(f"--sched cfs --features {feature} --check --hz 250 --cpus 1 --time 600ms "
              "periodic:policy=deadline,runtime=2500us,deadline=9973us,run=2000us,period=9973us "
              "periodic:policy=deadline,runtime=1500us,deadline=7919us,run=3100us,period=7919us hogs:n=1")
    honest, greedy, _ = run.result()["tasks"]
    assert greedy["cpu_ns"] / 600e6 == pytest.approx(1.5 / 7.919, abs=0.004)
    assert honest["cpu_ns"] / 600e6 == pytest.approx(2 / 9.973, abs=0.004)
    assert wait_ms[0] <= honest["wakeup_ns"]["max"] / 1e6 <= wait_ms[1]
    assert turns[0] <= greedy["runs"] <= turns[1]


@pytest.mark.parametrize("body, why", [
    ("*(volatile int *)(zero + 16l) = 1;", "used a wild pointer"),
    ("zero = 5 / zero;", "divided by zero"),
    ("while (!zero) ;", "does not return"),
])
def test_a_plugin_that_crashes_or_hangs_is_named_with_its_hook(tmp_path, body, why):
    with open(f"{ROOT}/examples/policies/stride.c", encoding="utf-8") as file:
        text = file.read().replace("stride", "crash")
    start = "static void charge(struct fair_queue *q, struct entity *e, u64 delta)\n{\n"
    assert start in text
    source = tmp_path / "crash.c"
    source.write_text(text.replace(start, f"static volatile int zero;\n{start}\t{body}\n"))
    done = subprocess.run([f"{BUILD}/schedsim", *make_plugin(str(source)), "--sched", "crash", "--hang", "200ms",
                           "--time", "1s", "hogs:n=2"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert re.search(r"at 0\.0\d+ s on CPU 0 the hook charge of the policy crash " + why, done.stderr), done.stderr

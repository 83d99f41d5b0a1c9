# SPDX-License-Identifier: GPL-2.0-only
"""Random operations on the scheduler, and every short sequence of them; after each the invariants are checked."""

import os
import pathlib
import re
import subprocess
from random import Random

import pytest

import kernel_tests
from fairground.base.settings import SCHEDULERS
from tests.conftest import BUILD, ROOT, drawn_seed
from tests.sim.test_scx import loaded
from tests.unit.test_unit import ENVIRONMENT

DAILY_OPS, NIGHTLY_OPS = "100000", "2000000"  # 2 and 30 seconds of CPU time
PROGRAMS = {"cgroup": 500, "filter": 500, "socketpair": 500, "instance": 200}  # or 1,000: at most 6 seconds


def explore(*words):
    """Let the simulator explore. The command is in the output, so that a failure can be repeated."""
    done = subprocess.run([f"{BUILD}/schedsim", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"build/schedsim {' '.join(words)}\n{done.stdout[-4000:]}"


@pytest.mark.parametrize("program", sorted(path.stem for path in pathlib.Path(ROOT, "tests/prop").glob("prop_*.c")))
def test_program(tap_program, program):
    tap_program([f"{BUILD}/unit/{program}"], **ENVIRONMENT)


def hosted(name, *words, seed=0):
    """Let programs of system calls run on objects of the kernel, beside their models. The seed is in the output."""
    words = ("--object", name, "--seed", str(seed or drawn_seed()), *words)
    done = subprocess.run([f"{BUILD}/unit/hosted", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **ENVIRONMENT})
    assert done.returncode == 0, f"build/unit/hosted {' '.join(words)}\n{done.stdout[-4000:]}"


@pytest.mark.parametrize("name", kernel_tests.objects(pathlib.Path(ROOT)))
def test_object_of_the_kernel(name):
    hosted(name, "--programs", str(PROGRAMS.get(name, 1000)))


@pytest.mark.nightly("a program that is rarely drawn")
@pytest.mark.parametrize("name", kernel_tests.objects(pathlib.Path(ROOT)))
def test_many_programs_of_an_object(name):
    hosted(name, "--programs", str(3 * PROGRAMS.get(name, 1000)), seed=drawn_seed() + 1)


def hosted_says(*words):
    """Status, output and complaints of the program of objects."""
    done = subprocess.run([f"{BUILD}/unit/hosted", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    complaints = [line for line in done.stderr.splitlines() if "ASan doesn't fully support" not in line]
    return done.returncode, done.stdout, "\n".join(complaints)


@pytest.mark.parametrize(("words", "said"), [
    (("--seed", "x"), "--seed x: this is no number from 0"),
    (("--seed", "18446744073709551616"), "no number from 0 to 18446744073709551615"),
    (("--programs", "-1"), "--programs -1: this is no number"),
    (("--sequences", "4294967296"), "--sequences 4294967296: this is no number"),
    (("--preemptions", "9"), "--preemptions 9: this is no number from 0 to 4"),
    (("--object", "pip"), 'there is no object "pip"'),
    (("more",), '"more" belongs to no option'),
    (("--more",), "unrecognized option"),
    (("--replay", "read:1"), "--replay needs --object NAME"),
    (("--object", "pipe", "--replay", "reed:1"), '"reed:1": the calls of pipe are read write '),
    (("--object", "pipe", "--replay", "read"), '"read": behind read and a colon comes a number from 1 to 12288'),
    (("--object", "pipe", "--replay", "read:1x"), '"read:1x": behind the number comes nothing, ? or !'),
    (("--object", "pipe", "--replay", "read:1??"), '"read:1??": behind the number comes nothing'),
    (("--object", "pipe", "--replay", "/ / / /"), "a program has at most 4 threads"),
    (("--object", "pipe", "--replay", "poll:0 " * 65), "a thread has at most 64 calls"),
    (("--object", "pipe", "--replay", "poll:0 @ 1>1"), "behind > comes the number of a thread, 0 to 0"),
    (("--object", "pipe", "--replay", "poll:0 @ x>0"), "before > comes the number of a point, from 0 on"),
    (("--object", "pipe", "--replay", "poll:0 / @ 2>1 1>0"), '"1>0": before > comes the number of a point, from 3 on'),
    (("--object", "pipe", "--replay", "/ @ 0>1 1>0 2>1 3>0 4>1"), "a program has at most 4 preemptions"),
    (("--object", "pipe", "--replay", "poll:0 #0"), '"#0": behind # comes the number of an allocation, from 1 on'),
])
def test_wrong_words_of_hosted(words, said):
    status, output, complaint = hosted_says(*words)
    assert status == 2 and said in complaint and not output, output + complaint
    assert "untime error" not in complaint


def test_help_of_hosted():
    status, output, complaint = hosted_says("--help")
    assert status == 0 and not complaint and "tmpfs vma\n" in output and "--replay PROGRAM" in output


def numbers_of(name):
    """What an object's calls take, as the program says it: {call: (least number, greatest)}."""
    calls = hosted_says("--object", name, "--replay", "?")[2].partition(" are ")[2].split()
    said = {call: hosted_says("--object", name, "--replay", call)[2] for call in calls}
    return {call: tuple(map(int, re.search(r"from (\d+) to (\d+)$", text).groups())) for call, text in said.items()}


@pytest.mark.parametrize("name", kernel_tests.objects(pathlib.Path(ROOT)))
def test_numbers_of_a_replay(name):
    """A number that no call takes is refused. With others a program is run and judged, if they are never drawn, too."""
    numbers = numbers_of(name)
    assert len(numbers) > 1
    for call, (least, most) in numbers.items():
        for wrong in {least - 1, most + 1, least + 2 ** 32} - {-1}:
            status, output, complaint = hosted_says("--object", name, "--replay", f"{call}:{wrong}")
            assert status == 2 and not output and f'"{call}:{wrong}": behind {call}' in complaint, output + complaint
    random = Random(drawn_seed())
    for nr_threads in (1, 1, 1, 2, 3):
        drawn = [f"{call}:{random.choice([least, most, random.randint(least, most)])}{random.choice('  ?!').strip()}"
                 for call, (least, most) in random.choices(list(numbers.items()), k=6)]
        text = " ".join(drawn[:2] + ["/"] * (nr_threads > 1) + drawn[2:4] + ["/"] * (nr_threads > 2) + drawn[4:])
        status, output, complaint = hosted_says("--object", name, "--replay", text)
        judged = output.splitlines()[-1].startswith(f"{name}: ") if output else False
        assert status in (0, 1) and judged and not complaint, f"--replay '{text}'\n{output}{complaint}"


WRONG_ANSWER = """
class Plant(gdb.Breakpoint):
    def stop(self):
        gdb.execute("set var h->events[0][1].answer.value = 7")
        return False
Plant("judge_history", internal=True)
"""


def test_a_disagreement_shows_both_states(tmp_path):
    """The pipe has 90 bytes left, and answered, as its judge is made to believe, that it had given 7 and not 10."""
    plant = tmp_path / "plant.py"
    plant.write_text(WRONG_ANSWER, encoding="ascii")
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-x", str(plant), "-x", "tests/hosted/states.py", "--args",
                           f"{BUILD}/unit/hosted", "--object", "pipe", "--replay", "try_write:100 try_read:10"],
                          cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "thread 0's try_read:10 answered 7" in done.stdout and "right is 10" in done.stdout, done.stdout
    rest = done.stdout.partition("  the object, after all calls:\n")[2]
    assert "head = 100, tail = 10," in rest and "readers = 1, writers = 1" in rest, rest
    assert "used = 90" in rest.partition("  the model, after the call that it answers otherwise:\n")[2], rest


@pytest.mark.nightly("an access that no lock orders, and no atomic operation")
@pytest.mark.parametrize("name", kernel_tests.objects(pathlib.Path(ROOT)))
def test_object_of_the_kernel_has_no_race(name):
    subprocess.run(["make", "-s", f"B={BUILD}", f"{BUILD}/tsan/hosted"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "MAKEFLAGS": ""})
    words = [f"{BUILD}/tsan/hosted", "--object", name, "--programs", "60", "--sequences", "0"]
    words += ["--seed", str(drawn_seed())]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr[-4000:]}{done.stdout[-4000:]}"


@pytest.mark.nightly("a fault that needs two switches at one place each")
@pytest.mark.parametrize("name", kernel_tests.objects(pathlib.Path(ROOT)))
def test_object_of_the_kernel_under_every_schedule(name):
    """A walk along a path takes many steps, so that its programs have the more schedules. Of the objects with the
    longest calls no more than 5,000 schedules of each program are tried."""
    few = dict.fromkeys(("cgroup", "filter", "instance", "socketpair"), ("100", "5000"))
    few |= {"tmpfs": ("10", "0"), "vma": ("100", "0")}
    programs, runs = few.get(name, ("400", "0"))
    hosted(name, "--programs", programs, "--runs", runs)


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_random_operations(sched):
    """The same at each commit, so that a failure is the commit's; `make test SEED=N` tries others."""
    explore("--sched", sched, "--seed", str(drawn_seed()), "--ops", DAILY_OPS)


@pytest.mark.nightly("what takes more operations to come about")
@pytest.mark.parametrize("sched", SCHEDULERS)
def test_many_random_operations(sched):
    explore("--sched", sched, "--seed", str(drawn_seed() + 1), "--ops", NIGHTLY_OPS)


@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_operations_while_random_schedulers_come_and_go(sched):
    """The class ext: a scheduler that inserts, keeps, walks, kicks and errs at random is loaded and thrown out."""
    explore("--sched", sched, "--seed", str(drawn_seed() + 2), "--ops", DAILY_OPS, "--ext")


@pytest.mark.parametrize("sched, ops", [("eevdf", "50000")] + [
    pytest.param(sched, NIGHTLY_OPS, marks=pytest.mark.nightly("what a program does after many operations"))
    for sched in SCHEDULERS])
def test_operations_while_programs_for_sched_ext_come_and_go(sched, ops):
    """The oracle of dispatch judges what the class does for them. A swap of policies is one of the operations."""
    programs = [word for name in ("fifo", "vtime", "central", "llc") for word in ("--scx", loaded(name))]
    explore("--sched", sched, "--seed", str(drawn_seed() + 3), "--ops", ops, *programs)


def test_a_program_that_cannot_be_explored_is_refused_with_a_sentence():
    done = subprocess.run([f"{BUILD}/schedsim", "--ops", "1", "--scx", "nowhere.so"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and done.stderr.startswith("schedsim: --scx nowhere.so: ")


@pytest.mark.sampled(7, "a short sequence that breaks one policy")
@pytest.mark.parametrize("sched", SCHEDULERS)
def test_every_sequence_of_operations(sched):
    explore("--sched", sched, "--exhaustive", "5")

# SPDX-License-Identifier: GPL-2.0-only
"""Gradescope's and GitHub Classroom's layouts, in a box that has their paths: what they run is run, and what it leaves
has the form that their documents state. The box has this host's programs; a container of theirs may have others.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from fairground.lab import handout, objects, spec
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]
TIMEOUT = 900
# https://gradescope-autograders.readthedocs.io/en/latest/specs/
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
SEEN = {"hidden", "after_due_date", "after_published", "visible"}
TEST = {"score": (int, float), "max_score": (int, float), "status": {"passed", "failed"}, "name": str, "number": str,
        "name_format": FORMATS, "output": str, "output_format": FORMATS, "tags": list, "visibility": SEEN,
        "extra_data": dict}
RESULTS = {"score": (int, float), "execution_time": (int, float), "output": str, "output_format": FORMATS,
           "test_output_format": FORMATS, "test_name_format": FORMATS, "visibility": SEEN, "stdout_visibility": SEEN,
           "extra_data": dict, "tests": list, "leaderboard": list}


def assert_form(data, form):
    """Each key of @data is one of @form, with a value of its kind or among its words."""
    for key, value in data.items():
        assert key in form, key
        assert value in form[key] if isinstance(form[key], set) else isinstance(value, form[key]), (key, value)


def assert_results(data):
    assert_form(data, RESULTS)
    assert "score" in data or all("score" in test for test in data["tests"])
    for test in data.get("tests", []):
        assert_form(test, TEST)


def boxed(place, inside, command, **more):
    """Run @command as root in a box with the host's programs and nothing of its files, in @place, there @inside."""
    words = ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-uts", "--uid", "0", "--gid", "0",
             "--die-with-parent"]
    for top in ("usr", "bin", "sbin", "lib", "lib64", "etc"):
        words += ["--ro-bind-try", f"/{top}", f"/{top}"]
    words += ["--dev", "/dev", "--bind", "/proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/root", "--bind", str(place),
              inside, "--chdir", inside, "--clearenv", "--setenv", "PATH", "/usr/sbin:/usr/bin:/sbin:/bin"]
    for name, value in more.items():
        words += ["--setenv", name, value]
    return subprocess.run([*words, "bash", "-c", command], capture_output=True, text=True, check=False, timeout=TIMEOUT)


def answer(lab, to):
    """The reference of @lab as a student uploads it: the files alone."""
    to.mkdir()
    for name, text in handout.texts(lab).items():
        (to / pathlib.PurePath(name).name).write_text(text, encoding="utf-8")


@pytest.fixture(name="autograder", scope="module")
def an_autograder(tmp_path_factory):
    """/autograder as the image has it: the archive's content in source, run_autograder beside, and setup.sh was run."""
    place = tmp_path_factory.mktemp("gradescope") / "autograder"
    source = place / "source"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (source / "fairground" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / "fairground" / name)
    for name in ("setup.sh", "run_autograder"):
        shutil.copy2(ROOT / "labs/gradescope" / name, source / name)
    shutil.copytree(BUILD, source / "fairground/build", ignore=shutil.ignore_patterns("labs", "mut*"), symlinks=True)
    shutil.copy2(source / "run_autograder", place / "run_autograder")
    done = boxed(place, "/autograder", "bash source/setup.sh")
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    return place


def test_a_compiler_as_ubuntu_has_it_adds_no_call(tmp_path):
    """The grader would take a call for the student's, and refuse the reference: 0 of 100."""
    files = ("sched/balance/placement.c", "sched/core/machine.c")
    made = [tmp_path / tree / f"{file}.o" for tree in ("sim", "unit") for file in files]
    ubuntus = "CC=gcc -fstack-protector-all -D_FORTIFY_SOURCE=3"
    done = subprocess.run(["make", f"B={tmp_path}", ubuntus, *map(str, made)], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert not [name for name in objects.undefined(made) if name.startswith("__stack_chk") or name.endswith("_chk")]


@pytest.mark.nightly("an autograder that fails in Gradescope's layout, or whose results it would not take")
def test_gradescope(autograder):
    lab = spec.find("1")
    shutil.rmtree(autograder / "submission", ignore_errors=True)
    answer(lab, autograder / "submission")
    done = boxed(autograder, "/autograder", "./run_autograder", LAB="1", SEED="77")
    results = json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))
    assert_results(results)
    assert done.returncode == 0 and results["score"] == 100, done.stdout + done.stderr

    (autograder / "submission/schedule.py").write_text("print('nothing')\n", encoding="utf-8")
    done = boxed(autograder, "/autograder", "./run_autograder", LAB="1", VARIANT="a key")
    results = json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))
    assert_results(results)
    assert done.returncode == 0 and results["score"] == 0 and len(results["tests"]) == 6

    (autograder / "results/results.json").unlink()
    done = boxed(autograder, "/autograder", "./run_autograder", LAB="none")
    results = json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))
    assert_results(results)
    assert done.returncode != 0 and "tell your instructor" in results["output"]


@pytest.mark.nightly("an autograder that is made where no submission would be graded")
def test_gradescope_where_there_is_no_box(autograder):
    """In a container whose /proc is masked, a box cannot have its own: setup.sh says so, not each submission."""
    done = boxed(autograder, "/autograder", "exec bwrap --dev-bind / / --proc /proc bash source/setup.sh")
    assert done.returncode == 1 and "no submission would be graded" in done.stderr
    assert "bubblewrap: " in done.stderr


def steps_of(workflow):
    """The keys of each step of @workflow, which has one to a line."""
    steps = re.split(r"^      - ", workflow, flags=re.MULTILINE)[1:]
    return [{key: value.strip('"') for key, value in re.findall(r"^ *([\w-]+): (.+)$", step, re.MULTILINE)}
            for step in steps]


@pytest.mark.nightly("a workflow whose steps fail in a hand-out, or that hands the reporter what it does not read")
def test_classroom(tmp_path):
    """Each step of the workflow that is a command, in a checkout of a hand-out, and what the reporter is given."""
    lab, place = spec.find("1"), tmp_path / "checkout"
    handout.write(lab, place)
    for name, text in handout.texts(lab).items():
        (place / name).write_text(text, encoding="utf-8")
    shutil.copytree(BUILD, place / "build", ignore=shutil.ignore_patterns("labs", "mut*"), symlinks=True)
    steps = steps_of((place / handout.CLASSROOM).read_text(encoding="utf-8"))
    outputs = {}
    for step in steps:
        if "run" in step and "apt-get" not in step["run"]:
            done = boxed(place, "/github", step["run"], GITHUB_OUTPUT="/github/output")
            if "id" not in step:
                assert done.returncode == 0, done.stderr
                continue
            said = (place / "output").read_text(encoding="utf-8").splitlines()[-1]
            assert done.returncode in (0, 1) and said.startswith("result="), done.stderr
            outputs[f"${{{{ steps.{step['id']}.outputs.result }}}}"] = json.loads(base64.b64decode(said[7:]))
    reporter = steps[-1]
    runners = reporter["runners"].split(",")
    given = {name: outputs[reporter[f"{name.upper()}_RESULTS"]] for name in runners}
    assert len(given) == len(outputs) == len(runners)
    for result in given.values():
        assert result["status"] == "pass" and sum(test["score"] for test in result["tests"]) == result["max_score"]
        assert all(test["status"] == "pass" and isinstance(test["name"], str) for test in result["tests"])
    assert sum(result["max_score"] for result in given.values()) == 100
    assert os.listdir(place / "build/labs")

# SPDX-License-Identifier: GPL-2.0-only
"""Models of wakeups, switches, locks and dispatch: Spin tries every order of their steps, and refuses each seeded bug.

A model is of use only while it speaks of the code that runs: its names are those of the C sources.
"""

import pathlib
import re
import subprocess

import pytest

from tests.conftest import ROOT

HERE = pathlib.Path(ROOT, "tests/spin")
# A model, how many seeded bugs it has, and options of the verifier (-E: a thread may sleep for ever in the end).
MODELS = {"wake": (4, []), "switch": (3, ["-E"]), "hold": (6, []), "mutex": (5, []), "futex": (5, [])}
CASES = [(model, bug) for model, (bugs, _) in MODELS.items() for bug in range(bugs + 1)]


def run(directory, *words):
    done = subprocess.run(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def verify(model, bug, directory):
    """The verifier's words about a model with a seeded bug; 0 is the model without."""
    run(directory, "spin", f"-DBUG={bug}", "-a", str(HERE / f"{model}.pml"))
    run(directory, "cc", "-w", "-O0" if bug else "-O1", "-DSAFETY", "-o", "pan", "pan.c")
    return run(directory, "./pan", "-m100000", *MODELS[model][1])


@pytest.mark.parametrize("model, bug", CASES)
def test_only_seeded_bugs_are_refused(model, bug, tmp_path):
    said = verify(model, bug, tmp_path)
    errors = int(re.search(r"errors: (\d+)", said).group(1))
    assert "max search depth too small" not in said
    assert errors == (1 if bug else 0), said
    if bug:
        assert re.search(r"invalid end state|assertion violated", said), said


def test_lost_wakeup_reads_as_the_book_says(tmp_path):
    page = pathlib.Path(ROOT, "docs/book/12-wakeups.md").read_text()
    section = re.search(r"^## Every order of the steps$(.*?)^## ", page, re.M | re.S).group(1)
    command, told = re.search(r"`(spin -DBUG=1 [^`]+)`", section).group(1), re.findall(r"`(\[[^`]+\])`", section)
    assert len(told) == 4
    verify("wake", 1, tmp_path)
    steps = run(tmp_path, *command.replace("../tests/spin", str(HERE)).split())
    at = [steps.rindex(step) for step in told]
    assert at == sorted(at), steps[-4000:]


def names_of(model):
    """Pairs of a file and a name of it: what the comment at the head of a model says it is about."""
    head = (HERE / f"{model}.pml").read_text().split("*/")[1]
    lines = re.findall(r"^ \*\t(\S+\.[ch]) (.+)$", head, re.M)
    return [(file, name) for file, names in lines for name in names.split()]


@pytest.mark.parametrize("model", MODELS)
def test_names_are_those_of_the_code(model):
    names = names_of(model)
    assert len(names) > 10
    for file, name in names:
        source = pathlib.Path(ROOT, file).read_text()
        if "." in name:
            struct, field = name.split(".")
            body = re.search(rf"^struct {struct} \{{$(.*?)^\}}", source, re.M | re.S)
            assert body and re.search(rf"^\t[\w *,]*[ *]{field}[,;]", body.group(1), re.M), f"{file}: no field {name}"
        else:
            assert re.search(rf"^\w[^\n;]*\b{name}\([^;{{]*\)\n\{{", source, re.M), f"{file}: no function {name}()"


@pytest.mark.parametrize("model", MODELS)
def test_all_listed_names_are_in_the_model(model):
    _, _, text = (HERE / f"{model}.pml").read_text().split("*/", 2)
    for _, name in names_of(model):
        assert re.search(rf"\b{name.replace('.', '_')}\b", text), f"{model}.pml does not use {name}"

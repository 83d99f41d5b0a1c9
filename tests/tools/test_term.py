# SPDX-License-Identifier: GPL-2.0-only
"""The term: the slides say what the chapters say, and the questions' answers are right and graded so in each form."""

import csv
import pathlib
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

import pytest

from tests.e2e.conftest import BUILD
from tests.tools.test_book import BOOK, DECIMAL, ROOT, printed, prose

import qti
import questions
import slides
from fairground.base.settings import UsageError

DECKS = sorted((ROOT / "docs/term/slides").glob("*.md"))
NS = {"q": qti.QTI21, "o": qti.QTI12}


def chapter(deck):
    return next(BOOK.glob(f"{deck.stem}-*.md"))


def test_each_chapter_has_slides_and_ends_with_the_recipe():
    assert [deck.stem for deck in DECKS] == sorted(path.name[:2] for path in BOOK.glob("[0-9]*.md"))
    for deck in DECKS:
        heads = re.findall(r"^#+ (.*)$", deck.read_text(), re.MULTILINE)
        assert heads[0].partition(". ")[0] == str(int(deck.stem)) and heads[-2:] == ["Live", "Exercise"], deck.name
        assert len(heads) == deck.read_text().count("\n---\n") + 1 >= 5


@pytest.mark.parametrize("deck", DECKS, ids=lambda path: path.name)
def test_slides_show_the_chapters_pictures_and_numbers(deck):
    text, of_the_chapter = deck.read_text(), chapter(deck).read_text()
    pictures = re.findall(r"!\[[^]]*\]\((img/[^)]+)\)", text)
    assert all(f"]({name})" in of_the_chapter for name in pictures)
    shown = printed(chapter(deck)) + of_the_chapter
    assert [number for number in DECIMAL.findall(prose(text)) if number not in shown] == []


DIGITS = dict(zip("one two three four five six seven eight ten fifteen".split(), (1, 2, 3, 4, 5, 6, 7, 8, 10, 15)))


def test_the_plans_have_each_labs_own_hours():
    """The last column is what the lab states: "Six to eight hours" is "6 to 8"."""
    rows = re.findall(r"\(\.\./\.\./(labs/[^)]+)\)[^|]*\| ([^|]+?) \|$", (ROOT / "docs/term/README.md").read_text(),
                      re.MULTILINE)
    assert len(rows) > 12
    for path, hours in rows:
        stated = re.search(r"\*\*Time\.\*\* ([^.]*?) hours", (ROOT / path).read_text())[1].lower().split()
        assert " ".join(str(DIGITS.get(word, word)) for word in stated) == hours, path


@pytest.mark.nightly("slides that Marp cannot make; npm fetches it from the network")
def test_the_slides_are_made(tmp_path, monkeypatch):
    if not shutil.which("npm") or not shutil.which("chromium"):
        pytest.skip("npm or chromium is not installed")
    monkeypatch.chdir(ROOT)
    slides.make(slides.wanted(["14"]), tmp_path)
    assert (tmp_path / "14.pdf").read_bytes().startswith(b"%PDF")
    page = (tmp_path / "14.html").read_text()
    assert "img/14-dhall.svg" in page and (tmp_path / "img/14-dhall.svg").exists() and "Dhall" in page


def test_a_chapter_without_slides_is_one_sentence(monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(UsageError, match="there is no docs/term/slides/99.md"):
        slides.wanted(["99"])


def bank(key, count=3):
    return {name: questions.variants(pathlib.Path(BUILD), name, key, count) for name in questions.QUESTIONS}


def test_a_key_gives_the_same_bank_and_another_key_another(tmp_path):
    for name, key in (("a", "spring"), ("b", "spring"), ("c", "autumn")):
        questions.write(bank(key), tmp_path / name)
    for form in ("canvas.zip", "qti21.zip", "moodle.xml", "answers.csv"):
        same, other = (tmp_path / name / form for name in "bc")
        assert (tmp_path / "a" / form).read_bytes() == same.read_bytes() != other.read_bytes()


def accepted12(item, value):
    """Whether QTI 1.2's rules of @item take @value."""
    least, most = (float(item.find(f".//o:{sign}", NS).text) for sign in ("vargte", "varlte"))
    assert item.find(".//o:setvar", NS).text == "100" and least <= float(item.find(".//o:varequal", NS).text) <= most
    return least <= value <= most


def accepted21(item, value):
    """Whether the response processing of @item, QTI 2.1, takes @value."""
    condition = item.find(".//q:responseIf/q:and", NS)
    bounds = {each.tag.split("}")[1]: float(each.find("q:baseValue", NS).text) for each in condition}
    return bounds["gte"] <= value <= bounds["lte"]


def test_every_form_takes_the_right_answer_and_no_other(tmp_path):
    made = bank("forms")
    questions.write(made, tmp_path)
    every = {variant.name: variant for each in made.values() for variant in each}
    rows = list(csv.DictReader((tmp_path / "answers.csv").open()))
    assert {row["question"]: float(row["answer"]) for row in rows} == {name: v.answer for name, v in every.items()}
    with zipfile.ZipFile(tmp_path / "canvas.zip") as archive:
        root = ET.fromstring(archive.read("quiz/quiz.xml"))
        assert b'href="quiz/quiz.xml"' in archive.read("imsmanifest.xml")
    groups = root.findall("o:assessment/o:section/o:section", NS)
    assert [group.find(".//o:selection_number", NS).text for group in groups] == ["1"] * len(made)
    items12 = {item.get("ident"): item for group in groups for item in group.findall("o:item", NS)}
    with zipfile.ZipFile(tmp_path / "qti21.zip") as archive:
        listed = re.findall(r'<file href="([^"]+)"', archive.read("imsmanifest.xml").decode())
        items21 = {item.get("identifier"): item for item in (ET.fromstring(archive.read(name)) for name in listed)}
    moodle = {each.find("name/text").text: each for each in ET.parse(tmp_path / "moodle.xml").getroot()
              if each.get("type") == "numerical"}
    assert items12.keys() == items21.keys() == moodle.keys() == every.keys()
    for name, variant in every.items():
        assert variant.text in "".join(items12[name].itertext()) and variant.text in "".join(items21[name].itertext())
        answer = moodle[name].find("answer")
        assert float(answer.find("text").text) == pytest.approx(variant.answer, abs=1e-6)
        assert float(answer.find("tolerance").text) == variant.tolerance
        for distance, right in ((0, True), (0.9, True), (-0.9, True), (1.1, False), (-1.1, False)):
            value = variant.answer + distance * variant.tolerance
            assert accepted12(items12[name], value) is right and accepted21(items21[name], value) is right


def test_a_formula_that_the_simulator_does_not_confirm_writes_nothing(monkeypatch):
    wrong = questions.QUESTIONS["response"]._replace(formula=lambda n: n["a"] + n["b"] + n["c"])
    monkeypatch.setitem(questions.QUESTIONS, "response", wrong)
    with pytest.raises(UsageError, match="A response time: the formula says"):
        questions.variants(pathlib.Path(BUILD), "response", "any", 20)


def test_response_times_are_those_of_a_schedule_by_the_millisecond():
    """Each ms goes to the most urgent that has work; the third is done when its work is."""
    for seed in range(200):
        n = questions.draw_periodic(random.Random(seed))
        left, now = [0, 0, n["c"]], 0
        while left[2]:
            for at, (work, period) in enumerate(((n["a"], n["ta"]), (n["b"], n["tb"]))):
                left[at] += work if now % period == 0 else 0
            left[next(at for at in range(3) if left[at])] -= 1
            now += 1
        assert now == questions.third_done(n), n


@pytest.mark.parametrize(("words", "said"), [
    ([], "usage"), (["a", "0"], "the number of variants is 1 to 1000"), (["a", "x"], "the number of variants"),
    (["a", "1"], "schedsim: make sim builds it")])
def test_the_command_says_what_is_wrong(tmp_path, words, said):
    done = subprocess.run([sys.executable, "tools/scripts/questions.py", *words], capture_output=True, text=True,
                          check=False, cwd=ROOT,
                          env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin", "B": str(tmp_path)})
    assert done.returncode and "Traceback" not in done.stderr and said in done.stderr.lower()

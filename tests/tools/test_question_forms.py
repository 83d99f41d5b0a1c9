# SPDX-License-Identifier: GPL-2.0-only
"""The question bank keeps the content models of its forms: which elements may be in which, in which order."""

import pathlib
import re
import xml.etree.ElementTree as ET
import zipfile

import pytest

import qti
import questions
from tests.e2e.conftest import BUILD

# For each element that we write: its children as a regular expression of "name ", and the attributes it must have.
# From the public specifications, with all that they allow between our elements left out.
PACKAGE = {
    "manifest": ("metadata organizations resources ", "identifier"),
    "metadata": ("schema schemaversion ", ""),
    **{name: ("", "") for name in ("schema", "schemaversion", "organizations")},
    "resources": ("(resource )+", ""),
    "resource": ("(file )+", "identifier type href"),
    "file": ("", "href"),
}
QTI12 = {
    "questestinterop": ("assessment ", ""),
    "assessment": ("(section )+", "ident"),
    "section": ("(selection_ordering )?(item |section )*", "ident"),
    "selection_ordering": ("selection ", ""),
    "selection": ("selection_number selection_extension ", ""),
    "selection_extension": ("points_per_item ", ""),
    "item": ("itemmetadata presentation resprocessing ", "ident"),
    "itemmetadata": ("qtimetadata ", ""),
    "qtimetadata": ("(qtimetadatafield )+", ""),
    "qtimetadatafield": ("fieldlabel fieldentry ", ""),
    "presentation": ("material response_str ", ""),
    "material": ("mattext ", ""),
    "response_str": ("render_fib ", "ident rcardinality"),
    "render_fib": ("(response_label )+", "fibtype"),
    "response_label": ("", "ident"),
    "resprocessing": ("outcomes respcondition ", ""),
    "outcomes": ("decvar ", ""),
    "decvar": ("", "varname vartype minvalue maxvalue"),
    "respcondition": ("conditionvar setvar ", "continue"),
    "conditionvar": ("or ", ""),
    "or": ("varequal and ", ""),
    "and": ("vargte varlte ", ""),
    **{name: ("", "respident") for name in ("varequal", "vargte", "varlte")},
    "setvar": ("", "action varname"),
    **{name: ("", "") for name in ("selection_number", "points_per_item", "fieldlabel", "fieldentry", "mattext")},
}
QTI21 = {
    "assessmentItem": ("responseDeclaration outcomeDeclaration itemBody responseProcessing ",
                       "identifier title adaptive timeDependent"),
    "responseDeclaration": ("correctResponse ", "identifier cardinality baseType"),
    "correctResponse": ("(value )+", ""),
    "outcomeDeclaration": ("defaultValue ", "identifier cardinality baseType"),
    "defaultValue": ("(value )+", ""),
    "itemBody": ("(p )+", ""),
    "p": ("(textEntryInteraction )?", ""),
    "textEntryInteraction": ("", "responseIdentifier"),
    "responseProcessing": ("responseCondition ", ""),
    "responseCondition": ("responseIf ", ""),
    "responseIf": ("and (setOutcomeValue )+", ""),
    "and": ("gte lte ", ""),
    **{name: ("variable baseValue ", "") for name in ("gte", "lte")},
    "variable": ("", "identifier"),
    "baseValue": ("", "baseType"),
    "setOutcomeValue": ("baseValue ", "identifier"),
    "value": ("", ""),
}
MOODLE = {
    "quiz": ("(question )+", ""),
    "question": ("category |name questiontext answer ", "type"),
    "category": ("text ", ""),
    "name": ("text ", ""),
    "questiontext": ("text ", "format"),
    "answer": ("text tolerance ", "fraction"),
    **{name: ("", "") for name in ("text", "tolerance")},
}
NCNAME = re.compile(r"[A-Za-z_][\w.-]*")


def wrong(root, models, space):
    """The faults of the tree below @root by @models, whose names are in the namespace @space."""
    found, seen = [], set()
    for element in root.iter():
        name = element.tag.removeprefix(f"{{{space}}}")
        if name not in models:
            found.append(f"{element.tag} is no element of the form")
            continue
        children, attributes = models[name]
        inside = "".join(child.tag.rpartition("}")[2] + " " for child in element)
        if not re.fullmatch(children, inside):
            found.append(f"{name} has {inside}")
        found += [f"{name} has no {key}" for key in attributes.split() if key not in element.attrib]
        own = element.get("ident" if "ident" in attributes.split() else "identifier", "")
        if name in ("item", "assessmentItem", "section", "resource"):
            found += [f"{name} {own} is no name, or twice"] * (own in seen or not NCNAME.fullmatch(own))
            seen.add(own)
    return found


@pytest.fixture(name="made", scope="module")
def a_bank(tmp_path_factory):
    to = tmp_path_factory.mktemp("bank")
    questions.write({name: questions.variants(pathlib.Path(BUILD), name, "forms", 2)
                     for name in questions.QUESTIONS}, to)
    return to


@pytest.mark.parametrize("form", ["canvas.zip", "qti21.zip"])
def test_a_package_has_what_its_manifest_lists(made, form):
    with zipfile.ZipFile(made / form) as archive:
        manifest = ET.fromstring(archive.read("imsmanifest.xml"))
        assert wrong(manifest, PACKAGE, qti.CP11) == []
        listed = [file.get("href") for file in manifest.iter(f"{{{qti.CP11}}}file")]
        assert sorted([*listed, "imsmanifest.xml"]) == sorted(archive.namelist())
        assert [each.get("href") for each in manifest.iter(f"{{{qti.CP11}}}resource")] == listed
        models, space = (QTI12, qti.QTI12) if form == "canvas.zip" else (QTI21, qti.QTI21)
        for name in listed:
            assert wrong(ET.fromstring(archive.read(name)), models, space) == [], name


def test_moodle_finds_each_question_in_its_category(made):
    root = ET.parse(made / "moodle.xml").getroot()
    assert wrong(root, MOODLE, "") == []
    kinds = [question.get("type") for question in root]
    assert set(kinds) == {"category", "numerical"} and kinds[0] == "category"


def test_what_no_form_has_is_noticed():
    root = ET.fromstring("<quiz><question type='numerical'><answer fraction='1'><tolerance/></answer><b/></question>"
                         "</quiz>")
    assert len(wrong(root, MOODLE, "")) == 3

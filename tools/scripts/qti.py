# SPDX-License-Identifier: GPL-2.0-only
"""Numeric questions in the forms that learning platforms import: QTI 1.2 (Canvas), QTI 2.1, and Moodle's own XML.

Each question has variants, of which the platform draws one for each student: a group of which one is selected in QTI
1.2, a folder of items in QTI 2.1, a category in Moodle.
"""

import pathlib
import zipfile
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

QTI12 = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
QTI21 = "http://www.imsglobal.org/xsd/imsqti_v2p1"
CP11 = "http://www.imsglobal.org/xsd/imscp_v1p1"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time of every member of an archive: the same questions are the same bytes


def plain(value: float) -> str:
    """@value with a decimal point and without an exponent, which some platforms do not read."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


class Variant(NamedTuple):
    """A question with its numbers. Answers from @answer - @tolerance to @answer + @tolerance are right."""

    name: str
    title: str
    text: str
    answer: float
    tolerance: float

    @property
    def least(self) -> str:
        return plain(self.answer - self.tolerance)

    @property
    def most(self) -> str:
        return plain(self.answer + self.tolerance)


Bank = dict[str, Sequence[Variant]]


def write_archive(path: pathlib.Path, members: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, EARLIEST), text, zipfile.ZIP_DEFLATED)


def manifest(schema: str, version: str, resources: str) -> str:
    return (f'{HEAD}<manifest xmlns="{CP11}" identifier="fairground"><metadata><schema>{schema}</schema>'
            f"<schemaversion>{version}</schemaversion></metadata>"
            f"<organizations/><resources>{resources}</resources></manifest>\n")


def item12(variant: Variant) -> str:
    fields = "".join(f"<qtimetadatafield><fieldlabel>{label}</fieldlabel><fieldentry>{entry}</fieldentry>"
                     "</qtimetadatafield>" for label, entry in
                     (("question_type", "numerical_question"), ("points_possible", "1.0")))
    return (f'<item ident="{variant.name}" title={quoteattr(variant.title)}>'
            f"<itemmetadata><qtimetadata>{fields}</qtimetadata></itemmetadata>"
            f'<presentation><material><mattext texttype="text/plain">{escape(variant.text)}</mattext></material>'
            '<response_str ident="response1" rcardinality="Single"><render_fib fibtype="Decimal">'
            '<response_label ident="answer1"/></render_fib></response_str></presentation>'
            '<resprocessing><outcomes><decvar maxvalue="100" minvalue="0" varname="SCORE" vartype="Decimal"/>'
            "</outcomes>"
            '<respcondition continue="No"><conditionvar><or>'
            f'<varequal respident="response1" margintype="absolute" margin="{plain(variant.tolerance)}">'
            f"{plain(variant.answer)}</varequal><and>"
            f'<vargte respident="response1">{variant.least}</vargte>'
            f'<varlte respident="response1">{variant.most}</varlte></and></or></conditionvar>'
            '<setvar action="Set" varname="SCORE">100</setvar></respcondition></resprocessing></item>\n')


def write_qti12(path: pathlib.Path, bank: Bank) -> None:
    groups = "".join(
        f'<section ident="{name}" title={quoteattr(variants[0].title)}><selection_ordering><selection>'
        "<selection_number>1</selection_number><selection_extension><points_per_item>1.0</points_per_item>"
        f"</selection_extension></selection></selection_ordering>\n{''.join(map(item12, variants))}</section>\n"
        for name, variants in bank.items())
    text = (f'{HEAD}<questestinterop xmlns="{QTI12}"><assessment ident="fairground" title="Scheduling">\n'
            f'<section ident="root_section">\n{groups}</section></assessment></questestinterop>\n')
    resource = ('<resource identifier="quiz" type="imsqti_xmlv1p2" href="quiz/quiz.xml"><file href="quiz/quiz.xml"/>'
                "</resource>")
    write_archive(path, {"imsmanifest.xml": manifest("IMS Content", "1.1.3", resource), "quiz/quiz.xml": text})


def item21(variant: Variant) -> str:
    bounds = "".join(f'<{sign}><variable identifier="RESPONSE"/><baseValue baseType="float">{bound}</baseValue>'
                     f"</{sign}>" for sign, bound in (("gte", variant.least), ("lte", variant.most)))
    return (f'{HEAD}<assessmentItem xmlns="{QTI21}" identifier="{variant.name}" title={quoteattr(variant.title)} '
            'adaptive="false" timeDependent="false">\n'
            '<responseDeclaration identifier="RESPONSE" cardinality="single" baseType="float"><correctResponse>'
            f"<value>{plain(variant.answer)}</value></correctResponse></responseDeclaration>\n"
            '<outcomeDeclaration identifier="SCORE" cardinality="single" baseType="float"><defaultValue>'
            "<value>0</value></defaultValue></outcomeDeclaration>\n"
            f'<itemBody><p>{escape(variant.text)}</p><p><textEntryInteraction responseIdentifier="RESPONSE" '
            'expectedLength="12"/></p></itemBody>\n'
            f"<responseProcessing><responseCondition><responseIf><and>{bounds}</and>"
            '<setOutcomeValue identifier="SCORE"><baseValue baseType="float">1</baseValue></setOutcomeValue>'
            "</responseIf></responseCondition></responseProcessing>\n</assessmentItem>\n")


def write_qti21(path: pathlib.Path, bank: Bank) -> None:
    items = {f"{name}/{variant.name}.xml": item21(variant) for name, variants in bank.items() for variant in variants}
    resources = "".join(f'<resource identifier="r{nr}" type="imsqti_item_xmlv2p1" href="{name}"><file href="{name}"/>'
                        "</resource>" for nr, name in enumerate(items))
    write_archive(path, {"imsmanifest.xml": manifest("QTIv2.1 Package", "1.0.0", resources), **items})


def write_moodle(path: pathlib.Path, bank: Bank) -> None:
    text = HEAD + "<quiz>\n"
    for name, variants in bank.items():
        text += (f'<question type="category"><category><text>$course$/top/Fairground/{name}</text></category>'
                 "</question>\n")
        for variant in variants:
            text += (f'<question type="numerical"><name><text>{escape(variant.name)}</text></name>'
                     f'<questiontext format="plain_text"><text>{escape(variant.text)}</text></questiontext>'
                     f'<answer fraction="100"><text>{plain(variant.answer)}</text>'
                     f"<tolerance>{plain(variant.tolerance)}</tolerance></answer></question>\n")
    path.write_text(text + "</quiz>\n", encoding="utf-8")

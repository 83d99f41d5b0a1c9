# SPDX-License-Identifier: GPL-2.0-only
"""fairground lab handout NN DIR | grade DIR | check: coursework (labs/README.md)."""

import argparse
import os
import pathlib
import random
import shlex
import sys
from typing import TYPE_CHECKING

from ..base.option_values import U32, whole
from ..base.printable import printable
from ..base.progress import waiting
from ..base.settings import Settings, UsageError
from ..base.tree import ROOT
from ..helps import show_examples
from ..words import Command
from . import handout, outputs, variants
from .spec import TIERS, Lab, LabError, all_labs, find, wrong_solution

if TYPE_CHECKING:
    from .workshop import Workshop

COMMAND = Command("lab", tree="labs", examples=(
    ("list", "the labs there are"),
    ("handout 5 lab5", "a student's tree"),
), no_object="grade --json FILE has the form of Gradescope, class --csv FILE that of a table")

EXAMPLES = {
    "list": (("", "the labs there are"),),
    "handout": (("5 lab5", "the tree of lab 5 in the new directory lab5"),
                ("2 lab2 --variant autumn-27", "with rules that the key draws; the grader is given it, too")),
    "public-tree": (("course --lab 2 --lab 5 --lab 7", "what a course that sets these three may publish"),),
    "grade": (("--lab 5 --json results.json submission.tar.gz", "with the file that Gradescope reads"),
              ("--lab 5 --records seen submission.tar.gz", "with files to drop on build/fairground.html")),
    "class": (("--lab 5 --seed 4711 --csv grades.csv submissions", "a line for each student"),),
    "box": (("", "before a class is graded"),),
    "export": (("--lab 5 submissions sources", "for tools that look for copies"),),
    "check": (("--lab 5", "the reference and every wrong solution of one lab"),),
}
SUBMISSION, REFERENCE = "submission", "reference"  # records of each


def _add_variant(one: argparse.ArgumentParser) -> None:
    one.add_argument("--variant", metavar="KEY", help="labs whose rules KEY draws: a secret text of yours")


def options(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="lab_command", required=True,
                                     metavar="list|handout|public-tree|grade|class|box|export|check")
    commands.add_parser("list", help="the labs there are")
    one = commands.add_parser("handout", help="write the student's tree of a lab")
    one.add_argument("number", metavar="NN")
    one.add_argument("directory", metavar="DIR", help="an empty directory, or one that is not there yet")
    _add_variant(one)
    one.add_argument("--objects", action="store_true",
                     help="with objects of this host's compiler, for a first `make lab` of seconds; 20 MB more")
    one = commands.add_parser("public-tree", help="write a tree for a course of several labs, without their answers")
    one.add_argument("directory", metavar="DIR", help="an empty directory, or one that is not there yet")
    one.add_argument("--lab", metavar="NN", action="append", required=True, help="a lab that the course sets; repeated")
    _add_variant(one)
    one = commands.add_parser("grade", help="grade a submission: a tree, some files or an archive")
    one.add_argument("directory", metavar="DIR|ARCHIVE", nargs="?", help="default: this tree")
    one.add_argument("--wrong", metavar="NAME", help="instead: a wrong solution of labs/*/wrong.toml")
    one.add_argument("--lab", metavar="NN", help="default: what the hand-out says")
    one.add_argument("--records", metavar="DIR",
                     help="keep what each simulated run decides, and the reference, for build/fairground.html")
    _add_variant(one)
    one.add_argument("--seed", dest="drawn", type=whole(0, U32), metavar="S",
                     help="another seed: other runs of the same kind (default 1; of a variant, drawn by its key)")
    one.add_argument("--tiers", default=",".join(TIERS), help=f"default: {','.join(TIERS)}")
    one.add_argument("--json", metavar="FILE", help="also write Gradescope's results.json")
    one.add_argument("--repeat", type=whole(1, 1000), default=1, metavar="N",
                     help="grade N times, and fail unless all grades are the same but for the time they took")
    one.add_argument("--trusted", action="store_true",
                     help="your own work, on a host that gives programs no namespaces: run it without them")
    one.add_argument("--github", action="store_true", help="also write a result for GitHub Classroom to $GITHUB_OUTPUT")
    one = commands.add_parser("class", help="grade every submission of a directory")
    one.add_argument("directory", metavar="DIR", help="a directory or an archive in it for each student")
    one.add_argument("--lab", metavar="NN", required=True)
    _add_variant(one)
    one.add_argument("--seed", dest="drawn", type=whole(0, U32), metavar="S",
                     help="the same for all (default 1; of a variant, drawn by its key)")
    one.add_argument("--tiers", default=",".join(TIERS), help=f"default: {','.join(TIERS)}")
    one.add_argument("--csv", metavar="FILE", required=True, help="the table; rewritten after each submission")
    one.add_argument("--page", metavar="FILE.html", help="a leaderboard")
    one.add_argument("--results", metavar="DIR", help="Gradescope's results of each student, as STUDENT.json")
    one.add_argument("--jobs", type=whole(1, 1024), default=len(os.sched_getaffinity(0)),
                     help="submissions at a time")
    commands.add_parser("box", help="can this host keep apart what students wrote? Status 2 and why, if not")
    one = commands.add_parser("export", help="what students wrote, for tools that look for copies")
    one.add_argument("directory", metavar="DIR", help="a directory or an archive in it for each student")
    one.add_argument("to", metavar="TO", help="an empty directory, or one that is not there yet")
    one.add_argument("--lab", metavar="NN", required=True)
    one = commands.add_parser("check", help="are the labs themselves right? (TAP)")
    one.add_argument("--lab", metavar="NN", action="append", help="only this one; may be repeated")
    _add_variant(one)
    one.add_argument("--seed", dest="drawn", type=whole(0, U32), metavar="S",
                     help="default: a new one, which is printed")
    one.add_argument("--full", action="store_true", help="every kernel run and every hand-out too")
    one.add_argument("--jobs", type=whole(1, 1024), default=len(os.sched_getaffinity(0)),
                     help="submissions at a time")
    for word, examples in EXAMPLES.items():
        show_examples(commands.choices[word], f"lab {word}", examples)


def _tiers(text: str) -> list[str]:
    given = text.split(",")
    unknown = sorted(set(given) - set(TIERS))
    if unknown:
        said = f"no part of a grade is called {unknown[0]}" if unknown[0].strip() else "a part has no name"
        raise UsageError(f"--tiers {shlex.quote(text)}: {said}; there are {', '.join(TIERS)}")
    return [tier for tier in TIERS if tier in given]


def _number_of(directory: pathlib.Path | None, given: str | None) -> str:
    if given:
        return given
    if not directory:
        raise UsageError("--wrong NAME: of which lab? --lab NN")
    made_of = handout.manifest(directory) if directory.is_dir() else None
    made_of = made_of or handout.manifest(ROOT)
    if not made_of:
        raise UsageError(f"{directory} does not say which lab it is: --lab NN")
    if "lab" not in made_of:
        raise UsageError(f"{directory} has labs {', '.join(map(str, made_of['labs']))}: which? --lab NN")
    return str(made_of["lab"])


def _checked(name: str | None, replaced: bool = True) -> pathlib.Path | None:
    """The file @name, which can be written; None if there is no name."""
    if not name:
        return None
    outputs.check(pathlib.Path(name), replaced)
    return pathlib.Path(name)


def _compared(lab: Lab, records: pathlib.Path, workshop: "Workshop", seed: int) -> str:
    """Beside the records of a submission in @records, those of the reference. Returns which belong to each other."""
    from . import grade, regions
    workshop.records = str(records / f"{{}}.{REFERENCE}.json")
    grade.of_code(lab, regions.read(handout.texts(lab), lab), workshop, seed, ["simulator"])
    pairs = [(mine, mine.with_name(mine.name.replace(SUBMISSION, REFERENCE)))
             for mine in sorted(records.glob(f"*.{SUBMISSION}.json"))]
    return "\n".join([f"{mine}, {right.name}: drop both on build/fairground.html" for mine, right in pairs if
                      right.exists()] or [f"{records}: no run of the simulator recorded a decision"])


def _hand_out(settings: Settings, arguments: argparse.Namespace) -> int:
    numbers = [arguments.number] if arguments.lab_command == "handout" else arguments.lab
    labs = sorted((find(number) for number in dict.fromkeys(numbers)), key=lambda lab: lab.number)
    directory, key, to = arguments.directory, arguments.variant, pathlib.Path(arguments.directory)
    with outputs.sentence(to):
        nr = handout.write_all(labs, to)
    which = "labs"[:3 + (len(labs) > 1)] + " " + ", ".join(str(lab.number) for lab in labs)
    begin = f"labs/{labs[0].directory.name}/README.md" if len(labs) == 1 else "README.md"
    print(f"{directory}: {which}, {nr} files; begin with {begin}")
    if getattr(arguments, "objects", False):
        from . import box, ready
        from .workshop import Workshop
        box.trusted = True  # what is built is ours
        with waiting("what the hand-out brings is compiled"):
            size = ready.pack(labs[0], Workshop(pathlib.Path(settings.build), len(os.sched_getaffinity(0))), to)
        print(f"{ready.archive(to)}: objects, {size / 1e6:.0f} MB")
    if key is not None:
        print("\n".join(line for lab in labs for line in variants.told(lab, key)))
    return 0


def _grade(settings: Settings, arguments: argparse.Namespace) -> int:
    from . import box, grade, submission  # with the judges of tests/model, which no other command needs
    from .workshop import Workshop
    if arguments.directory and arguments.wrong:
        raise UsageError("lab grade: either DIR|ARCHIVE or --wrong NAME")
    directory = None if arguments.wrong else pathlib.Path(arguments.directory or ".")
    lab = find(_number_of(directory, arguments.lab))
    wrong = submission.wrong_code(lab, wrong_solution(lab, arguments.wrong)) if arguments.wrong else {}
    chosen, out = _tiers(arguments.tiers), _checked(arguments.json)
    records = pathlib.Path(arguments.records) if arguments.records else None
    if records and "simulator" not in chosen:
        raise UsageError(f"--records {records}: the simulator makes them, and --tiers leaves it out")
    if records:
        outputs.check_directory(records)
    classroom = _checked(os.environ.get("GITHUB_OUTPUT"), replaced=False) if arguments.github else None

    def partial(so_far: grade.Grade) -> None:
        if out and not outputs.is_stream(out):
            grade.write_json(so_far, out)

    box.trusted = arguments.trusted
    box.demand()
    seed = _seed(arguments, 1)
    workshop = Workshop(pathlib.Path(settings.build), len(os.sched_getaffinity(0)))
    workshop.records = str(records / f"{{}}.{SUBMISSION}.json") if records else ""
    digests: dict[str, int] = {}
    for _ in range(arguments.repeat):
        got = (grade.of_submission(lab, directory, workshop, seed, chosen, partial) if directory else
               grade.of_code(lab, wrong, workshop, seed, chosen, partial))
        digests[grade.digest(got)] = digests.get(grade.digest(got), 0) + 1
    if out:
        grade.write_json(got, out)
    print(grade.text(got))
    if records:
        print(_compared(lab, records, workshop, seed))
    if classroom:
        outputs.append(classroom, f"result={grade.classroom(got)}\n")
    if arguments.repeat > 1:
        print(f"{arguments.repeat} gradings, {len(digests)} digest{'s' * (len(digests) > 1)}: "
              + ", ".join(f"{name} ({times})" for name, times in digests.items()))
    return 0 if got.score == got.most and len(digests) == 1 else 1


def _submissions(directory: str) -> dict[str, pathlib.Path]:
    """{student: what they handed in}; what was not is said once."""
    from . import roster
    found, passed_over = roster.submissions(pathlib.Path(directory))
    if passed_over:
        print(f"fairground: {directory}: passed over, for neither directory nor archive: "
              + ", ".join(map(printable, passed_over)), file=sys.stderr)
    return found


def _class(settings: Settings, arguments: argparse.Namespace) -> int:
    from . import box, grade, roster
    box.demand()
    seed = _seed(arguments, 1)
    lab, chosen, out = find(arguments.lab), _tiers(arguments.tiers), pathlib.Path(arguments.csv)
    if arguments.page and pathlib.Path(arguments.page).resolve() == out.resolve():
        raise UsageError(f"--page {arguments.page}: --csv goes to the same file; each needs its own")
    outputs.check(out)
    page, results = _checked(arguments.page), pathlib.Path(arguments.results) if arguments.results else None
    if results:
        outputs.check_directory(results)
    found = _submissions(arguments.directory)
    done: list[roster.Row] = []
    for row in roster.rows(lab, found, pathlib.Path(settings.build), seed, chosen, arguments.jobs):
        done.append(row)
        if len(done) == len(found) or not outputs.is_stream(out):
            roster.write_csv(done, out)
        if results:
            grade.write_json(row.grade, results / f"{row.student}.json")
        print(printable(f"{len(done)} of {len(found)}: {row.student} {row.grade.score:g}: {row.sentence}"),
              flush=True)
    if page:
        roster.write_page(lab, seed, done, page)
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from . import roster
    lab, to = find(arguments.lab), pathlib.Path(arguments.to)
    found = _submissions(arguments.directory)
    with outputs.sentence(to):
        written, left_out = roster.export(lab, found, to)
    print("\n".join([printable(f"left out: {sentence}") for sentence in left_out] + [
        f"{to}: {written} submissions; jplag -l {'python3' if lab.files[0].endswith('.py') else 'c'} "
        f"-bc {to}/base {to}/submissions"]))
    return 0


def _seed(arguments: argparse.Namespace, otherwise: int) -> int:
    """The seed that was given, or that the key of the variant draws, or @otherwise."""
    if arguments.drawn is not None:
        return int(arguments.drawn)
    return variants.seed(arguments.variant) if arguments.variant else otherwise


def _varied(settings: Settings, arguments: argparse.Namespace, key: str) -> int:
    """This command in the trunk of @key; `check` of several labs in that of each, one after the other."""
    if arguments.lab_command != "check":
        number = arguments.number if arguments.lab_command == "handout" else arguments.lab
        if arguments.lab_command == "grade" and not number:
            number = _number_of(None if arguments.wrong else pathlib.Path(arguments.directory or "."), None)
        lab = find(number)
        return variants.run_elsewhere(lab, key, settings.build, sys.argv[1:])
    words = [word for at, word in enumerate(sys.argv[1:])
             if word != "--lab" and not word.startswith("--lab=") and sys.argv[at] != "--lab"]
    labs = [find(number) for number in arguments.lab] if arguments.lab else all_labs()
    return max(variants.run_elsewhere(lab, key, settings.build, [*words, f"--lab={lab.number}"]) for lab in labs)


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """coursework: hand out a lab, grade a submission, check the labs themselves"""
    key = getattr(arguments, "variant", None)
    try:
        if key is not None and not variants.trunk():
            return _varied(settings, arguments, key)
        if arguments.lab_command == "list":
            for lab in all_labs():
                functions = ", ".join(hole.name + "()" for hole in lab.holes if not hole.whole)
                print(f"{lab.number:2}  {lab.title}: {functions + ' in ' if functions else ''}{', '.join(lab.files)}")
            return 0
        if arguments.lab_command == "box":
            from . import box
            box.demand()
            print("each submission has namespaces of its own here")
            return 0
        if arguments.lab_command in ("handout", "public-tree"):
            return _hand_out(settings, arguments)
        if arguments.lab_command == "grade":
            return _grade(settings, arguments)
        if arguments.lab_command == "class":
            return _class(settings, arguments)
        if arguments.lab_command == "export":
            return _export(arguments)
        from . import check
        if handout.manifest(ROOT):
            raise UsageError("labs are checked in the trunk; in a hand-out there is `make lab`")
        labs = [find(number) for number in arguments.lab] if arguments.lab else all_labs()
        seed = _seed(arguments, random.randrange(1, 1_000_000))
        return check.run(labs, pathlib.Path(settings.build), seed, arguments.full, arguments.jobs, key)
    except LabError as error:
        raise UsageError(str(error)) from error

# SPDX-License-Identifier: GPL-2.0-only
"""The three parts of a grade. Each test is a process of its own; what it printed and recorded is judged here."""

import pathlib
import re
import shlex
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..base.tree import ROOT
from . import box, checks, contest, dispatching, explain, handout, reading, replay, verdicts
from .explain import Findings
from .results import Result, drawn
from .spec import Lab, LabError, Run, UnitTests
from .workshop import BuildFailed, Workshop, of_reference, unit_program

JUDGES = {**explain.JUDGES, **verdicts.JUDGES}
READS, CLOSED = box.View((), opens=True), box.View(())  # sanitizers read the program that they report of
UNIT_LIMITS = box.Limits(cpu_s=4, wall_s=60)
UNIT_MB = 1024
SIMULATOR_LIMITS = box.Limits(cpu_s=5, wall_s=60, memory_mb=1024)  # without a mistake it takes a hundredth
KERNEL_LIMITS = box.Limits(cpu_s=60, wall_s=300, writes_files=True)
KERNEL_SECONDS = "240"  # on the clock, for what sleeps; CPU time ends what runs
KERNEL_PATIENCE = 2
PATIENCE = 3  # tests of one kind that do not end; the others are then not tried

MESSAGE_OF_TEST = re.compile(r"^(?:#|ERROR:) (?!record )(.+)$", re.MULTILINE)
RECORD = re.compile(r"^# record ((?:at )?\d+ [0-9a-f]{16})$", re.MULTILINE)
PLACE = re.compile(r"(tests/unit/[\w.]+:\d+): error: Failure!|^(tests/unit/[\w.]+:\d+)", re.MULTILINE)
STOPPED = re.compile(r"(?:build/inc/sched/)?((?:tests|sched|lib)/[\w/]+\.[ch]:\d+): (.+)", re.DOTALL)
SANITIZER = re.compile(r"(?:ERROR: AddressSanitizer: |runtime error: )([^\n(]+)")
NO_MEMORY = "hard rss limit exhausted"  # of UNIT_MB, as the sanitizer says it
HIDDEN = "it looks at what is not on the one way down the tree,"  # a test hides the rest as poisoned memory
FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in (\w+) ((?:sched|lib|tests)/\S+?:\d+)")
COMPLAINT = re.compile(r"^(?:\[ *[\d.]+\] )?(?:not ok \d+ -? *|  FAIL *)(\S.*)$|^(\S.*\S) +FAILED$", re.MULTILINE)
CHECK = re.compile(r"# (\S+:\d+): check failed: (.*)")
OUT_OF_TIME = f"QEMU failed: exit code {-signal.SIGXCPU}"
PANIC = re.compile(r"\b(panic: .*)$", re.MULTILINE)
BUG = re.compile(r"^schedsim: (bug at .*)$", re.MULTILINE)


# --- unit -----------------------------------------------------------------------------------------------------


def unit_targets(lab: Lab, workshop: Workshop) -> list[str]:
    """The test programs of @lab, and the kernel's objects with its regions, which show what these call."""
    return [unit_program(tests.program) for tests in lab.unit] + workshop.kernel_objects(lab)


def _why_failed(text: str, ended: box.Ended, tree: pathlib.Path, test: str) -> str:
    """The reason in the output of a failed @test, whose source is in @tree."""
    if NO_MEMORY in text:
        return f"your code takes more memory than a test has: {UNIT_MB} MB"
    sanitizer, frame = SANITIZER.search(text), FRAME.search(text)
    if sanitizer:
        found = HIDDEN if sanitizer[1].startswith("use-after-poison") else sanitizer[1].strip()
        return found + (f" in {frame[1]}(), {frame[2]}" if frame else "")
    lines = [line.strip() for line in MESSAGE_OF_TEST.findall(text)]
    lines = [line for line in lines if not line.startswith(("ok - ", "not ok - ")) and "error: Failure!" not in line]
    found = PLACE.search(text)
    place = (found[1] or found[2]) if found else ""
    macro, arguments, around = checks.asserted(tree / place.partition(":")[0], int(place.partition(":")[2] or 0))
    told = "; ".join(checks.sentence(line, macro, arguments) for line in lines)
    judged = STOPPED.match(told)
    if judged:  # what stopped the machine says more than where the test's host ended it
        rule = "" if judged[1].startswith("tests/") else "the machine stops, because this does not hold: "
        return f"{rule}{judged[2][:400]} ({judged[1]})"
    helper = f", in {around}()" if around not in ("", test) else ""
    return (told or ended.how)[:400] + (f" ({place}{helper})" if place else "")


def _report(workshop: Workshop, program: str, test: str, seed: int, tests: UnitTests) -> box.Ended:
    environment = {"UNIT_TEST": test, "UNIT_SEED": str(seed), "UNIT_RECORD": workshop.key,
                   "CMOCKA_MESSAGE_OUTPUT": "TAP",
                   "ASAN_OPTIONS": f"detect_leaks=0:hard_rss_limit_mb={UNIT_MB}:verify_asan_link_order=0"}
    return box.program([program], workshop.tree, UNIT_LIMITS, replace(READS, traces=tests.apart != ""), environment)


def _other_checks(lab: Lab, workshop: Workshop, tests: UnitTests, test: str, seed: int, record: list[str]) -> str:
    """A sentence if a @test that passed made other checks, or found other numbers equal, than with the reference; "" if
    all are the same.
    """
    reference = of_reference(unit_program(tests.program), lab)
    if handout.manifest(ROOT):
        return ""
    key = f"{reference} {test} {seed}"
    if key not in workshop.checks:
        workshop.checks[key] = _record(_report(workshop, reference, test, seed, tests))
    right = workshop.checks[key]
    if not right:
        raise LabError(f"lab {lab.number}, {test}: the reference leaves no record of its checks")
    if record == right:
        return ""
    made, wanted = (lines[-1].split()[0] if lines else "no" for lines in (record, right))
    if made != wanted:
        how = f"it passed {made} checks, where {wanted} are made"
    else:
        line = next((there.split()[1] for here, there in zip(record, right)
                     if here != there and there.startswith("at ")), "the last")
        how = f"up to its line {line} it found other numbers equal, or made other checks"
    return f"the test went another way than with the reference: {how}"


def _record(ended: box.Ended) -> list[str]:
    """The record of the checks that were made: of each of the first its line and a digest, then of all their number and
    one. [] if that is not told once.
    """
    found = RECORD.findall(ended.text)
    return found if [line.startswith("at ") for line in found].count(False) == 1 else []


def _run_test(lab: Lab, workshop: Workshop, tests: UnitTests, test: str, seed: int) -> tuple[bool, str, bool]:
    """(passed, why not, whether it did not end)"""
    ended = _report(workshop, unit_program(tests.program), test, seed, tests)
    if ended.timed_out:
        return False, f"your code did not end within {UNIT_LIMITS.cpu_s} s: a loop that never leaves?", True
    reports = re.findall(r"^(not )?ok \d+ - (\w+)", ended.text, re.MULTILINE)
    if not ended.status and reports == [("", test)]:
        other = _other_checks(lab, workshop, tests, test, seed, _record(ended))
        return not other, other, False
    why = _why_failed(ended.text, ended, workshop.tree, test)
    return False, why if reports else f"the test did not come to its report: {why}", False


def _unit_program(lab: Lab, workshop: Workshop, tests: UnitTests, seed: int) -> Iterator[Result]:
    endless = 0
    for test, points in tests.tests.items():
        title = test.replace("_", " ")
        if endless >= PATIENCE:
            yield Result("unit", title, 0, points, "not tried, for too many tests before it did not end")
            continue
        passed, why, hung = _run_test(lab, workshop, tests, test, seed)
        endless += hung
        detail = "" if passed else f"Again: UNIT_SEED={seed} make unit TESTS={tests.program} TEST={test}"
        yield Result("unit", title, points if passed else 0, points, why, detail)


def unit(lab: Lab, workshop: Workshop, seed: int) -> Iterator[Result]:
    for tests in lab.unit:
        yield from _unit_program(lab, workshop, tests, seed)


# --- decisions --------------------------------------------------------------------------------------------------


def _bug(text: str) -> str:
    """What the scheduler said before it stopped the machine."""
    found = BUG.search(text)
    return found[1][:300] if found else ""


def _verdict(tier: str, run: Run, findings: Findings, failed: str, again: str) -> Result:
    """The points of @run: all of them, or none and the first reason."""
    detail = "\n".join([*findings.table, "", f"Again: {again}"]).strip()
    if findings.first:
        after = f" ({findings.wrong} of {findings.total} are wrong)" if findings.wrong > 1 else ""
        return Result(tier, run.title, 0, run.points, findings.first + after, detail)
    if failed:
        return Result(tier, run.title, 0, run.points, failed, detail)
    if findings.broken:
        return Result(tier, run.title, 0, run.points, f"the record of decisions breaks off: {findings.broken}", detail)
    if findings.right < run.enough:
        return Result(tier, run.title, 0, run.points, f"only {findings.right} decisions could be judged, where "
                      f"at least {run.enough} are made", detail)
    return Result(tier, run.title, run.points, run.points, f"{findings.right} decisions, all right")


def _another_run(lab: Lab, workshop: Workshop, run: Run, seed: int, command: list[str],
                 record: pathlib.Path) -> str:
    """What is said of a @record that is not one of the run of @command; "" if it is."""
    if lab.number not in workshop.references:
        return ""
    key = seed, f"{lab.number} {run.title}"
    if key not in workshop.outlines:
        reference = record.with_name("reference.json")
        words = [workshop.references[lab.number], *command[1:]]
        ended = box.program(words, workshop.tree, SIMULATOR_LIMITS, CLOSED, record=reference)
        if ended.status:
            raise LabError(f"lab {lab.number}, {run.title}: the reference does not run: {ended.how}")
        workshop.outlines[key] = replay.outline(reference)
    return replay.another_run(replay.outline(record), workshop.outlines[key])


def _hz(words: list[str]) -> int:
    """How many ticks a second has, by the words of schedsim."""
    return int(words[words.index("--hz") + 1]) if "--hz" in words else 250


def _dispatch(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """A run of the simulator whose every switch is judged: the student's scheduler decides."""
    words = [*dispatching.words(lab, run), "--seed", str(seed), *shlex.split(drawn(run.words, seed))]
    again = f"make scx SRC={lab.scx} && " + shlex.join(["build/schedsim", "--trace", "run.dat", *words])
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.dat"
        ended = box.program(["build/schedsim", "--hang", "1s", "--trace", "RECORD", *words], workshop.tree,
                            SIMULATOR_LIMITS, dispatching.view(lab, workshop.tree), record=record)
        thrown_out = dispatching.thrown_out(ended.text)
        stopped = f"the simulator was stopped: {_bug(ended.text) or ended.how}" if ended.status else ""
        end = int(words[words.index("--time") + 1].removesuffix("ms")) * 1_000_000
        findings = (Findings() if thrown_out or stopped else
                    dispatching.judge(record, _hz(words), {**run.options, "end": end}))
    return _verdict("simulator", run, findings, thrown_out or stopped, again)


def _simulate(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    words = shlex.split(drawn(run.words, seed))
    command = ["build/schedsim", "--seed", str(seed), "--decisions", "RECORD", *words]
    again = "make sim && " + shlex.join(["build/schedsim", "--seed", str(seed), "--decisions", "run.json", *words])
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.json"
        ended = box.program(command, workshop.tree, SIMULATOR_LIMITS, CLOSED, record=record)
        findings = JUDGES[run.judge](record, _hz(words))
        workshop.keep(record, run.title)
        failed = "" if ended.status or findings.first else _another_run(lab, workshop, run, seed, command, record)
    if ended.timed_out:
        failed = (f"your code did not end: nothing was decided after {findings.last_ns / 1e6:.3f} ms, or little later; "
                  "a loop that never leaves?")
    elif ended.status:
        failed = f"the simulator was stopped: {_bug(ended.text) or ended.how}"
    return _verdict("simulator", run, findings, failed, again)


Kind = Callable[[Lab, Workshop, Run, int], Result]
SIMULATED: dict[str, Kind] = {"explore": contest.explore, "compete": contest.compete, "read": reading.simulated,
                              "dispatch": _dispatch}


def ends_not(result: Result) -> bool:
    """A limit of time ended this test."""
    return "did not end" in result.message


def simulator(lab: Lab, workshop: Workshop, seed: int) -> Iterator[Result]:
    endless, sound = 0, True
    for run in lab.simulator:
        if endless >= PATIENCE:
            yield Result("simulator", run.title, 0, run.points, "not tried, for too many runs before it did not end")
            continue
        if run.judge == "compete" and not sound:
            yield Result("simulator", run.title, 0, run.points, "not tried: a policy must first break no invariant")
            continue
        result = SIMULATED.get(run.judge, _simulate)(lab, workshop, run, seed)
        endless += ends_not(result) and (PATIENCE if run.judge == "explore" else 1)  # an exploration waits for long
        sound = sound and (run.judge != "explore" or result.passed)
        yield result


def _settings(lab: Lab, run: Run, seed: int) -> dict[str, str]:
    """The settings of a machine whose time is counted instructions."""
    given = {name: drawn(value, seed) for name, value in run.settings.items()}
    return {"icount": "1", "seed": str(seed), "timeout": KERNEL_SECONDS, "kvm": "0", **given}


def _again(target: str, lab: Lab, settings: dict[str, str]) -> str:
    own = f" POLICIES={lab.policy}" if lab.policy else ""
    first = f"make scx SRC={lab.scx} && " if lab.scx else ""
    return f"Again: {first}make {target}{own} " + " ".join(f"{name.upper()}={shlex.quote(value)}"
                                                    for name, value in settings.items() if name != "kvm")


def _options(settings: dict[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in (f"--{name}", value)]


def _boot(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """A run of the machine whose every decision is judged, or every switch."""
    settings = _settings(lab, run, seed)
    events = "sched:*" if lab.scx else "decision:*"
    again = _again("trace", lab, settings) + f" EVENTS='{events}' OUT=run.dat"
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.dat"
        words = workshop.fairground("trace", "--events", events, "--out", str(record), *_options(settings))
        ended = box.tool(words, workshop.tree, KERNEL_LIMITS, workshop.environment(), [record.parent])
        thrown_out = dispatching.thrown_out(ended.text) if lab.scx else ""
        if not record.exists():
            why = thrown_out or f"the machine did not run: {_said(ended)}"
            return Result("kernel", run.title, 0, run.points, why, again)
        hz = int(settings.get("hz", "250"))
        findings = dispatching.judge(record, hz, run.options) if lab.scx else JUDGES[run.judge](record, hz)
    if thrown_out:
        return _verdict("kernel", run, Findings(), thrown_out, again.removeprefix("Again: "))
    failed = f"the machine was stopped: {_said(ended)}" if ended.status or ended.timed_out else ""
    return _verdict("kernel", run, findings, failed, again.removeprefix("Again: "))


def _complaint(ended: box.Ended, says: str, hint: str) -> str:
    """Why a run of a program that checks something did not pass; "" if it did."""
    found = COMPLAINT.search(ended.text)
    if found and found[1] and re.fullmatch(r"\w+", found[1]):
        check = CHECK.search(ended.text)
        return f"the machine's own test {found[1]} fails" + (f": not so: {check[2]} ({check[1]})" if check else "")
    if found:
        return (found[1] or f"{found[2]} failed")[:300]
    if ended.status or ended.timed_out:
        died = ended.status - 128
        if died in set(signal.Signals):
            return f"a program in the machine was ended by {signal.Signals(died).name}"
        meaning = f"; {hint}" if hint and PANIC.search(ended.text) else ""
        return f"the machine was stopped: {_said(ended)}{meaning}"
    return "" if says in ended.text else f"the machine did not say \"{says}\""


def _pass(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """Runs of the machine, each with a seed of its own, whose program must find nothing wrong; up to the first."""
    runs = int(run.options.get("runs", 1))
    limits = replace(KERNEL_LIMITS, cpu_s=int(run.options.get("cpu_s", KERNEL_LIMITS.cpu_s)))
    for number in range(runs):
        settings = _settings(lab, run, seed + number)
        ended = box.tool(workshop.fairground("run", *_options(settings)), workshop.tree, limits, workshop.environment())
        why = _complaint(ended, str(run.options["says"]), str(run.options.get("hint", "")))
        if why:
            which = f" (run {number + 1} of {runs}, SEED={seed + number})" if runs > 1 else ""
            return Result("kernel", run.title, 0, run.points, why + which, _again("run", lab, settings))
    return Result("kernel", run.title, run.points, run.points, f"{runs} runs, all right")


def _read(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """A run of the machine whose trace the student's filter reads."""
    settings = _settings(lab, run, seed)
    again = _again("trace", lab, settings) + " OUT=run.dat"
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.dat"
        words = workshop.fairground("trace", "--events", "sched:*", "--out", str(record), *_options(settings))
        ended = box.tool(words, workshop.tree, KERNEL_LIMITS, workshop.environment(), [record.parent])
        if ended.status or ended.timed_out:
            raise LabError(f"lab {lab.number}, {run.title}: the machine did not run: {_said(ended)}")
        return reading.judge(lab, workshop, run, record, "kernel", again)


def _said(ended: box.Ended) -> str:
    """What the kernel says of its end, or else what the runner says."""
    panic = PANIC.search(ended.text)
    if panic:
        return panic[1][:300]
    if OUT_OF_TIME in ended.text:
        return "it did not end in its CPU time: a loop that never leaves, or a lock that is never given back?"
    lines = [line for line in ended.text.splitlines() if line.startswith("fairground: ")]
    return (lines[-1].removeprefix("fairground: ") if lines else ended.how)[:300]


BOOTED: dict[str, Kind] = {"passes": _pass, "read": _read}


def must_not_boot(lab: Lab, results: list[Result]) -> bool:
    """Would each run of the machine wait for its limit? So it is for a policy that did not end in one run of the
    simulator, and for other code that was ended in each that was tried.
    """
    simulated = [result for result in results if result.tier == "simulator"]
    ended = [result for result in simulated if not result.message.startswith("not tried")]
    return (any if lab.policy else all)(map(ends_not, ended)) and bool(ended)


def not_booted(lab: Lab) -> Iterator[Result]:
    """The kernel's part for what does not end in the simulator."""
    for run in lab.kernel:
        yield Result("kernel", run.title, 0, run.points, "not tried: your code must first end in the simulator")


def kernel(lab: Lab, workshop: Workshop, seed: int) -> Iterator[Result]:
    endless = 0
    for run in lab.kernel:
        if endless >= KERNEL_PATIENCE:
            yield Result("kernel", run.title, 0, run.points, "not tried, for runs before it did not end")
            continue
        result = BOOTED.get(run.judge, _boot)(lab, workshop, run, seed)
        endless += ends_not(result) or "no end within" in result.message
        yield result


# --- all ---------------------------------------------------------------------------------------------------------

Tier = Callable[[Lab, Workshop, int], Iterator[Result]]
RUN: dict[str, Tier] = {"unit": unit, "simulator": simulator, "kernel": kernel}


def targets(lab: Lab, workshop: Workshop, tier: str) -> list[str]:
    """What make builds for @tier, and with which variables."""
    own = [f"POLICIES={lab.policy}"] if lab.policy else []
    plugin = ["plugin", f"SRC={lab.policy}"] if lab.policy else ["scx", f"SRC={lab.scx}"] if lab.scx else []
    try:
        return {"unit": unit_targets(lab, workshop), "simulator": ["build/schedsim", *plugin],
                "kernel": ["image", *own]}[tier]
    except KeyError as error:
        raise LabError(f"no part of a grade is called {tier}") from error


def own_objects(lab: Lab) -> list[str]:
    """Where the code of a policy or a scheduler of the student's own is, in a workshop's tree."""
    if lab.scx:
        return [dispatching.program(lab, suffix) for suffix in ("so", "o")]
    return [contest.plugin(lab)] if lab.policy else []


def build(lab: Lab, workshop: Workshop, chosen: list[str]) -> tuple[list[str], str]:
    """Build what the tiers @chosen need. Returns (warnings, why it failed)."""
    wanted = [targets(lab, workshop, tier) for tier in chosen]
    if not lab.policy:  # which is a plug-in for one tier and built in for another
        wanted = [[target for several in wanted for target in several]]
    try:
        warnings = [warning for several in wanted for warning in workshop.build(several)]
    except BuildFailed as error:
        return [], str(error)
    return list(dict.fromkeys(warnings)), ""

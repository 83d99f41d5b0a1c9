# SPDX-License-Identifier: GPL-2.0-only
"""What readers of decisions say of files, options and outputs that are no good. The files are made here, by hand."""

import contextlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

from fairground import __main__
from fairground.decisions import balancing, class_decisions, decision_file, decision_types, fair_decisions, placements
from fairground.machine import image
from fairground.trace import trace_dat, tracefile

HEAD = {"schema": decision_file.SCHEMA, "sched": "cfs", "commit": "0", "command": "schedsim hogs", "topology": "2 CPUs",
        "cpus": 2, "hz": 250, "seed": 1}
NUMBERS = {kind: dict.fromkeys(types, 0) for kind, types in decision_types.number_types().items()}


def candidate(pid):
    return {"nr": 0, "comm": "hog", **NUMBERS["candidate"], "pid": pid, "weight": 1024}


def record(of, ms, **changes):
    """A record as the shape @of says, with no rows: its numbers are 0."""
    fields = {name: NUMBERS[of.kind].get(name, "name") for name in of.fields}
    return {"time": ms * 10**6, "kind": of.kind, **fields, **{name: [] for name in of.lists}, **changes}


def pick(ms, **changes):
    return record(fair_decisions.SHAPES[0], ms, **{
        "comm": "hog", "policy": "cfs", "rule": "least_vruntime", "pid": 7, "answer": 1, "nr_rows": 1,
        "candidates": [candidate(7)], **changes})


def act(ms, **changes):
    return record(class_decisions.SHAPES[0], ms, **{"act": "pick", "policy": "fifo", "rule": "highest", **changes})


def placement(ms, **changes):
    return record(placements.SHAPES[0], ms, **{"comm": "hog", "rule": "aimed", "pid": 7, "why": 8, **changes})


def balance(ms, **changes):
    return record(balancing.SHAPES[0], ms, **{"rule": "pull_to_idle", "idleness": "idle", **changes})


def text_of(rows, head=HEAD):
    return "".join(json.dumps(row) + "\n" for row in (head, *rows, {"kind": "end", "decisions": len(rows)}))


@pytest.fixture
def made(tmp_path):
    """made("a.json", row, ...) writes a file with these rows, and returns its path."""
    def write(name, *rows, **head):
        path = tmp_path / name
        path.write_text(text_of(rows, {**HEAD, **head}), encoding="utf-8")
        return str(path)
    return write


def program(*words, **how):
    """(status, stdout, stderr) of the command as a process of its own."""
    done = subprocess.run([sys.executable, "-m", "fairground", *map(str, words)], cwd=ROOT, text=True, check=False,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "tools")),
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how})
    return done.returncode, done.stdout, done.stderr


def fairground(*words):
    """(status, stdout, stderr) of the command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = __main__.main([*map(str, words)])
        except SystemExit as end:  # of argparse
            status = end.code
    return status, out.getvalue(), err.getvalue()


def complaint(*words, run=fairground, **how):
    """The one sentence with which the command ends; it prints nothing else."""
    status, out, err = run(*words, **how)
    assert (status, out or "") == (2, ""), (status, out, err)
    assert err.startswith("fairground: ") and err.count("\n") == 1, err
    return err.removeprefix("fairground: ").rstrip("\n")


# --- events that were lost ----------------------------------------------------------------------------------------

FORMAT = ("name: sched_decision_cpu\nID: 407\nformat:\n" + "".join(
    f"\tfield:{of} {name};\toffset:{at};\tsize:{size};\tsigned:0;\n" for of, name, at, size in (
        ("u16", "common_type", 0, 2), ("u16", "of_cpu", 8, 2))) + "\nprint fmt: \"\"\n")
DIRECT_MAP, RINGS, INFO, NAMES, SLOTS, PAGES = 1 << 40, 0x8000, 0x9000, 0xc000, 0xd000, 0x10000


def memory(dropped, lost):
    """What a machine of two CPUs has at the end whose rings hold an event each, and of CPU 1 lost some."""
    ram = bytearray(0x20000)

    def put(at, data):
        ram[at:at + len(data)] = data
    put(image.IMAGE_PA, image.IMAGE.pack(b"FGTRACE", 1, 2, DIRECT_MAP, RINGS, INFO, NAMES, 0, 0))
    texts = {"trace_clock": "[local]\n", "uname": "Linux x", "header_page": "", "header_event": "", "ftrace": FORMAT}
    put(INFO, b"".join(what.encode() + b"\0" + text.encode() + b"\0" for what, text in texts.items()) + b"\0")
    for cpu in range(2):
        page, slots = PAGES + cpu * image.PAGE, SLOTS + cpu * 0x100
        event = struct.pack("<IHBBiHxx", 3, 407, 0, 0, 1, 0)
        put(page, image.PAGE_HEADER.pack(1000, len(event)) + event)
        put(slots, image.SLOT.pack(DIRECT_MAP + page, 0))
        ring = image.Ring(page=DIRECT_MAP + page, time=1000, used=len(event), written=1, head=0, tail=0, index=0,
                          dropped=dropped * cpu, slots=DIRECT_MAP + slots, nr_pages=2, mode=0, read=0, lost=lost * cpu,
                          nr_consumed=0, reserved=0)
        put(RINGS + cpu * image.RING_STRIDE, image.RING.pack(*ring))
    return lambda at, size: bytes(ram[at:at + size])


@pytest.mark.parametrize("dropped, lost", [(0, 0), (5, 0), (0, 3), (5, 3)])
def test_what_the_rings_of_the_kernel_lost_is_in_the_trace(tmp_path, dropped, lost):
    """Dropped: with options/overwrite=0 no page tells of such events. Lost: before a page that trace_pipe read."""
    path = tmp_path / "x.dat"
    path.write_bytes(trace_dat.trace_dat(image.Image(memory(dropped, lost))))
    assert tracefile.TraceFile(path).lost() == dropped + lost


@pytest.mark.parametrize("row, rows", [(pick(1), "nr_rows"), (placement(1), "nr_rows"), (balance(1), "nr_tasks")])
def test_rows_that_are_missing_are_told(made, row, rows):
    status, out, err = fairground("decisions", made("a.json", {**row, rows: 3}))
    assert status == 0 and out.count("\n") == 1 and "1 of 1" in err and "lack" in err, err
    assert fairground("decisions", made("b.json", row))[2] == ""


# --- output that cannot be written --------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("decisions",), ("decisions", "--stats"), ("decisions", "--diff"),
                                   ("decisions", "--kind", "balance", "--full"), ("--help",), ("lab", "list")])
def test_a_full_disk_gives_one_sentence(made, words):
    path = made("a.json", pick(1), placement(2), balance(3))
    files = {"--diff": [path, path], "--help": [], "list": []}.get(words[-1], [path])
    with open("/dev/full", "w", encoding="utf-8") as full:
        sentence = complaint(*words, *files, run=program, stdout=full)
    assert sentence == "the output cannot be written: No space left on device"


@pytest.mark.parametrize("words", [("decisions",), ("decisions", "--full"), ("lab", "list"), ("--version",)])
def test_a_closed_output_gives_one_sentence(made, words):
    path = made("a.json", pick(1), placement(2))
    files = [path] if words[0] == "decisions" else []
    sentence = complaint(*words, *files, run=program, preexec_fn=lambda: os.close(1))
    assert sentence == "the output cannot be written: Bad file descriptor"


def test_messages_do_not_go_to_the_output_if_stderr_is_closed(tmp_path):
    status, out, _ = program("decisions", tmp_path / "none", preexec_fn=lambda: os.close(2))
    assert (status, out) == (2, "")


def test_a_reader_that_has_seen_enough_is_no_error(made):
    path = made("a.json", *(pick(ms) for ms in range(5000)))
    read, write = os.pipe()
    os.close(read)
    assert program("decisions", path, stdout=write) == (141, None, "")
    os.close(write)


# --- fields that no record can have -------------------------------------------------------------------------------

U64 = 18446744073709551615
NO_COMM = "a comm is longer than the name of a task can be, or has control characters"


@pytest.mark.parametrize("row, message", [
    (pick(1, time=-5), f"time is -5, a number from 0 to {U64} is expected"),
    (pick(1, time=2**64), f"time is {2**64}, a number from 0 to {U64} is expected"),
    (pick(1, time=True), ""), (pick(1, time=1.5), ""),
    (pick(1, cpu=65536), "cpu is 65536, a number from 0 to 65535 is expected"),
    (pick(1, pid=2**31), f"pid is {2**31}, a number from -{2**31} to {2**31 - 1} is expected"),
    (pick(1, lag=-2**63 - 1), f"lag is {-2**63 - 1}, a number from -{2**63} to {2**63 - 1} is expected"),
    (pick(1, candidates=[{**candidate(7), "score": 256}]), "score is 256, a number from 0 to 255 is expected"),
    (pick(1, comm="a name of 16 let"), NO_COMM), (pick(1, comm="\ud800"), NO_COMM), (pick(1, comm="\x1b[2J"), NO_COMM),
    (pick(1, rule=""), "a name of a rule, a policy or an act is expected where there is none"),
    (act(1, act=""), "a name of a rule, a policy or an act is expected where there is none"),
    (balance(1, busiest=40000), "busiest is 40000, a number from -32768 to 32767 is expected"),
])
def test_fields_out_of_range(made, row, message):
    bad, good = made("bad.json", pick(0), row), made("good.json", pick(0))
    sentence = f"{bad}: line 3 is not a decision" + (f": {message}" if message else "")
    assert complaint("decisions", bad) == sentence
    for pair in ((bad, good), (good, bad)):
        assert complaint("decisions", "--kind", "all", "--diff", *pair) == sentence


def test_an_act_that_this_tool_does_not_know_is_compared(made):
    path = made("a.json", pick(1), act(2, act="dream"))
    status, out, err = fairground("decisions", "--kind", "all", "--diff", path, path)
    assert (status, err) == (0, "") and "compared of pick, dream" in out


@pytest.mark.parametrize("cpus", [0, -1, True, 1.5, 2**40, "2"])
def test_numbers_of_cpus_that_make_no_sense(made, cpus):
    assert "does not say how many CPUs" in complaint("decisions", made("a.json", pick(1), cpus=cpus))


def test_json_that_is_nested_too_deeply(tmp_path, made):
    path = tmp_path / "deep.json"
    path.write_text(text_of([pick(1)]).replace('{"kind": "end"', "[" * 200_000), encoding="utf-8")
    sentence = f"{path}: line 3 is not a decision: its brackets are nested too deeply"
    assert complaint("decisions", path) == complaint("decisions", "--diff", made("a.json", pick(1)), path) == sentence
    path.write_text("[" * 200_000 + "\n", encoding="utf-8")
    assert "this is not a file of decisions" in complaint("decisions", path)


# --- the end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [pick(1), placement(1), balance(1)])
def test_a_run_that_was_killed_between_two_lines(tmp_path, row):
    """What was written before that is printed; the status says that it is not all."""
    path = tmp_path / "a.json"
    path.write_text(text_of([row]).rpartition('{"kind": "end"')[0], encoding="utf-8")
    status, out, err = fairground("decisions", path)
    assert status == 2 and out.count("\n") == 1 and err.startswith(f"fairground: {path}: the file is cut off: "), err
    assert fairground("decisions", path, "--limit", "1")[0] == 0
    path.write_text(text_of([row]), encoding="utf-8")
    assert fairground("decisions", path) == (0, out, "")


# --- options ------------------------------------------------------------------------------------------------------

LONG = "9" * 5000


@pytest.mark.parametrize("option, text", [("--cpu", "²"), ("--cpu", LONG), ("--limit", LONG), ("--limit", "²"),
                                          ("--limit", "0"), ("--limit", "-1"), ("--from", LONG + "s"), ("--to", "²s")])
def test_numbers_of_options(made, option, text):
    path = made("a.json", pick(1), placement(2), balance(3))
    sentence = complaint("decisions", path, f"{option}={text}")
    assert "expected" in sentence and len(sentence) < 200


@pytest.mark.parametrize("words", [
    ["--cpu", "0-99999999999"], ["--cpu", "0-"], ["--cpu", "-3"], ["--cpu", "0,,1"], ["--cpu", "1-²"], ["--group", "²"],
    ["--group", LONG], ["--group", "4294967296"], ["--kind", "pick,"], ["--kind", ","], ["--kind", ""]])
def test_lists_and_numbers_of_decisions(made, words):
    option, text = words
    assert len(complaint("decisions", made("a.json", pick(1)), f"{option}={text}")) < 200


@pytest.mark.parametrize("words", [
    ["latency", "-C", "²", "none"], ["graph", "lag", "none", "--cpu", "-1"], ["graph", "lag", "none", "--group", LONG],
    ["graph", "lag", "none", "--max", "inf"], ["graph", "lag", "none", "--min", "nan"],
    ["graph", "lag", "none", "--range", "1.2.3-4"], ["compare", "cfs,eevdf", "hogs", "--seeds", f"1..{LONG}"],
    ["compare", "cfs,eevdf", "hogs", "--seeds", "1..2147483647"], ["compare", "cfs,eevdf", "hogs", "--seeds", "²"],
    ["lab", "grade", ".", "--lab", LONG], ["lab", "grade", ".", "--lab", "²"], ["lab", "grade", ".", "--seed", "-1"],
    ["lab", "class", ".", "--lab", "1", "--csv", "x", "--jobs", "0"], ["bench-smp", LONG], ["bench-smp", "²"],
    ["run", "--seed", LONG], ["run", "--mem", LONG], ["run", "--smp", "²"], ["run", "--timeout", LONG],
    ["repeat", "--icount", "1", "--runs", LONG]])
def test_numbers_of_other_commands(words):
    status, out, err = fairground(*words)
    assert status in (1, 2) and not out and "Traceback" not in err, err


@pytest.mark.parametrize("row, words, parts", [
    (placement(2, chosen=1), ["--cpu", "7"], ["no decision matches; there are 1", "of kinds select", "about hog"]),
    (placement(2), ["--task", "nobody"], ["of kinds select", "about hog"]),
    (balance(2, cpu=1), ["--cpu", "0"], ["no decision matches; there are 1", "on CPUs 1", "of kinds balance"]),
    (balance(2), ["--from", "1s"], ["from 2.000 to 2.000 ms", "of kinds balance"]),
    (balance(2), ["--outcome", "moved,"], ["--outcome moved,: is moved meant?"]),
    (placement(2), ["--kind", "balance"], ["no decision matches", "of kinds select"]),
    (placement(2), ["--outcome", "moved"], ["no decision matches", "of kinds select"]),
    (balance(2), ["--kind", "select"], ["no decision matches", "of kinds balance"]),
    (placement(2), ["--from", "2s", "--to", "1s"], ["--to 1s: this is before --from 2s"]),
])
def test_filters_that_match_nothing_say_what_there_is(made, row, words, parts):
    sentence = complaint("decisions", made("a.json", row), *words)
    assert all(part in sentence for part in parts), sentence


def test_a_table_and_a_page_are_not_one_file(tmp_path):
    table = tmp_path / "x.html"
    assert "--csv goes to the same file" in complaint("lab", "class", tmp_path, "--lab", "1", "--csv", table, "--page",
                                                      f"{tmp_path}/../{tmp_path.name}/x.html")


# --- narrow lines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pick", "select", "balance"])
def test_a_narrow_line_says_the_same(made, kind):
    """A decision has as many lines of at most 80 columns as it needs, the first of which begins with its time."""
    path, words = made("a.json", pick(1), placement(2), balance(3)), ("--kind", kind)
    usual, narrow = (fairground("decisions", path, *words, *more)[1] for more in ((), ("--narrow",)))
    assert len(usual.splitlines()) == 1 and narrow.split() == usual.split()
    first, *others = narrow.splitlines()
    assert len(usual) <= 80 or others
    assert max(map(len, [first, *others])) <= 80 and all(line.startswith(" " * 25) for line in others)
    assert first.split()[0] == usual.split()[0]


# --- pipes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["all", "select", "balance"])
def test_pipes_are_read(made, kind):
    path, words = made("a.json", pick(1), placement(2), balance(3)), ("--full", "--kind", kind)
    usual = fairground("decisions", path, *words)
    with open(path, encoding="utf-8") as f:
        assert program("decisions", "/dev/stdin", *words, input=f.read()) == usual
    with open(path, encoding="utf-8") as f:
        assert program("decisions", "/dev/stdin", *words, stdin=f) == usual
    assert usual[0] == 0 and usual[1]


def test_two_pipes_are_compared(made):
    a, b = made("a.json", pick(1), pick(2)), made("b.json", pick(1), pick(3))
    words = f'exec "{sys.executable}" -m fairground decisions --diff <(cat "{a}") <(cat "{b}")'
    done = subprocess.run(["bash", "-c", words], env=dict(os.environ, PYTHONPATH=str(ROOT / "tools")), text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0 and "2 decisions agree" in done.stdout, done.stderr
    assert complaint("decisions", "/dev/null").endswith("a file or a pipe is expected")

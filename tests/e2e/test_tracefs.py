# SPDX-License-Identifier: GPL-2.0-only
"""Which records the tracer keeps: filters, threads and instances, by the control files and by the distribution's
trace-cmd in the machine."""

import random
import re
import shutil

import pytest

from tests.e2e.conftest import dynamic_program

SWITCH = "events/sched/sched_switch"
FILTERS = {  # text: what error_log says about it, or None
    "prev_pid==1": None,
    'prev_pid == 1 && next_comm ~ "h*"': None,
    "!(prev_prio < 120 || prev_state & 1)": None,
    'CPU == 0 || COMM == "x"': None,
    "common_pid != 0x10": None,
    "a b": "Field not found",
    "prev_pid ==": "Expected digit",
    "prev_pid = 1": "Invalid operator",
    "(prev_pid==1": "Too many open parens",
    "prev_pid==1)": "Too many close parens",
    "next_comm == hack": "Invalid value (did you forget quotes)?",
    'next_comm < "a"': "Illegal operation for field type",
    'prev_pid ~ "1"': "Illegal operation for field type",
    'next_comm == "a': "Missing quote",
    "prev_pid==1 &&": "Operator at end of filter",
    "prev_pid==1 prev_pid==2": "Expected operator",
    "&& prev_pid==1": "Field not found",
}


def test_filters_are_read_as_on_linux(guest):
    """A text that is no filter is refused, changes nothing, and error_log says why."""
    tries = "".join(f"> error_log; echo '{text}' > {SWITCH}/filter 2>/dev/null; echo \"$? $(cat {SWITCH}/filter) "
                    f"$(grep -o 'error: error: .*' error_log)\"; " for text in FILTERS)
    lines = guest(f"cd /sys/kernel/tracing; {tries} echo 0 > {SWITCH}/filter; cat {SWITCH}/filter").splitlines()
    kept, expected = "none", []
    for text, error in FILTERS.items():
        kept = kept if error else text
        expected.append(f"1 {kept} error: error: {error}" if error else f"0 {kept} ")
    start = lines.index(expected[0].rstrip()) if expected[0].rstrip() in lines else lines.index(expected[0])
    assert [line.rstrip() for line in lines[start:start + len(expected) + 1]] == \
        [line.rstrip() for line in [*expected, "none"]]


def holds(text, fields):
    """An independent reading of a filter: Python's own."""
    words = text.replace("&&", " and ").replace("||", " or ")
    words = re.sub(r"!(?!=)", " not ", words)
    words = re.sub(r'(\w+) ~ "(\w*)\*"', r'\1.startswith("\2")', words)
    words = re.sub(r"(\w+) & (\d+)", r"bool(\1 & \2)", words)
    return eval(words, {}, fields)  # pylint: disable=eval-used


def random_filter(rng, depth=0):
    if depth < 3 and rng.random() < 0.6:
        parts = [random_filter(rng, depth + 1) for _ in range(rng.randint(2, 3))]
        joined = rng.choice([" && ", " || "]).join(parts)
        return rng.choice(["({})", "!({})"]).format(joined)
    return rng.choice(["prev_pid {op} {pid}", "next_pid {op} {pid}", "prev_prio {op} 120", "prev_state & 1",
                       'next_comm ~ "h*"', 'prev_comm == "hack"', 'next_comm != "swapper/0"']).format(
                           op=rng.choice(["==", "!=", "<", "<=", ">", ">="]), pid=rng.randint(-1, 40))


RECORD = re.compile(r"sched_switch: prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev_pid>\d+) "
                    r"prev_prio=(?P<prev_prio>\d+) prev_state=(?P<prev_state>\S+) "
                    r"==> next_comm=(?P<next_comm>.*) next_pid=(?P<next_pid>\d+) next_prio=(?P<next_prio>\d+)")


def switches(lines):
    """The fields of each record, as numbers and texts."""
    for match in filter(None, map(RECORD.search, lines)):
        fields = match.groupdict()
        state = fields.pop("prev_state")
        yield {name: int(value) if value.isdigit() else value for name, value in fields.items()} | {
            "prev_state": 1 if state == "S" else 0}


def test_an_instance_with_a_filter_has_what_passes(guest):
    """Of the records in one instance, those that pass by Python's reading are in another, and no others."""
    rng = random.Random(7)
    filters = [random_filter(rng) for _ in range(6)]
    setup = "mkdir instances/all; " + "".join(
        f"mkdir instances/f{i}; echo '{text}' > instances/f{i}/{SWITCH}/filter; " for i, text in enumerate(filters))
    names = ["all", *(f"f{i}" for i in range(len(filters)))]
    each = "for i in " + " ".join(names) + "; do "
    text = guest(f"cd /sys/kernel/tracing; {setup} {each} echo 0 > instances/$i/tracing_on; "
                 f"echo 1 > instances/$i/{SWITCH}/enable; done; {each} echo 1 > instances/$i/tracing_on; done; "
                 f"hack -g 1 -l 5 > /dev/null; {each} echo 0 > instances/$i/tracing_on; done; "
                 f"{each} echo trace of $i; grep sched_switch: instances/$i/trace; rmdir instances/$i; done", cpus=2,
                 icount=True)
    found = {}
    for part in text.split("trace of ")[1:]:
        name, _, rest = part.partition("\n")
        found[name.strip()] = list(switches(rest.splitlines()))
    assert len(found["all"]) > 200
    for i, words in enumerate(filters):
        expected = [fields for fields in found["all"] if holds(words, fields)]
        # Instances begin and end to record one after another.
        head = [f for f in expected if f in found[f"f{i}"]]
        assert all(holds(words, fields) for fields in found[f"f{i}"]), words
        assert len(expected) - len(head) <= 4, words


def test_instances_come_and_go(guest):
    text = guest("""cd /sys/kernel/tracing
mkdir instances/a && mkdir instances/a; mkdir nowhere; rmdir instances/b; rmdir events; rm trace
for i in 1 2 3 4 5 6 7 8; do mkdir instances/n$i 2>/dev/null || echo full at $i; done
exec 5< instances/a/trace; rmdir instances/a || echo busy; exec 5<&-; exec 6> instances/a/tracing_on; rmdir instances/a
echo 1 >&6 || echo gone; exec 6>&-
echo 1 > instances/n1/events/sched/enable; echo own > instances/n1/trace_marker; grep -c own trace instances/n1/trace
cat tracing_on events/enable; cat instances/n1/events/sched/enable
for i in instances/*; do rmdir $i; done; ls instances; echo end of list""", cpus=2)
    for words in ("'instances/a': File exists", "'nowhere': Operation not permitted",
                  "'instances/b': No such file or directory", "'events': Operation not permitted", "full at 7", "busy",
                  "gone", "trace:0", "instances/n1/trace:1"):
        assert words in text, words
    assert re.search(r"^1\s+0\s+1\s+end of list", text, re.MULTILINE)


def test_only_the_chosen_threads(guest):
    """What is recorded concerns the thread or, with event-fork, its children; the list follows births and deaths."""
    text = guest("""cd /sys/kernel/tracing
echo 1 > events/sched/enable; echo x > set_event_pid; echo 40000 > set_event_pid; echo -1 > set_event_pid
echo $$ > set_event_pid; echo end of errors; cat set_event_pid; sleep 0.01; hack -g 1 -l 1 > /dev/null
echo 0 > tracing_on; grep -c 'sched_.*pid=' trace; grep 'sched_switch\\|sched_wak' trace | grep -vc "sh-$$ \\|pid=$$ "
> trace; echo 1 > options/event-fork; echo 1 > tracing_on; sh -c 'hack -g 1 -l 1 > /dev/null; true'; echo 0 > tracing_on
grep -c 'sched_process_exec: filename=.*hack' trace; wc -l < set_event_pid; > set_event_pid; wc -l < set_event_pid""",
                 cpus=2)
    errors, _, rest = text.partition("end of errors")
    assert errors.count("Invalid argument") + errors.count("invalid") >= 3, text
    numbers = [int(line) for line in rest.splitlines() if line.strip().isdigit()]
    _, records, foreign, execs, listed, left = numbers
    # The shell, and wc itself.
    assert records > 3 and foreign == 0 and execs == 1 and (listed, left) == (2, 0), text


def test_system_calls_and_names(guest):
    """Each call that begins ends with the same number, what is off leaves nothing, and renaming tells both names."""
    text = guest("""cd /sys/kernel/tracing
echo raw_syscalls:* task:* > set_event; hack -g 1 -l 1 > /dev/null; echo > set_event; echo 0 > tracing_on
cat trace; echo 1 > tracing_on; > trace; hack -g 1 -l 1 > /dev/null; echo later $(grep -c NR trace)""", cpus=2)
    open_call, writes = {}, 0
    for pid, event, number, rest in re.findall(r"-(\d+) +\[\d+\] \S+ +[\d.]+: sys_(\w+): NR (\d+) (.*)", text):
        if event == "enter":
            assert pid not in open_call, (pid, number)
            open_call[pid] = number
            writes += number == "1" and ", 64, " in rest  # a message has 100 bytes
        else:
            assert open_call.pop(pid, number) == number
    assert writes == 400, writes
    assert re.search(r"task_rename: pid=\d+ oldcomm=sh newcomm=hack oom_score_adj=0", text)
    assert "later 0" in text


needs_trace_cmd = pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")


@needs_trace_cmd
def test_trace_cmd_with_filters_threads_and_instances(guest):
    """record -f, -P with -c, -B, -C, -s, and -v, read back by the same program."""
    put, files = dynamic_program(shutil.which("trace-cmd"))
    text = guest(f"""{put} cd /tmp; t=/root/trace-cmd; set -e
$t record -e sched_switch -f 'next_comm == "hack"' -o f.dat hack -g 1 -l 5 > /dev/null
echo filter $($t report f.dat | grep -c sched_switch:) $($t report f.dat | grep sched_switch: | grep -vc next_comm=hack)
$t record -B one -e sched_switch -B two -e sched_waking -o b.dat hack -g 1 -l 5 > /dev/null
$t report b.dat > b.txt; echo instances $(grep -c 'one:.*sched_switch:' b.txt) $(grep -c 'two:.*sched_waking:' b.txt) \
$(grep -c 'two:.*sched_switch:' b.txt)
sh -c 'sleep 0.2; hack -g 1 -l 1 > /dev/null' & p=$!
$t record -P $p -c -e sched -o p.dat sleep 0.5 > /dev/null; wait
echo threads $($t report p.dat | grep -c sched_process_exec:) $($t report p.dat | grep -c 'sleep 0.5')
$t record -C mono -s 100 -e sched_switch -o s.dat hack -g 1 -l 1 > /dev/null
echo interval $($t report s.dat | grep -c sched_switch:)
ls /sys/kernel/tracing/instances; cat /sys/kernel/tracing/{SWITCH}/filter""", cpus=2, mem=512, files=files)
    found = {words[0]: list(map(int, words[1:])) for words in map(str.split, text.splitlines())
             if words and words[0] in ("filter", "instances", "threads", "interval")}
    assert found["filter"][0] > 20 and found["filter"][1] == 0, text
    assert found["instances"][0] > 40 and found["instances"][1] > 20 and found["instances"][2] == 0, text
    assert found["threads"][0] >= 1 and found["threads"][1] == 0, text
    assert found["interval"][0] > 10, text
    assert text.rstrip().splitlines()[-2].strip() == "none" or "\nnone" in text, text

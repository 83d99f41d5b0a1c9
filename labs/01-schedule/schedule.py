# SPDX-License-Identifier: GPL-2.0-only
"""Lab 1, filter: reads a trace as text from standard input and prints a line for each task (README.md)."""

import re
import sys

FIELD = re.compile(r"(\w+)=(\S+)")
TIME = re.compile(r"(\d+)\.(\d{9}) \[(\d+)\] (\w+): (.*)")


def main() -> None:
    rows: dict[int, list[int]] = {}       # pid: run_ns, waits, wait_ns, preempted
    running: dict[int, tuple[int, int]] = {}  # CPU: (pid, since)
    waiting: dict[int, int] = {}          # pid: since
    first, now = None, 0
    for text in sys.stdin:
        match = TIME.match(text)
        if not match:
            continue
        now, cpu, event, values = int(match[1] + match[2]), int(match[3]), match[4], dict(FIELD.findall(match[5]))
        first = now if first is None else first
        if event in ("sched_wakeup", "sched_wakeup_new"):
            pid = int(values["pid"])
            if pid not in (running_pid for running_pid, _ in running.values()):
                waiting.setdefault(pid, now)
        elif event == "sched_switch":
            prev, following, state = int(values["prev_pid"]), int(values["next_pid"]), values["prev_state"]
            if prev:
                row = rows.setdefault(prev, [0] * 4)
                row[0] += now - running.get(cpu, (prev, now))[1]
                row[3] += state[0] == "R"
                if state[0] == "R":
                    waiting[prev] = now
            if following:
                row = rows.setdefault(following, [0] * 4)
                if following in waiting:
                    row[1] += 1
                    row[2] += now - waiting.pop(following)
            running[cpu] = following, now
    for pid, since in running.values():
        if pid:
            rows[pid][0] += now - since
    print("pid run_ns waits wait_ns preempted share")
    for pid, row in sorted(rows.items()):
        print(pid, *row, 1000 * row[0] // max(1, now - (first or 0)))


main()

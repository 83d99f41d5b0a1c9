# SPDX-License-Identifier: GPL-2.0-only
"""Did a program for sched_ext come to its end before the run did? Then the fair class had its tasks, and figures of the
run are not the program's. The sentence says which program ended, when and why, in its own words."""

import re
from collections.abc import Mapping
from typing import Any

from ..base.errors import InputError

FROM_THEN = "all tasks are fair ones from then on"
LINE = r"^(?:\[ *([\d.]+)\] )?sched_ext: "
ENABLED = re.compile(rf'{LINE}BPF scheduler ".*" enabled', re.MULTILINE)
DISABLED = re.compile(rf'{LINE}BPF scheduler "(.*)" disabled \((.*)\)', re.MULTILINE)
WANTED = "unregistered from user space"  # the workload did it


class SchedulerEnded(InputError):
    """A program for sched_ext cannot be measured: it ended, or was never loaded. The text is one sentence."""


def _sentence(name: str, seconds: float, reason: str, message: str) -> str:
    why = f"{reason}: {message}" if message else reason
    return f"scx:{name.removeprefix('scx:')} ended at {seconds:.3f} s, {why}; {FROM_THEN}"


def of_results(data: Mapping[str, Any]) -> str:
    """The sentence of a run that left @data, schedsim's JSON; "" if no scheduler ended."""
    for one in data.get("results", ()):
        if end := one.get("sched_ended"):
            return _sentence(one["sched"], end["time_ns"] / 1e9, end["reason"], end["message"])
    return ""


def check_results(data: Mapping[str, Any]) -> None:
    """SchedulerEnded if a scheduler of the run that left @data, schedsim's JSON, ended."""
    if why := of_results(data):
        raise SchedulerEnded(why)


def on_console(text: str) -> str:
    """The sentence of a scheduler that ended by itself, or was thrown out, by the console's @text; "" if none did."""
    for found in DISABLED.finditer(text):
        name, reason = found[2], found[3]
        said = re.compile(rf"{LINE}{re.escape(name)}: (.*)", re.MULTILINE).search(text, found.end())
        if reason != WANTED:
            return _sentence(name, float(found[1] or 0), reason, said[2] if said else "")
    return ""


def at_boot(policy: str, text: str) -> str:
    """The same of a machine that was to load @policy, scx:FILE[,CONSTANT=VALUE...], when it booted."""
    if ENABLED.search(text):
        return on_console(text)
    path = policy.removeprefix("scx:").partition(",")[0]
    said = re.search(rf"{LINE}{re.escape(path)}: (.*)", text, re.MULTILINE)
    return f"{policy} was not loaded: {said[2] if said else 'the console does not say why'}; all tasks are fair ones"

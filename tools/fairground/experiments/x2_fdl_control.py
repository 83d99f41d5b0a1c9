"""The servers of x1-fdl without the antagonist: deadlines must not matter where nobody competes.

There is room for all of them on average, but servers also meet each other; so each has one worker here, which its
messenger does not compete with.
"""

from ..experiment import rule
from . import x1_fdl
from .x1_fdl import GROUPS, SCHEDULERS, SETTINGS, measure, same_twice, shown  # noqa: F401 (parts of an experiment)

TITLE = "Servers with and without deadlines, nobody else: wakeup latency"
SOURCE = "the message that proposed FDL, without antagonist: 99th percentiles of 118 to 129 us, means within 2 %"
SECONDS = 10
HOSTS = ("kernel",)
CASES = ("alone", "again")
PUBLISHED = {"cfs": ((38, 85, 69), (123, 129, 124)), "fdl-loose": ((85, 54, 84), (128, 129, 124)),
             "fdl": ((53, 52, 63), (129, 118, 128))}
SIZE = (6, 4.5)

# SPDX-License-Identifier: GPL-2.0-only
"""The page for browsers keeps decisions packed (web/page/packed.ts): what is unpacked has every byte of the record."""

import json
import subprocess

from tests.sim.conftest import BUILD, ROOT, page_or_skip

RUNS = ("--sched eevdf --cpus 4 --time 1s hogs:n=32 bursts:n=32,run=1ms,sleep=9ms",
        "--sched fdl --topology 2x2x2 --time 200ms messages:n=2,workers=6,run=2ms group:name=a,quota=10ms,period=50ms "
        "hogs:n=3,group=a", "--sched cfs --cpus 2 --time 200ms periodic:n=1,policy=deadline,runtime=3ms,deadline=9ms "
        "hogs:n=3 hogs:n=1,policy=rr", "--sched bore --cpus 1 --time 1ms hogs:n=1")


def test_no_byte_is_lost(tmp_path):
    page_or_skip()
    files = []
    for nr, words in enumerate(RUNS):
        files.append(tmp_path / f"{nr}.bin")
        subprocess.run([f"{BUILD}/schedsim", *words.split(), "--decisions", files[-1]], check=True,
                       stdout=subprocess.DEVNULL)
    done = subprocess.run(["node", f"{ROOT}/tests/tools/packed.mjs", f"{BUILD}/web/node_modules", *files], check=True,
                          capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert [each["different"] for each in found] == [0] * len(RUNS)
    assert found[0]["decisions"] > 10_000 and found[0]["packed"] < found[0]["bytes"] / 3

"""The simulator, build/schedsim, for tools that run it beside the kernel."""

import os
import subprocess

from .qemu import QemuError


def command(settings, workload, out, costs):
    """The words that run the rt-app file @workload with @settings and @costs and save the trace in @out."""
    program = os.path.join(settings.build, "schedsim")
    if not os.path.exists(program):
        raise QemuError(f"{program} is missing: run make sim")
    words = [program, "--sched", settings.sched, "--cpus", str(settings.cpus), "--hz", str(settings.hz),
             "--seed", str(settings.seed)]
    words += [word for name, ns in costs.items() for word in (f"--cost-{name}", f"{ns}ns")]
    return words + ["--trace", out, workload]


def run(settings, workload, out, costs):
    """Run, and return what it printed; an error of the simulator is the user's to read."""
    words = command(settings, workload, out, costs)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise QemuError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout

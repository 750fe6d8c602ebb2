"""What a job's process may take, and what it hands on to a command that outlives it."""

import json
import subprocess
import sys

from provisioner.jobs.launch import KINDS

ASK = (
    "import json, os, resource;"
    "print(json.dumps([resource.getrlimit(resource.RLIMIT_DATA)[0],"
    " os.getpriority(os.PRIO_PROCESS, 0)]))"
)
PROGRAM = f"""
import json, subprocess, sys
from provisioner.jobs import limits
ask = lambda: json.loads(subprocess.check_output([sys.executable, "-c", {ASK!r}]))
before = ask()
limits.bound(5, 2**30)
bound = ask()
with limits.unbounded():
    unbounded = ask()
print(json.dumps([before, bound, unbounded, ask()]))
"""


def test_a_command_that_outlives_the_job_has_the_limits_of_who_started_us():
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )

    before, bound, unbounded, after = json.loads(said.stdout)

    assert bound == [2**30, before[1] + 5] == after
    assert unbounded == before


def test_every_kind_is_bounded():
    assert all(0 < kind.memory <= 8 * 2**30 and kind.nice > 0 for kind in KINDS.values())

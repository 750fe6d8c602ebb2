"""`make test`: everything in two processes, and what failed there once more by itself.

Beside the rest, on two cores, a test may wait for longer than it allows; one that also fails alone
is broken. Both runs say what they found, and the second one's word counts.
"""

import subprocess
import sys

import pytest

SHARED = ["-n", "2", "-p", "tests.sharing", "--maxfail=25"]
ALONE = ["--last-failed", "--last-failed-no-failures=none"]


def run(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def main() -> int:
    code = run(SHARED)
    if code != pytest.ExitCode.TESTS_FAILED:  # all is well, or not all of them were run
        return code
    print("\nWhat failed beside the rest is run once more, alone.\n", flush=True)
    return run(ALONE)


if __name__ == "__main__":
    sys.exit(main())

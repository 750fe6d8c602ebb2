"""`python -m bench NAME …` of `bench.one`, all without a name; `python -m bench soak`.

Prints a table, writes bench/results, and ends with 1 when a target was missed.
"""

import argparse
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bench import results, soak
from bench.installation import Stuck, running
from bench.one import ON_A_DATABASE, ON_AN_INSTALLATION
from deploy.local.layout import REPOSITORY

ALL = (*ON_AN_INSTALLATION, *ON_A_DATABASE)


def main(arguments: list[str]) -> int:
    """0 every target met · 1 one missed, or a benchmark broke · 2 wrong usage."""
    if arguments[:1] == ["soak"]:
        return soak.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(ALL))
    names = parser.parse_args(arguments).names or list(ALL)
    if unknown := sorted(set(names) - set(ALL)):
        parser.error(f"there is no benchmark {unknown[0]}; choose from {', '.join(ALL)}, soak")
    good = []
    with ExitStack() as stack:
        state: list[Path] = []
        for name in names:
            if name in ON_AN_INSTALLATION and not state:
                _say("starting an installation to measure")
                state.append(stack.enter_context(running()).state)
            good.append(_run(name, state if name in ON_AN_INSTALLATION else []))
    return 0 if all(good) else 1


def _run(name: str, state: list[Path]) -> bool:
    """In a process of its own; its table is printed as soon as it is there."""
    _say(f"measuring {name}")
    results.path_of(name).unlink(missing_ok=True)
    argv = [sys.executable, "-m", "bench.one", name, *map(str, state)]
    done = subprocess.run(argv, cwd=REPOSITORY, stdout=subprocess.DEVNULL, check=False)
    told = results.read(name)
    if told is None:
        _say(f"{name} broke; what it said is above")
        return False
    print(results.table(told), flush=True)
    return done.returncode == 0


def _say(text: str) -> None:
    print(f"· {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stuck as error:
        sys.exit(f"The installation is stuck. {error}")

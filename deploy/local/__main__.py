"""`python -m deploy.local up|down|clean|status|logs|engine|images`, called by the Makefile, and
`python -m deploy.local manage …` for operators."""

import argparse
import os
import sys
import traceback

from deploy.local import credentials, files, lock, logs, managing, network, status
from deploy.local.down import clean, down
from deploy.local.errors import LocalError
from deploy.local.layout import Installation, from_environ
from deploy.local.up import images, prepare_engine, prepare_offsite, product, up


def main(arguments: list[str]) -> int:
    """0 done · 1 failed, with one sentence and what to do · 2 wrong usage · 130 interrupted."""
    given = _parser().parse_args(arguments)
    try:
        installation = from_environ(os.environ, os.geteuid())
        return _run(given, installation)
    except LocalError as error:
        print(f"\n{error.what}\n{error.do}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. `make up` goes on from here; `make down` stops it.", file=sys.stderr)
        return 130


def _run(given: argparse.Namespace, installation: Installation) -> int:
    if given.command == "status":
        return 0 if status.status(installation) else 1
    if given.command == "manage":
        return managing.manage(installation, given.words)
    if given.command == "logs":
        logs.follow(installation, once=given.once)
        return 0
    if given.command in {"down", "clean"} and not installation.state_dir.exists():
        print(f"Nothing runs here: {installation.state_dir} does not exist.")
        return 0
    files.refuse_other_name(installation)
    files.prepare(installation)
    with lock.held(installation.state_dir):
        try:
            _locked(given, installation)
        except (LocalError, KeyboardInterrupt):
            raise
        except Exception as error:
            log = installation.log_dir / "local.log"
            with log.open("a") as stream:
                traceback.print_exc(file=stream)
            raise LocalError(
                f"`{given.command}` broke: {type(error).__name__}: {error}.",
                f"This is a fault of Roost; the details are in {log}.",
            ) from error
    return 0


def _locked(given: argparse.Namespace, installation: Installation) -> None:
    match given.command:
        case "up":
            up(installation, services_only=given.services_only)
        case "down":
            down(installation)
        case "clean":
            clean(installation, sure=given.yes)
        case "engine":
            prepare_engine(installation)
        case "images":
            prepare_engine(installation)
            prepare_offsite(installation)  # the tests, which begin with this, ship for real
            secrets = credentials.ensure(installation.state_dir / "secrets.json")
            address = network.service_address(installation, os.environ)
            images(product(installation, secrets, address))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    begin = commands.add_parser("up", help="start everything that does not run yet")
    begin.add_argument("--services-only", action="store_true", help="only the backing services")
    commands.add_parser("down", help="stop everything; nothing is lost")
    forget = commands.add_parser("clean", help="stop everything and delete all data")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    commands.add_parser("status", help="show what runs")
    follow = commands.add_parser("logs", help="follow what every program writes")
    follow.add_argument("--once", action="store_true", help="print the latest and end")
    commands.add_parser("engine", help="make sure a Docker Engine answers")
    commands.add_parser("images", help="build the images that are missing")
    own = commands.add_parser("manage", help="one of the product's commands, such as strays")
    own.add_argument("words", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

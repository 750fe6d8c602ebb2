"""`roost scan`: start a scan, wait for it, show or check its report."""

import json
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.scans.signing import Forged, verify
from frontend.cli.connection import Connection, connect
from frontend.cli.failing import FOUND, fail
from frontend.cli.report import told

PAUSE = 1.0  # seconds between two questions
LONGEST = 3 * 3600.0  # more than any scan is given


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


Agent = Annotated[str, typer.Argument(help="Its name or id. Default: the demo's agent.")]
Out = Annotated[Output, typer.Option("--output", "-o", help="How the report is shown.")]
Save = Annotated[Path | None, typer.Option(help="Also write the signed report to this file.")]
Verify = Annotated[Path | None, typer.Option(help="Check this report instead of making one.")]
Key = Annotated[str, typer.Option(help="The public key to check by. Default: the server's.")]


def scan(
    agent: Agent = "",
    output: Out = Output.TEXT,
    save: Save = None,
    verify: Verify = None,
    key: Key = "",
) -> None:
    """Look for an agent's live secrets wherever they must not be: its workspace, image, container,
    logs, snapshots and its rows of the database; for operators also in places that are shared.

    Exit code 0: none was found. 1: a credential was found. 2: it could not be done."""
    signed = _read(verify) if verify else _made(connect(), agent)
    report = _checked(signed, key)
    if save is not None:
        save.write_text(json.dumps(signed, indent=2) + "\n")
    typer.echo(json.dumps(signed, indent=2) if output is Output.JSON else told(report))
    if verify is not None:
        typer.echo("The signature is right.", err=True)
    if report.get("findings_total"):
        raise typer.Exit(FOUND)


def _made(connection: Connection, agent: str) -> Mapping[str, Any]:
    agent_id = _find(connection, agent or connection.agent)
    path = connection.organisation(f"/agents/{agent_id}/scans")
    asked = connection.post(path, {})
    done = _wait(connection, f"{path}/{asked['id']}")
    if done["status"] != "done":
        fail(done["message"] or "The scan failed.")
    signed: Mapping[str, Any] = done["report"]
    return signed


def _find(connection: Connection, agent: str) -> str:
    if not agent:
        fail("Which agent? Give its name or id.")
    if agent.startswith("agt_"):
        return agent
    rows = connection.get(connection.organisation("/agents"), q=agent, limit="200")["items"]
    for row in rows:
        if row["name"] == agent:
            return str(row["id"])
    fail(f"There is no agent called {agent} in this organisation.")


def _wait(connection: Connection, path: str) -> Mapping[str, Any]:
    """Tells on the error output what it looks at."""
    shown, end = "", time.monotonic() + LONGEST
    while time.monotonic() < end:
        scan: Mapping[str, Any] = connection.get(path)
        if scan["status"] in {"done", "failed"}:
            return scan
        now = scan["place"] or "waiting for its node"
        if now != shown:
            typer.echo(f"{scan['places_done']}/{scan['places_total'] or '?'} {now}", err=True)
            shown = now
        time.sleep(PAUSE)
    fail("It takes too long. Look at the scan again later, on the agent's page.")


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be read as a report ({type(error).__name__}).")
    # Also as the API gives it, within its scan.
    inner = found.get("report") if isinstance(found, dict) else None
    if isinstance(inner, dict) and "signature" in inner:
        found = inner
    if not isinstance(found, dict) or "signature" not in found:
        fail(f"{path} is no signed report of a scan.")
    return found


def _checked(signed: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    try:
        return verify(signed, key or _servers_key(signed))
    except Forged as error:
        fail(f"This report cannot be trusted. {error}")


def _servers_key(signed: Mapping[str, Any]) -> str:
    """The key that a report carries says only that nobody changed it since; whose it is, says the
    server."""
    signature = signed["signature"]
    named = signature.get("key_id") if isinstance(signature, dict) else None
    for known in connect().get("scan-key")["keys"]:
        if known["id"] == named:
            return str(known["public_key"])
    raise Forged("This installation has never signed with that key.")

"""From what Docker's API says to the words of base.Engine."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from docker.errors import APIError, DockerException, ImageNotFound
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from provisioner.engines.base import Container, EngineRefused, EngineUnavailable, ImageMissing

MEBIBYTE = 1024 * 1024


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn the SDK's exceptions into the two kinds our callers tell apart."""
    try:
        yield
    except ImageNotFound as error:
        raise ImageMissing(str(error.explanation or error)) from error
    except APIError as error:
        # It answered, if only with 500: that is a no, not silence.
        raise EngineRefused(str(error.explanation or error)) from error
    except (RequestException, DockerException, HTTPError, OSError) as error:
        raise EngineUnavailable(f"Docker does not answer: {error}") from error


def filters(labels: Mapping[str, str]) -> dict[str, Any]:
    return {"label": [f"{name}={value}" for name, value in labels.items()]}


def container(seen: Mapping[str, Any]) -> Container:
    state = seen["State"]
    labels = seen["Config"]["Labels"] or {}
    address = _address(seen)
    return Container(
        id=seen["Id"],
        name=seen["Name"].lstrip("/"),
        agent_id=labels.get("roost.agent", ""),
        release=int(labels.get("roost.release", 0)),
        restart=int(labels.get("roost.restart", 0)),
        state=state["Status"] if state["Status"] != "removing" else "dead",
        exit_code=state["ExitCode"],
        out_of_memory=state["OOMKilled"],
        started_at=state["StartedAt"],
        restart_count=seen["RestartCount"],
        address=address,
        connected=address is not None or state["Status"] != "running",
        organisation_id=labels.get("roost.organisation", ""),
        image=seen["Config"]["Image"],
        memory_mb=seen["HostConfig"]["Memory"] // MEBIBYTE,
        settings=_variable(seen["Config"]["Env"], "ROOST_SETTINGS"),
        fixed_address=_fixed_address(seen),
    )


def summary(row: Mapping[str, Any]) -> Container:
    labels = row["Labels"] or {}
    return Container(
        id=row["Id"],
        name=row["Names"][0].lstrip("/"),
        agent_id=labels.get("roost.agent", ""),
        release=int(labels.get("roost.release", 0)),
        restart=int(labels.get("roost.restart", 0)),
        state=row["State"] if row["State"] != "removing" else "dead",
        address=_address(row),
        connected=_address(row) is not None or row["State"] != "running",
        organisation_id=labels.get("roost.organisation", ""),
        image=row["Image"],
        fixed_address=_fixed_address(row),
    )


def _variable(environment: list[str] | None, name: str) -> str:
    found = (line.partition("=")[2] for line in environment or () if line.startswith(f"{name}="))
    return next(found, "")


def _address(seen: Mapping[str, Any]) -> str | None:
    networks = seen["NetworkSettings"]["Networks"].values()
    return next((net["IPAddress"] for net in networks if net["IPAddress"]), None)


def _fixed_address(seen: Mapping[str, Any]) -> str | None:
    networks = seen["NetworkSettings"]["Networks"].values()
    asked = ((net.get("IPAMConfig") or {}).get("IPv4Address") for net in networks)
    return next((address for address in asked if address), None)

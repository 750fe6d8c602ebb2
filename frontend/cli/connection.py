"""Where the API is and who calls it: from the environment, else from what `make up` wrote."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from frontend.cli.failing import fail

TIMEOUT = 30  # seconds
NAMES = {"url": "ROOST_URL", "org": "ROOST_ORG", "token": "ROOST_TOKEN"}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class Connection:
    url: str
    org: str
    token: str = field(repr=False)
    agent: str = ""  # the demo's, where `make up` made one

    def get(self, path: str, **query: str) -> Any:
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._ask("POST", path, json=body)

    def organisation(self, path: str = "") -> str:
        return f"orgs/{self.org}{path}"

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        try:
            with self._client() as client:
                answer = client.request(method, f"{self.url.rstrip('/')}/api/v1/{path}", **options)
                body = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fail(f"{self.url} cannot be reached ({type(error).__name__}). Is ROOST_URL right?")
        except ValueError:
            fail(f"{self.url} does not answer like Roost. Is ROOST_URL right?")
        if answer.is_success:
            return body
        detail = body.get("detail", "") if isinstance(body, dict) else ""
        fail(f"{detail or 'It was refused.'} ({answer.status_code})")

    def _client(self) -> httpx.Client:
        # No proxy stands between us and our own machine.
        far = urlsplit(self.url).hostname not in LOOPBACK
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(headers=headers, timeout=TIMEOUT, trust_env=far)


def connect() -> Connection:
    """Fails with what to set."""
    local = _local()
    found = {name: os.environ.get(variable, "") for name, variable in NAMES.items()}
    # Not mixed: a token of one installation is not sent to another.
    if not any(found.values()):
        found = {name: str(local.get(name, "")) for name in NAMES}
        if all(found.values()):
            return Connection(**found, agent=str(local.get("agent", "")))
    missing = [NAMES[name] for name, value in found.items() if not value]
    if missing:
        fail(f"Set {', '.join(missing)}, or run this where `make up` was run.")
    return Connection(**found)


def _local() -> dict[str, Any]:
    folder = Path(os.environ.get("ROOST_STATE_DIR") or "var")
    try:
        found = json.loads((folder / "local.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

"""Hermes' dashboard behind the gateway: woken by its doorman, signed in by password."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused, RuntimeUnreachable
from runtimes.hermes.doorman import PORT as DOORMAN

USERNAME = "roost"  # as boot.py has it
AGAIN = 0.2  # seconds between two questions whether it is up
# Signing in is ours; a file outside the workspace may be a key; there is no Node for its terminal.
CLOSED = re.compile(r"/(login|auth|api/env/reveal|api/fs|api/git|api/pty)(/|$)")
# Keys would lie on the disk, and what runs, on which model, is the platform's to say.
READ_ONLY = re.compile(
    r"/api/(env|config|model|credentials|providers|messaging|gateway|hermes"
    r"|memory/providers|tools/toolsets/[^/]+/env|ops/(import|import-upload|debug-share"
    r"|config-migrate))(/|$)"
)


class HermesWeb:
    async def sign_in(
        self, client: httpx.AsyncClient, endpoint: Endpoint, base_url: str, origin: str
    ) -> Mapping[str, str]:
        host = urlsplit(base_url).hostname
        bearer = {"Authorization": f"Bearer {endpoint.token}"}
        told = await ask(client, "POST", f"http://{host}:{DOORMAN}/dashboard", headers=bearer)
        if told.status_code != httpx.codes.ACCEPTED:
            raise RuntimeRefused(told.status_code, "Its dashboard cannot be started.")
        await until_up(client, base_url)
        login = {
            "provider": "basic",
            "username": USERNAME,
            "password": endpoint.own.get("dashboard", ""),
        }
        answer = await ask(client, "POST", f"{base_url}/auth/password-login", json=login)
        if answer.status_code != httpx.codes.OK:
            raise RuntimeRefused(answer.status_code, "Its dashboard does not let us in.")
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in answer.cookies.items())}

    def expired(self, status: int, path: str) -> bool:
        """Its pages then lead to a sign-in page of its own."""
        page = not path.startswith("/api/")
        return status == httpx.codes.UNAUTHORIZED or (page and status == httpx.codes.FOUND)

    def refuses(self, method: str, path: str) -> bool:
        reads = method in {"GET", "HEAD"}
        return bool(CLOSED.match(path) or (not reads and READ_ONLY.match(path)))


async def until_up(client: httpx.AsyncClient, base_url: str) -> None:
    """The caller bounds how long."""
    while True:
        try:
            if (await ask(client, "GET", f"{base_url}/api/status")).is_success:
                return
        except RuntimeUnreachable:
            pass
        await asyncio.sleep(AGAIN)


async def ask(client: httpx.AsyncClient, method: str, url: str, **more: object) -> httpx.Response:
    try:
        return await client.request(method, url, timeout=10, **more)  # type: ignore[arg-type]
    except httpx.HTTPError as error:
        problem = f"The agent's dashboard does not answer ({type(error).__name__})."
        raise RuntimeUnreachable(problem) from error


web = HermesWeb()

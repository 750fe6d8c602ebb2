"""OpenClaw's Control UI behind the gateway. It signs nobody in itself: see door.mjs."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused, RuntimeUnreachable

PATIENCE_S, PAUSE_S = 60.0, 1.0
ANSWER_S = 10.0


class OpenClawWeb:
    async def sign_in(
        self, client: httpx.AsyncClient, endpoint: Endpoint, base_url: str, origin: str
    ) -> Mapping[str, str]:
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await until_ready(client, f"{base_url}/readyz", headers)
                return headers
        raise RuntimeUnreachable("The agent's web UI does not answer.")

    def expired(self, status: int, path: str) -> bool:
        return status == httpx.codes.UNAUTHORIZED

    def refuses(self, method: str, path: str) -> bool:
        """Nothing: who may open an agent's UI may do with the agent what it can do."""
        return False


async def until_ready(client: httpx.AsyncClient, url: str, headers: Mapping[str, str]) -> None:
    """Raises RuntimeRefused where the door does not know the token: waiting does not mend that."""
    while True:
        with suppress(httpx.HTTPError):
            response = await client.get(url, headers=dict(headers), timeout=ANSWER_S)
            if response.status_code == httpx.codes.OK:
                return
            if response.status_code == httpx.codes.UNAUTHORIZED:
                raise RuntimeRefused(response.status_code, "The agent's token is not accepted.")
        await asyncio.sleep(PAUSE_S)


web = OpenClawWeb()

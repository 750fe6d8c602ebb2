"""One HTTP request of a browser, handed to an agent's web UI and answered as it answers."""

from collections.abc import Mapping

import httpx
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from provisioner.gateway.web import headers
from provisioner.gateway.web.bodies import Body, BrowserLeft
from provisioner.gateway.web.places import PATIENCE, Place, SignIns, unreachable
from provisioner.gateway.web.refusals import is_navigation
from runtimes.capped import capped_client

MOST_ANSWER = 1024 * 1024 * 1024  # bytes: downloads, and event streams of a day
# An event stream may be silent for long; the watch over the session ends it when it must.
TIMEOUT = httpx.Timeout(10, connect=5, read=900, write=60)
SHOWN_WAIT = 3.0  # seconds until a person is shown that a UI is coming up


class Exchange:
    """`began` is whether the browser has heard something: from then on no page can tell of it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises GatewayProblem 413."""
        self._scope, self._send = scope, send
        self._headers = Headers(scope=scope)
        self.body = Body(self._headers, receive)
        self.began = False

    async def run(self, place: Place, sign_ins: SignIns) -> None:
        """Raises GatewayProblem 502, 503, BrowserLeft."""
        page = is_navigation(self._scope["method"], self._headers)
        patience = SHOWN_WAIT if page else PATIENCE
        held = await self.body.whole() if self.body.small else None
        sign_in = await sign_ins.headers(place, patience)
        if not await self._try(place, sign_in, held, last=held is None):
            sign_in = await sign_ins.headers(place, patience, bad=sign_in)
            await self._try(place, sign_in, held, last=True)

    async def _try(
        self, place: Place, sign_in: Mapping[str, str], held: bytes | None, *, last: bool
    ) -> bool:
        """False where signing in anew may help, and nothing was done yet."""
        request = self._request(place, sign_in, held)
        try:
            async with capped_client(MOST_ANSWER) as client:
                response = await client.send(request, stream=True)
                try:
                    if not last and place.ui.expired(response.status_code, self._scope["path"]):
                        return False
                    await self._answer(place, response)
                finally:
                    await response.aclose()
        except httpx.ConnectError as error:
            if not last:
                return False
            raise unreachable(place.agent) from error
        except httpx.HTTPError as error:
            if self.began:
                raise BrokenOff from error
            raise unreachable(place.agent) from error
        return True

    def _request(
        self, place: Place, sign_in: Mapping[str, str], held: bytes | None
    ) -> httpx.Request:
        return httpx.Request(
            self._scope["method"],
            httpx.URL(place.base_url).copy_with(raw_path=target_of(self._scope)),
            headers=headers.to_agent(self._scope["headers"], place.host, sign_in),
            content=self.body.flow() if held is None else held or None,
            extensions={"timeout": TIMEOUT.as_dict()},
        )

    async def _answer(self, place: Place, response: httpx.Response) -> None:
        self.began = True
        await self._send(
            {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": headers.to_browser(response.headers.raw, place.host, place.origin),
            }
        )
        async for chunk in response.aiter_raw():
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class BrokenOff(Exception):
    """The agent ended in the middle of its answer, and so does ours."""


def target_of(scope: Scope) -> bytes:
    """Path and query as the browser wrote them."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return path + b"?" + query if query else path


__all__ = ["BrokenOff", "BrowserLeft", "Exchange", "target_of"]

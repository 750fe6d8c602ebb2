"""A runtime's own web UI behind the gateway: who is signed in there, and what stays closed.

People sign in at Roost and nowhere else. The gateway takes their cookies and Authorization off
every request and puts on what `sign_in` returns, which never reaches a browser.
"""

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

import httpx

from runtimes.adapter import Endpoint
from runtimes.catalog import Runtime


class WebUI(Protocol):
    """The object `web` of the module a manifest's `[web]` names. Stateless, like an adapter.

    `endpoint` is the agent's API; `base_url` the UI's own address, without a slash at its end.
    """

    async def sign_in(
        self, client: httpx.AsyncClient, endpoint: Endpoint, base_url: str, origin: str
    ) -> Mapping[str, str]:
        """Headers that sign a request in, for pages and for the handshake of sockets alike. Starts
        the UI where it does not run yet and waits until it answers. `origin` is the address people
        have it under, such as https://agt-1.agents.example. Raises RuntimeProblem."""
        ...

    def expired(self, status: int, path: str) -> bool:
        """Whether this answer means that the headers are good no more: sign in anew."""
        ...

    def refuses(self, method: str, path: str) -> bool:
        """What no person may reach through the gateway, such as a sign-up or a key's value."""
        ...


def load_web(runtime: Runtime) -> WebUI | None:
    """The web UI a runtime's manifest names, or None."""
    return cast(WebUI, importlib.import_module(runtime.web.module).web) if runtime.web else None

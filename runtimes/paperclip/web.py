"""Paperclip's own UI, with the one person it knows signed in by the platform."""

import re
from collections.abc import Mapping

import httpx

from runtimes.adapter import Endpoint
from runtimes.paperclip.signing_in import session

# Who somebody is here. Everything else below /api/auth is a way to become somebody else.
OPEN = re.compile(r"/api/auth/(?:get-session|profile)/?", re.IGNORECASE)
CLOSED = re.compile(
    # Signing up, in and out, passwords, sessions with their tokens.
    r"/api/auth(?:/.*)?"
    # Keys that are people or agents to Paperclip; the platform's own is among them.
    r"|/api/(?:board-api-keys|cli-auth|board-claim|bootstrap)(?:/.*)?"
    r"|/api/agents/[^/]+/(?:keys(?:/.*)?|claude-login)"
    # More people: they would sign in past the platform.
    r"|/api/(?:invites|join-requests|admin)(?:/.*)?"
    r"|/api/companies/[^/]+/(?:invites|join-requests)(?:/.*)?"
    # Signing in at a model's vendor, which writes what it gets into the workspace.
    r"|/api/companies/[^/]+/(?:setup-token-login-sessions|adapters/[^/]+/login-sessions)(?:/.*)?"
    r"|/api/companies/[^/]+/ai-connections/(?:local|login)(?:/.*)?",
    re.IGNORECASE,
)


class PaperclipWeb:
    async def sign_in(
        self, client: httpx.AsyncClient, endpoint: Endpoint, base_url: str, origin: str
    ) -> Mapping[str, str]:
        """Its UI is the same server as its API: up as long as the agent is."""
        return {"Cookie": await session(client, endpoint, base_url)}

    def expired(self, status: int, path: str) -> bool:
        """Sockets are refused with 403, as is much else."""
        return status == httpx.codes.UNAUTHORIZED or (
            status == httpx.codes.FORBIDDEN and path.endswith("/events/ws")
        )

    def refuses(self, method: str, path: str) -> bool:
        return bool(CLOSED.fullmatch(path)) and not OPEN.fullmatch(path)


web = PaperclipWeb()

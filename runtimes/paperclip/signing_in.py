"""Signing in as the one person this Paperclip knows, with a password of the agent's own."""

import httpx

from runtimes.adapter import Endpoint, RuntimeRefused
from runtimes.paperclip.calling import send

EMAIL, NAME = "owner@agent.invalid", "Owner"


async def session(
    client: httpx.AsyncClient, endpoint: Endpoint, base_url: str, *, sign_up: bool = False
) -> str:
    """The cookies of a signed-in person; `sign_up` makes the person where there is none yet.
    Raises RuntimeProblem."""
    url, headers = f"{base_url}/api/auth", {"Origin": base_url}
    known = {"email": EMAIL, "password": endpoint.own.get("password", "")}
    try:
        response = await send(client, "POST", f"{url}/sign-in/email", headers, known)
    except RuntimeRefused as refusal:
        if not sign_up or refusal.status != httpx.codes.UNAUTHORIZED:
            raise
        known = {"name": NAME, **known}
        response = await send(client, "POST", f"{url}/sign-up/email", headers, known)
    # Not kept by the client: this address may be another agent's tomorrow.
    client.cookies.clear()
    # What a browser would send back, Secure or not: only the platform carries them.
    found = [line.partition(";")[0] for line in response.headers.get_list("set-cookie")]
    if not found:
        raise RuntimeRefused(response.status_code, "It signed nobody in.")
    return "; ".join(found)

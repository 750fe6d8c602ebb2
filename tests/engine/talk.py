"""Talking to an agent as the gateway does."""

import asyncio

import httpx

from controlplane.agents.models import Agent
from provisioner.backend import Backend
from provisioner.look import target
from runtimes.adapter import Completed, load_adapter
from runtimes.catalog import CATALOG


def say(backend: Backend, agent: Agent, text: str) -> str:
    """The whole answer of one turn in the main conversation."""

    async def turn() -> str:
        found = target(backend, agent)
        assert found is not None
        adapter = load_adapter(CATALOG[agent.runtime])
        async with httpx.AsyncClient(trust_env=False) as client:
            async for event in adapter.stream(client, found.endpoint, text):
                last = event
        assert isinstance(last, Completed), last
        return last.text

    return asyncio.run(turn())

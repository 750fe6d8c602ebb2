"""The stand-in model in the providers' place."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from deploy.model.server import stand_in


@pytest.fixture(scope="session")
def stand_in_url() -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(stand_in(), log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def model(settings, stand_in_url: str) -> str:
    """Its address; every provider is asked there."""
    settings.ROOST_PROVIDER_URLS = dict.fromkeys(("anthropic", "openai", "gemini"), stand_in_url)
    return stand_in_url

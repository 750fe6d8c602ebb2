"""What every test of the runtimes shares."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

"""Doing something until it is done or until a reason comes up to stop."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until(work: Coroutine[Any, Any, None], *ends: Coroutine[Any, Any, None]) -> bool:
    """Whether `work` came to its end by itself. It is cancelled as soon as one of `ends` returns.

    Errors of all are raised: who cannot tell any more whether to go on stops. Nothing goes on
    afterwards.
    """
    doing = asyncio.create_task(work)
    ending = [asyncio.create_task(end) for end in ends]
    try:
        done, _ = await asyncio.wait({doing, *ending}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return doing in done
    finally:
        for task in (doing, *ending):
            task.cancel()
        await asyncio.gather(doing, *ending, return_exceptions=True)

"""A turn and what is seen of it beside, as one stream."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from runtimes.adapter import ChatEvent, RuntimeProblem
from runtimes.openclaw.answering import Began
from runtimes.openclaw.reading import Use


async def together(
    turn: AsyncGenerator[Began | ChatEvent, None], beside: AsyncGenerator[Use, None]
) -> AsyncGenerator[Began | ChatEvent | Use, None]:
    """What both yield as it comes, until `turn` ends. What is wrong with `beside` ends only that.

    The queue has no limit of its own: the client bounds what an agent may send.
    """
    queue: asyncio.Queue[Began | ChatEvent | Use | None] = asyncio.Queue()

    async def tell_turn() -> None:
        try:
            async with contextlib.aclosing(turn):
                async for event in turn:
                    queue.put_nowait(event)
        finally:
            queue.put_nowait(None)

    async def tell_beside() -> None:
        with contextlib.suppress(RuntimeProblem):
            async with contextlib.aclosing(beside):
                async for use in beside:
                    queue.put_nowait(use)

    telling = asyncio.create_task(tell_turn())
    tasks = (telling, asyncio.create_task(tell_beside()))
    try:
        while (found := await queue.get()) is not None:
            yield found
        await telling
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Two threads that look into the database for all open streams of this process.

A stream lives for minutes: were each to hold a thread and a connection, a few dozen of them
would use up the database.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import close_old_connections

T = TypeVar("T")
WORKERS = 2

pool = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="stream")


async def in_pool(act: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, _with_connection, act)


def _with_connection(act: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return act()
    finally:
        close_old_connections()

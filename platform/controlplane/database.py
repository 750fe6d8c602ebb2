"""Reaching the database from async code that outlives a request.

A stream stays open for minutes or hours. Were each to keep a thread and a connection, a few
dozen would use both up; here a few threads serve all streams of a process.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")

_threads = ThreadPoolExecutor(4, thread_name_prefix="database")


async def in_thread(act: Callable[[], R]) -> R:
    """`act` runs in a thread; it meets no lost connection and holds none afterwards."""
    return await asyncio.get_running_loop().run_in_executor(_threads, _fresh, act)


def from_async(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """`function`, to be awaited: see in_thread."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        return in_thread(partial(function, *args, **kwargs))

    return call


def _fresh(act: Callable[[], R]) -> R:
    close_old_connections()
    try:
        return act()
    finally:
        close_old_connections()

"""Every key of the queue's server, in every database of it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings

from provisioner.scan.context import Context
from provisioner.scan.place import Place

UNREADABLE = "keys that could not be read"


def look(context: Context, place: Place) -> None:
    try:
        with _client() as client:
            numbers = sorted(int(name[2:]) for name in client.info("keyspace"))
        for number in numbers:
            with _client(number) as client:
                _database(place, client)
    except redis.RedisError as error:
        if not place.things:
            place.why_not = f"The queue does not answer ({type(error).__name__})."
        else:
            place.skip(UNREADABLE)


def _client(number: int | None = None) -> Any:
    url = settings.REDIS_URL
    if number is None:
        return redis.Redis.from_url(url, socket_timeout=5)
    # Of the two ways to say it in an address, the query is the one a socket's address has.
    query = "&" if urlsplit(url).query else "?"
    return redis.Redis.from_url(f"{url}{query}db={number}", socket_timeout=5)


def _database(place: Place, client: Any) -> None:
    for key in client.scan_iter(count=500):
        place.things += 1
        path = f"key {key.decode('utf-8', 'backslashreplace')}"
        place.text(path, key, "its name")
        try:
            for value in _values(client, key):
                place.text(path, value)
        except redis.ResponseError:  # it became another thing meanwhile
            place.skip(UNREADABLE)


def _values(client: Any, key: bytes) -> Iterator[bytes]:
    match client.type(key):
        case b"string":
            yield client.get(key) or b""
        case b"list":
            for start in range(0, client.llen(key), 100):
                yield from client.lrange(key, start, start + 99)
        case b"set":
            yield from client.sscan_iter(key)
        case b"zset":
            yield from (member for member, _ in client.zscan_iter(key))
        case b"hash":
            for name, value in client.hscan_iter(key):
                yield name
                yield value
        case b"stream":
            for _, fields in client.xrange(key):
                for name, value in fields.items():
                    yield name
                    yield value
        case _:
            yield client.dump(key) or b""

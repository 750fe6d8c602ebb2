"""Single objects of the bucket that people send or fetch: archives, as streams.

Every call may raise what Bucket's may.
"""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from provisioner.offsite.bucket import LONGEST_LINK, TRANSFER, Bucket, telling
from provisioner.offsite.errors import StoreRefused

PIECE = 1024 * 1024  # bytes


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True)
class Upload:
    """A form that a browser or curl can send: these fields, then the archive as `file`."""

    url: str
    fields: dict[str, str]


def put_stream(bucket: Bucket, stream: Readable, key: str) -> None:
    """In parts, as it is read. What reading raises ends the upload, and nothing of it stays."""
    with telling():
        bucket.client.upload_fileobj(stream, bucket.name, key, Config=TRANSFER)


@contextmanager
def opened(bucket: Bucket, key: str) -> Iterator[Iterator[bytes]]:
    """The object's content, in pieces."""
    with telling():
        body = bucket.client.get_object(Bucket=bucket.name, Key=key)["Body"]
    with contextlib.closing(body):
        yield _pieces(body)


def _pieces(body: Any) -> Iterator[bytes]:
    while True:
        with telling():
            piece = body.read(PIECE)
        if not piece:
            return
        yield piece


def size(bucket: Bucket, key: str) -> int | None:
    """Bytes; None where it is not there."""
    try:
        with telling():
            return int(bucket.client.head_object(Bucket=bucket.name, Key=key)["ContentLength"])
    except StoreRefused as error:
        if error.missing:
            return None
        raise


def presigned_post(
    bucket: Bucket, key: str, *, seconds: int, most: int, back_to: str = ""
) -> Upload:
    """Lets whoever has it put this one object, of at most so many bytes, for a while. A browser is
    then sent `back_to`."""
    fields = {"success_action_redirect": back_to} if back_to else {}
    conditions: list[Any] = [fields, ["content-length-range", 1, most]] if fields else [
        ["content-length-range", 1, most]
    ]  # fmt: skip
    made = bucket.public.generate_presigned_post(
        bucket.name,
        key,
        Fields=fields,
        Conditions=conditions,
        ExpiresIn=min(seconds, LONGEST_LINK),
    )
    return Upload(made["url"], made["fields"])

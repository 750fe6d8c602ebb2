"""The bucket itself: everything beside restic's own transfers. The one module that knows boto3.

Single objects that come and go as streams: see objects.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
from boto3.exceptions import S3UploadFailedError
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    EndpointConnectionError,
    HTTPClientError,
)

from provisioner.offsite.errors import (
    Damaged,
    Failed,
    OffsiteError,
    StoreAway,
    StoreFull,
    StoreRefused,
)

CONNECT_S, READ_S, TRIES = 5, 60, 3
PART = 16 * 1024**2  # bytes
AT_ONCE = 1000  # objects that one request may delete
LONGEST_LINK = 7 * 24 * 3600  # seconds; S3 signs no longer ones
MISSING = {"404", "NoSuchKey", "NoSuchBucket", "NotFound"}
FULL = {"507", "InsufficientStorage", "XMinioStorageFull", "QuotaExceeded", "ServiceQuotaExceeded"}
AWAY = {"500", "502", "503", "504", "InternalError", "SlowDown", "ServiceUnavailable"}
REFUSED = {
    "InvalidAccessKeyId": "it does not know the access key",
    "SignatureDoesNotMatch": "the secret key is wrong",
    "RequestTimeTooSkewed": "the clock of this node is wrong",
    "NoSuchBucket": "it has no such bucket",
}

TRANSFER = TransferConfig(
    multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=2, use_threads=False
)

Progress = Callable[[int], None]


class _Ended(Exception):
    """Ends an upload from inside. Of another kind, boto might take it for a trouble of the net."""


@dataclass(frozen=True)
class Bucket:
    """Every call may raise StoreAway, StoreRefused, StoreFull, Failed.

    `public_url` is the endpoint as browsers reach it, for links; the same unless given.
    """

    url: str
    name: str
    key_id: str
    secret_key: str = field(repr=False)
    region: str = "us-east-1"
    public_url: str = ""

    def ensure(self) -> None:
        """Make it unless it is there."""
        try:
            with telling():
                self.client.head_bucket(Bucket=self.name)
        except StoreRefused:
            elsewhere = {} if self.region == "us-east-1" else {
                "CreateBucketConfiguration": {"LocationConstraint": self.region}
            }  # fmt: skip
            with telling(), _already():
                self.client.create_bucket(Bucket=self.name, **elsewhere)

    def trouble(self) -> OffsiteError | None:
        """Why it cannot be used now; None when it can."""
        try:
            with telling():
                self.client.list_objects_v2(Bucket=self.name, MaxKeys=1)
        except OffsiteError as error:
            return error
        return None

    def names(self, begin: str) -> list[str]:
        """Keys of the objects that begin so."""
        with telling():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=begin
            )
            return [str(one["Key"]) for page in pages for one in page.get("Contents", [])]

    def size_of(self, prefix: str) -> int:
        """Bytes of the objects below the folder; what was only marked as deleted left out."""
        return sum(int(one["Size"]) for one in self._below(prefix))

    def folders(self, prefix: str = "") -> list[str]:
        """The names of the folders directly below one, or of all at the top."""
        below = _folder(prefix) if prefix else ""
        with telling():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=below, Delimiter="/"
            )
            found = [one["Prefix"] for page in pages for one in page.get("CommonPrefixes", [])]
        return [name.removeprefix(below).rstrip("/") for name in found]

    def holds(self, prefix: str) -> bool:
        """Whether there is anything below the folder, earlier versions too; some stores go on to
        list a folder that is empty."""
        return bool(self._versions(_folder(prefix)))

    def delete_prefix(self, prefix: str) -> int:
        """Everything below the folder, with earlier versions and uploads that never ended.

        Returns how many objects there were. The neighbour whose name begins alike stays.
        """
        prefix, gone = _folder(prefix), 0
        with telling():
            for upload in self._uploads(prefix):
                self.client.abort_multipart_upload(
                    Bucket=self.name, Key=upload["Key"], UploadId=upload["UploadId"]
                )
        while found := self._versions(prefix):
            gone += len(found)
            self._delete(found)
        return gone

    def put(self, path: Path, key: str, progress: Progress | None = None) -> None:
        """Upload a file, a large one in parts; `progress` is told the bytes sent so far.

        What `progress` raises ends the upload and is raised again; nothing of it stays.
        """
        sent = 0
        stop: list[BaseException] = []

        def tell(more: int) -> None:
            nonlocal sent
            sent += more
            if progress is not None and not stop:
                try:
                    progress(sent)
                except BaseException as error:
                    stop.append(error)
            if stop:
                raise _Ended

        try:
            with telling(), path.open("rb") as stream:
                self.client.upload_fileobj(stream, self.name, key, Config=TRANSFER, Callback=tell)
        except BaseException:
            if stop:
                raise stop[0] from None
            raise

    def presigned_get(self, key: str, seconds: int, filename: str) -> str:
        """A link that lets whoever has it download the object under that name for a while."""
        kind = f"attachment; filename*=UTF-8''{quote(filename, safe='')}"
        asked = {"Bucket": self.name, "Key": key, "ResponseContentDisposition": kind}
        link: str = self.public.generate_presigned_url(
            "get_object", Params=asked, ExpiresIn=min(seconds, LONGEST_LINK)
        )
        return link

    def tidy_unfinished(self, prefix: str) -> None:
        """Before a repository is made: take away keys that one left which was cut short.

        Raises Damaged where there is more than that: data without its configuration.
        """
        found = [str(one["Key"]) for one in self._below(prefix)]
        keys = [key for key in found if key.startswith(f"{_folder(prefix)}keys/")]
        if len(keys) < len(found):
            raise Damaged("the repository has data and no configuration")
        self._delete([{"Key": key} for key in keys])

    def _below(self, prefix: str) -> Iterator[dict[str, Any]]:
        with telling():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=_folder(prefix)
            )
            for page in pages:
                yield from page.get("Contents", [])

    def _versions(self, prefix: str) -> list[dict[str, str]]:
        """Up to a thousand of them, marks of deletion included."""
        with telling():
            page = self.client.list_object_versions(
                Bucket=self.name, Prefix=prefix, MaxKeys=AT_ONCE
            )
        found = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        return [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]

    def _uploads(self, prefix: str) -> Iterator[dict[str, str]]:
        pages = self.client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self.name, Prefix=prefix
        )
        for page in pages:
            yield from page.get("Uploads", [])

    def _delete(self, objects: list[dict[str, str]]) -> None:
        for begin in range(0, len(objects), AT_ONCE):
            some = objects[begin : begin + AT_ONCE]
            with telling():
                answer = self.client.delete_objects(
                    Bucket=self.name, Delete={"Objects": some, "Quiet": True}
                )
            if errors := answer.get("Errors"):
                code = str(errors[0].get("Code", ""))
                raise _named(code, f"it did not delete {len(errors)} object(s): {code}")

    @cached_property
    def client(self) -> Any:
        return self._connect(self.url)

    @cached_property
    def public(self) -> Any:
        return self._connect(self.public_url or self.url)

    def _connect(self, url: str) -> Any:
        return boto3.session.Session().client(
            "s3",
            endpoint_url=url,
            aws_access_key_id=self.key_id,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
            config=Config(
                connect_timeout=CONNECT_S,
                read_timeout=READ_S,
                retries={"total_max_attempts": TRIES, "mode": "standard"},
                s3={"addressing_style": "path"},
                signature_version="s3v4",
            ),
        )


def _folder(prefix: str) -> str:
    """With its last slash: `agt_1` must not mean `agt_12` as well."""
    clean = prefix.strip("/")
    if not clean:
        raise ValueError("an empty prefix would mean the whole bucket")
    return f"{clean}/"


@contextmanager
def _already() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response["Error"].get("Code") not in {"BucketAlreadyOwnedByYou"}:
            raise


@contextmanager
def telling() -> Iterator[None]:
    """From boto's errors to ours; their text may hold a request and is not passed on."""
    try:
        yield
    except S3UploadFailedError as error:
        cause = error.__context__ or error.__cause__
        if isinstance(cause, ClientError):
            raise _of(cause) from None
        raise StoreAway("the upload broke off") from None
    except ClientError as error:
        raise _of(error) from None
    except (ConnectionError, EndpointConnectionError, HTTPClientError) as error:
        raise StoreAway(f"it does not answer ({type(error).__name__})") from None
    except BotoCoreError as error:
        raise Failed(f"The off-site store cannot be used: {type(error).__name__}.") from None


def _of(error: ClientError) -> OffsiteError:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = str(error.response.get("Error", {}).get("Code", ""))
    return _named(code if code in {*REFUSED, *FULL, *AWAY} else str(status), code)


def _named(code: str, said: str) -> OffsiteError:
    if code in FULL:
        return StoreFull()
    if code in REFUSED:
        return StoreRefused(REFUSED[code])
    if code in MISSING:
        return StoreRefused("it has no such bucket or object", missing=code != "NoSuchBucket")
    if code in {"401", "403"} or code == "AccessDenied":
        return StoreRefused("its key may not do that")
    if code in AWAY:
        return StoreAway(f"it answers {said}")
    return Failed(f"The off-site store answered {said or code}.")

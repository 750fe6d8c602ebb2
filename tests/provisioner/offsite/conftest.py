import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from provisioner.offsite.bucket import Bucket
from provisioner.offsite.restic import Credentials, Repository
from provisioner.offsite.running import Patience

PASSWORD = "the-organisation's-key-in-base64="
SOON = Patience(still=30, retry=2)


def bucket_of(store: Mapping[str, str], **changes: str) -> Bucket:
    usual = {
        "url": store["S3_ENDPOINT_URL"],
        "name": store["S3_BUCKET"],
        "key_id": store["S3_ACCESS_KEY_ID"],
        "secret_key": store["S3_SECRET_ACCESS_KEY"],
    }
    return Bucket(**{**usual, **changes})


@pytest.fixture
def bucket(store: dict[str, str]) -> Bucket:
    return bucket_of(store)


@pytest.fixture
def where() -> str:
    """The folder of an agent that nobody has used yet."""
    return f"org_test/agt_{uuid.uuid4().hex[:16]}"


@pytest.fixture(scope="session")
def blank(store: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a repository that holds no snapshot: a copy is made faster than another."""
    folder, bucket = "org_test/agt_blank", bucket_of(store)
    own = Repository(
        url=f"s3:{bucket.url}/{bucket.name}/{folder}",
        host="agt_blank",
        password=PASSWORD,
        credentials=Credentials(bucket.key_id, bucket.secret_key),
        work=tmp_path_factory.mktemp("restic"),
    )
    own.ensure()
    return folder


@pytest.fixture
def made(
    repository: Callable[..., Repository], blank: str, bucket: Bucket, where: str
) -> Repository:
    """The agent's repository, ready for its first snapshot."""
    for one in bucket._below(blank):
        name = one["Key"].removeprefix(f"{blank}/")
        source = {"Bucket": bucket.name, "Key": one["Key"]}
        bucket.client.copy_object(Bucket=bucket.name, Key=f"{where}/{name}", CopySource=source)
    return repository()


@pytest.fixture
def repository(bucket: Bucket, where: str, tmp_path: Path) -> Callable[..., Repository]:
    """The agent's repository; what is given differs from the usual."""

    def made(**changes: object) -> Repository:
        usual: dict[str, object] = {
            "url": f"s3:{bucket.url}/{bucket.name}/{where}",
            "host": where.partition("/")[2],
            "password": PASSWORD,
            "credentials": Credentials(bucket.key_id, bucket.secret_key),
            "work": tmp_path / "restic",
            "patience": SOON,
            "tidy": lambda: bucket.tidy_unfinished(where),
        }
        return Repository(**{**usual, **changes})  # type: ignore[arg-type]

    return made

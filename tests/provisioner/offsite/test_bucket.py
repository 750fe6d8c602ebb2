"""The bucket of a real store: links, uploads, deletion, and refusals in words."""

import socket
from pathlib import Path

import httpx
import pytest

from provisioner.offsite import errors
from provisioner.offsite.bucket import PART, Bucket
from tests.provisioner.offsite.conftest import bucket_of


@pytest.fixture
def note(tmp_path: Path) -> Path:
    (tmp_path / "note").write_text("codeword heron")
    return tmp_path / "note"


def test_making_it_again_changes_nothing(bucket: Bucket, note: Path, where: str) -> None:
    bucket.put(note, f"{where}/note")
    bucket.ensure()
    assert bucket.size_of(where) == len("codeword heron")
    assert bucket.trouble() is None


def test_deleting_an_agent_leaves_the_neighbour_whose_id_begins_alike(
    bucket: Bucket, note: Path, where: str
) -> None:
    begun = bucket.client.create_multipart_upload(Bucket=bucket.name, Key=f"{where}/part")
    for key in (f"{where}/a/b", f"{where}/c", f"{where}2/a", f"{where}-x"):
        bucket.put(note, key)

    assert bucket.delete_prefix(where) == 2

    assert (bucket.size_of(where), bucket.size_of(f"{where}2")) == (0, 14)
    assert bucket.delete_prefix(where) == 0
    assert begun["UploadId"] not in [one["UploadId"] for one in bucket._uploads("org_test/")]
    with pytest.raises(ValueError, match="whole bucket"):
        bucket.delete_prefix("/")


def test_earlier_versions_are_deleted_too(store: dict[str, str], note: Path) -> None:
    own = bucket_of(store, name="versioned")
    own.ensure()
    enabled = {"Status": "Enabled"}
    own.client.put_bucket_versioning(Bucket=own.name, VersioningConfiguration=enabled)
    for _ in range(3):
        own.put(note, "org/agt/note")
    own.client.delete_object(Bucket=own.name, Key="org/agt/note")

    assert (own.size_of("org/agt"), own.holds("org/agt")) == (0, True)
    assert own.delete_prefix("org/agt") == 4
    assert not own.holds("org/agt")
    assert own._versions("org/agt/") == []


def test_a_link_gives_the_file_under_its_name_and_ends(
    bucket: Bucket, note: Path, where: str
) -> None:
    bucket.put(note, f"{where}/note")
    name = 'work "é\r\nX: y.tar'

    got = httpx.get(bucket.presigned_get(f"{where}/note", 60, name), trust_env=False)

    assert got.text == "codeword heron"
    assert "%22%C3%A9%0D%0AX%3A%20y.tar" in got.headers["content-disposition"]
    tampered = bucket.presigned_get(f"{where}/other", 60, name).replace("other", "note")
    assert httpx.get(tampered, trust_env=False).status_code == 403


def test_a_link_leads_to_the_address_that_browsers_reach(store: dict[str, str]) -> None:
    own = bucket_of(store, public_url="https://files.example")
    assert own.presigned_get("a", 60, "a").startswith("https://files.example/roost/a?")


def test_a_large_upload_tells_its_progress_and_can_be_ended(
    bucket: Bucket, tmp_path: Path, where: str
) -> None:
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(2 * PART + 5)
    told: list[int] = []
    bucket.put(tmp_path / "large", f"{where}/large", told.append)
    assert told == sorted(told)
    assert told[-1] == bucket.size_of(where) == 2 * PART + 5

    def stop(sent: int) -> None:
        if sent > PART:
            raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        bucket.put(tmp_path / "large", f"{where}/ended", stop)
    assert bucket.size_of(where) == 2 * PART + 5
    assert list(bucket._uploads(f"{where}/")) == []


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ({"key_id": "unknown-key"}, errors.StoreRefused, "does not know the access key"),
        ({"secret_key": "not-the-one"}, errors.StoreRefused, "the secret key is wrong"),
        ({"name": "no-such-bucket"}, errors.StoreRefused, "no such bucket"),
        ({"url": "http://127.0.0.1:1"}, errors.StoreAway, "does not answer"),
    ],
)
def test_each_refusal_says_which(
    store: dict[str, str], changes: dict[str, str], error: type, why: str, note: Path
) -> None:
    own = bucket_of(store, **changes)
    found = own.trouble()

    assert isinstance(found, error)
    assert why in str(found)
    assert own.secret_key not in str(found)
    assert own.secret_key not in repr(own)
    with pytest.raises(error):
        own.put(note, "a/b")


def test_a_store_that_hangs_is_given_up(
    store: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provisioner.offsite.bucket.READ_S", 0.5)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert isinstance(bucket_of(store, url=url).trouble(), errors.StoreAway)


def test_folders_are_listed_one_level_at_a_time(bucket: Bucket, note: Path, where: str) -> None:
    for key in (f"{where}/one/a", f"{where}/one/b/c", f"{where}/two/a", f"{where}/file"):
        bucket.put(note, key)

    assert bucket.folders(where) == ["one", "two"]
    assert bucket.folders(f"{where}/nothing") == []
    assert where.partition("/")[0] in bucket.folders()

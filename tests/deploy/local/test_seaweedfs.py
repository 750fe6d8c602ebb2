"""The store as a test starts it: the same options the supervisor runs."""

import signal
from pathlib import Path

import httpx

from deploy.local import ports, processes
from deploy.local.services import backing_store
from provisioner.offsite.bucket import Bucket
from provisioner.offsite.errors import OffsiteError


def bucket_of(urls: dict[str, str]) -> Bucket:
    return Bucket(
        urls["S3_ENDPOINT_URL"], urls["S3_BUCKET"],
        urls["S3_ACCESS_KEY_ID"], urls["S3_SECRET_ACCESS_KEY"],
    )  # fmt: skip


def test_it_keeps_its_data_over_a_kill_and_shows_nothing_to_strangers(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("heron")
    with backing_store(tmp_path / "state") as first:
        bucket = bucket_of(first)
        bucket.put(tmp_path / "note", "org/agt/note")
        (server,) = processes.marked(tmp_path / "state")
        port = int(first["S3_ENDPOINT_URL"].rpartition(":")[2])
        for number in range(port, port + 9):
            listening = {one.address for one in ports.listeners(number, "127.0.0.1")}
            assert listening == {"127.0.0.1"}
        for number in (port, port + 6):  # S3 and the files below it
            answer = httpx.get(f"http://127.0.0.1:{number}/buckets/roost/org", trust_env=False)
            assert answer.status_code in {401, 403}
        assert (tmp_path / "state" / "seaweedfs").stat().st_mode & 0o777 == 0o700
        processes.send(server, signal.SIGKILL)
    with backing_store(tmp_path / "state") as second:
        assert bucket_of(second).size_of("org/agt") == 5


def test_what_is_no_key_of_ours_is_refused(store: dict[str, str]) -> None:
    wrong = {**store, "S3_SECRET_ACCESS_KEY": "wrong"}
    assert isinstance(bucket_of(wrong).trouble(), OffsiteError)

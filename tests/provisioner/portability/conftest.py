import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from django.utils.timezone import now

from controlplane.agents.models import Agent
from controlplane.portability.models import Import
from controlplane.snapshots.models import Snapshot
from provisioner.offsite import objects, place
from provisioner.portability.apart import unpack
from provisioner.snapshots import manifest
from provisioner.workspaces.fake import FakeClones
from tests.working import carried_out


def entry(name: str, data: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    """Of an archive: a file, unless `more` says otherwise."""
    made = tarfile.TarInfo(name)
    made.size = len(data)
    for key, value in more.items():
        setattr(made, key, value)
    return made, data


def tar_of(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for made, data in entries:
            tar.addfile(made, io.BytesIO(data))
    return buffer.getvalue()


def compressed(tar: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(tar)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """An agent's fresh folder, with something precious beside it."""
    (tmp_path / "precious").write_text("untouched")
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    os.chown(data, 10001, 10001)
    return data


@pytest.fixture
def taken(disk: Path) -> Callable[..., dict]:
    """Unpack these bytes as the node does: in the process apart."""

    def take(archive: bytes, disk_bytes: int = 64 * 1024**2, runtime: str = "hermes") -> dict:
        pieces = (archive[at : at + 65536] for at in range(0, len(archive), 65536))
        beside = {"openclaw": "from-openclaw"}
        return unpack(pieces, disk, disk_bytes=disk_bytes, runtime=runtime, beside=beside)

    return take


@pytest.fixture
def stored(settings, store: dict[str, str]) -> None:
    """This node has the store."""
    for name, value in store.items():
        setattr(settings, name, value)
    settings.ROOST_ARCHIVES = True
    place.bucket().ensure()


@pytest.fixture
def clones(backend, tmp_path: Path) -> FakeClones:
    backend.workspaces.clones.root = tmp_path / "clones"
    return backend.workspaces.clones


@pytest.fixture
def carry_out(backend):
    return lambda job: carried_out(job, backend)


@pytest.fixture
def snapshot(running: Agent, clones: FakeClones) -> Snapshot:
    """One that is done, of some files."""
    made = Snapshot.objects.create(
        agent=running, requested_by="Alice", release=1, disk_gib=5, status="done", on_node=True,
        taken_at=now(),
    )  # fmt: skip
    data = clones.root / made.pk / "data"
    data.mkdir(parents=True)
    (data / "a.txt").write_text("alpha")
    (data / "b.txt").write_text("beta")
    clones.kept[running.pk] = [made.pk]
    found = manifest.of(data)
    found.write(clones.manifest(running.pk, made.pk))
    made.manifest_sha256 = found.digest
    made.save()
    return made


@pytest.fixture
def uploaded(stored: None) -> Callable[[Import, bytes], None]:
    def put(found: Import, archive: bytes) -> None:
        key = place.import_key(found.organisation_id, found.pk)
        objects.put_stream(place.bucket(), io.BytesIO(archive), key)

    return put

import pytest

from provisioner.workspaces.fake import FakeClones
from tests.working import carried_out


@pytest.fixture
def clones(backend, tmp_path) -> FakeClones:
    backend.workspaces.clones.root = tmp_path
    return backend.workspaces.clones


@pytest.fixture
def carry_out(backend):
    return lambda job: carried_out(job, backend)


@pytest.fixture
def fill(tmp_path):
    """Give a copy a content."""

    def write(clone_id: str, text: str = "alpha") -> None:
        data = tmp_path / clone_id / "data"
        data.mkdir(parents=True)
        (data / "a.txt").write_text(text)

    return write

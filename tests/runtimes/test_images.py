"""What an image is called follows from what is in it, and from nothing else."""

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from runtimes import images
from runtimes.catalog import CATALOG, Runtime
from runtimes.images import Fetch, File, Image

DEBIAN = "roost/debian:bookworm-000000000000"
IMAGE = Image("roost/x", "1.0", "FROM a", (File("a", b"1"), File("b", b"2")), {"BASE": "b:1"}, True)


def test_the_base_comes_first_and_the_others_stand_on_it() -> None:
    base, *others = images.images(DEBIAN)
    assert base.args == {"DEBIAN": DEBIAN}
    assert [image.repository for image in others] == [r.image for r in CATALOG.values()]
    assert {image.args["BASE"] for image in others} == {base.reference}


def test_the_tag_is_version_and_hash() -> None:
    image = images.images(DEBIAN)[1]
    assert image.tag == f"{image.version}-{image.inputs[:12]}"
    assert image.labels == {"roost.inputs": image.inputs}


def test_the_same_inputs_give_the_same_tag() -> None:
    assert images.images(DEBIAN) == images.images(DEBIAN)
    assert replace(IMAGE, files=IMAGE.files[::-1]).inputs == IMAGE.inputs


@pytest.mark.parametrize(
    "other",
    [
        replace(IMAGE, repository="roost/y"),
        replace(IMAGE, version="1.1"),
        replace(IMAGE, dockerfile="FROM b"),
        replace(IMAGE, args={"BASE": "b:2"}),
        replace(IMAGE, files=(File("a", b"1"), File("b", b"3"))),
        replace(IMAGE, files=(File("a", b"1"), File("c", b"2"))),
        replace(IMAGE, files=(File("a", b"1"), File("b", b"2", 0o755))),
    ],
    ids=["name", "version", "dockerfile", "args", "content", "file name", "mode"],
)
def test_any_other_input_gives_another_tag(other: Image) -> None:
    assert other.inputs != IMAGE.inputs


def test_a_changed_base_changes_what_stands_on_it() -> None:
    first, second = images.images(DEBIAN), images.images("roost/debian:bookworm-1")
    assert all(one.tag != other.tag for one, other in zip(first, second, strict=True))


def test_how_things_are_fetched_does_not_change_the_tag() -> None:
    fetch = Fetch(index_url="http://user:word@mirror/simple", extra_ca=b"PEM")
    behind_a_mirror = replace(IMAGE, fetched_with=fetch)
    assert behind_a_mirror.inputs == IMAGE.inputs
    assert behind_a_mirror.build_args == {"BASE": "b:1", "PIP_INDEX_URL": fetch.index_url}
    assert File("extra-ca.crt", b"PEM") in behind_a_mirror.context
    assert "word" not in repr(behind_a_mirror)


def test_a_build_without_network_is_told_nothing_of_it() -> None:
    offline = replace(IMAGE, network=False, fetched_with=Fetch("http://m/simple", "", b"PEM"))
    assert offline.build_args == {"BASE": "b:1"}
    assert "extra-ca.crt" not in [file.name for file in offline.context]


def test_the_context_holds_every_file_the_dockerfile_copies() -> None:
    for image in images.images(DEBIAN):
        files = [Path(file.name) for file in image.context]
        names = {str(part) for file in files for part in (file, *file.parents)}
        copies = [line for line in image.dockerfile.splitlines() if line.startswith("COPY ")]
        wanted = [line.split()[1:-1] for line in copies if "--from" not in line]
        assert {name for line in wanted for name in line} <= names


@pytest.mark.parametrize("runtime", CATALOG.values(), ids=CATALOG)
def test_every_image_has_the_module_and_the_command_for_checkpoints(runtime: Runtime) -> None:
    image = images.runtime_image(runtime, "roost/base:1")
    final = image.dockerfile.rpartition("FROM ")[2].splitlines()
    files = {file.name: file.mode for file in image.files}

    assert "COPY roost_state.py /usr/lib/python3/dist-packages/roost_state.py" in final
    assert "COPY roost_state.py /usr/local/bin/roost-state" in final
    assert final[-1].startswith("COPY roost_state.py")
    assert files["roost_state.py"] == 0o755


@pytest.mark.parametrize("runtime", CATALOG.values(), ids=CATALOG)
def test_an_own_python_of_an_image_has_the_module_too(runtime: Runtime) -> None:
    """Where it stands first in PATH, it is the `python3` that the agent's programs run with."""
    image = images.runtime_image(runtime, "roost/base:1")
    ours = f"/opt/{runtime.slug}/lib/python3.11/site-packages/roost_state.py"
    has_own = f"python3 -m venv /opt/{runtime.slug}\n" in image.dockerfile.replace(" \\", "")

    assert (f"COPY roost_state.py {ours}" in image.dockerfile) == has_own


def test_the_base_stays_as_it_is_when_checkpoints_change() -> None:
    assert "roost_state.py" not in [file.name for file in images.base_image(DEBIAN).files]


def test_the_context_as_a_tar_is_the_same_every_time() -> None:
    first = IMAGE.context_tar()
    assert first == IMAGE.context_tar()
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        assert archive.getnames() == ["Dockerfile", "a", "b", "extra-ca.crt"]
        assert {entry.mtime for entry in archive} == {0}

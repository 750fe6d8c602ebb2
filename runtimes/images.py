"""What each image is built from, as plain data: no engine here.

The tag of an image is the hash of everything that decides what is in it, so an image that exists
under its tag needs no build. How things are fetched (mirror, certificates) is not among that: two
machines behind different mirrors build, and name, the same image.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from runtimes.catalog import CATALOG, Runtime

HERE = Path(__file__).parent
SHORT = 12
BASE = "roost/base"
# Copied last by every runtime's Dockerfile, not by the base: what is fetched for a runtime stands
# on the base, and would be fetched anew whenever this changes. Executable: it is a command too.
STATE = "roost_state.py"
INPUTS_LABEL = "roost.inputs"


@dataclass(frozen=True)
class File:
    """One file of a build context."""

    name: str
    data: bytes = field(repr=False)
    mode: int = 0o644


@dataclass(frozen=True)
class Fetch:
    """How a build stage reaches package indexes; nothing of it stays in the final image.

    An index URL may hold credentials, so neither it nor the certificates are ever shown.
    """

    index_url: str = field(default="", repr=False)
    extra_index_url: str = field(default="", repr=False)
    npm_registry: str = field(default="", repr=False)
    extra_ca: bytes = field(default=b"", repr=False)

    @property
    def build_args(self) -> dict[str, str]:
        args = {
            "PIP_INDEX_URL": self.index_url,
            "PIP_EXTRA_INDEX_URL": self.extra_index_url,
            "NPM_CONFIG_REGISTRY": self.npm_registry,
        }
        return {name: value for name, value in args.items() if value}


@dataclass(frozen=True)
class Image:
    """One build: `files` and `args` decide the tag, `fetched_with` does not."""

    repository: str
    version: str
    dockerfile: str = field(repr=False)
    files: tuple[File, ...]
    args: Mapping[str, str]
    network: bool = False
    fetched_with: Fetch = Fetch()

    @cached_property
    def inputs(self) -> str:
        """Hash of all that decides the content, in hex; also the image's `roost.inputs` label."""
        digest = hashlib.sha256()
        named = [
            [file.name, file.mode, hashlib.sha256(file.data).hexdigest()] for file in self.files
        ]
        told = [self.repository, self.version, self.dockerfile, sorted(named), dict(self.args)]
        digest.update(json.dumps(told, sort_keys=True).encode())
        return digest.hexdigest()

    @property
    def tag(self) -> str:
        return f"{self.version}-{self.inputs[:SHORT]}"

    @property
    def reference(self) -> str:
        return f"{self.repository}:{self.tag}"

    @property
    def labels(self) -> dict[str, str]:
        return {INPUTS_LABEL: self.inputs}

    @property
    def build_args(self) -> dict[str, str]:
        return {**self.args, **(self.fetched_with.build_args if self.network else {})}

    @property
    def context(self) -> tuple[File, ...]:
        """Every file of the build context, the Dockerfile among them."""
        extra = (File("extra-ca.crt", self.fetched_with.extra_ca),) if self.network else ()
        return (File("Dockerfile", self.dockerfile.encode()), *self.files, *extra)

    def context_tar(self) -> bytes:
        """The context as an uncompressed tar, the same bytes every time."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for file in self.context:
                entry = tarfile.TarInfo(file.name)
                entry.size, entry.mode = len(file.data), file.mode
                archive.addfile(entry, io.BytesIO(file.data))
        return buffer.getvalue()


def base_image(debian: str) -> Image:
    """The base on top of `debian`, the reference of the imported root file system."""
    return Image(
        repository=BASE,
        version="bookworm",
        dockerfile=(HERE / "base" / "Dockerfile").read_text(),
        files=(File("boot.py", (HERE / "base" / "boot.py").read_bytes()),),
        args={"DEBIAN": debian},
    )


def runtime_image(runtime: Runtime, base: str, fetch: Fetch = Fetch()) -> Image:
    """The image of one runtime on top of `base`, a reference."""
    folder = runtime.folder
    return Image(
        repository=runtime.image,
        version=runtime.version,
        dockerfile=(folder / "Dockerfile").read_text(),
        files=(
            *(File(name, (folder / name).read_bytes()) for name in runtime.build.files),
            File(STATE, (HERE / "base" / STATE).read_bytes(), 0o755),
        ),
        args={"BASE": base, "VERSION": runtime.version},
        network=runtime.build.network,
        fetched_with=fetch,
    )


def images(
    debian: str, fetch: Fetch = Fetch(), runtimes: Iterable[Runtime] | None = None
) -> tuple[Image, ...]:
    """Every image in the order in which they must be built: the base first."""
    base = base_image(debian)
    chosen = CATALOG.values() if runtimes is None else runtimes
    return (base, *(runtime_image(runtime, base.reference, fetch) for runtime in chosen))

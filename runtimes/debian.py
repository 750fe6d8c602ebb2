"""The root file system all images stand on, made from Debian's archive by mmdebstrap: no registry.

The name of the imported image comes from this recipe alone (`REFERENCE`), not from the bytes: the
archive moves with every security update. Delete the cached tarball (and the image) to take a newer
one in; raise EDITION to make every installation do so.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SUITE = "bookworm"
EDITION = 1
# python3-venv lets a runtime's build stage (and an agent) make a virtual environment without apt.
PACKAGES = ("ca-certificates", "git", "procps", "python3", "python3-venv", "ripgrep")
LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")
# How this host reaches the archive must not travel in an image: a mirror or proxy can name a
# private machine or hold a password.
FORGET = 'rm -f "$1/etc/apt/sources.list" "$1/etc/apt/apt.conf.d/99mmdebstrap"'
OPTIONS = (
    "--variant=minbase",
    "--format=tar",
    f"--include={','.join(PACKAGES)}",
    *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    f"--customize-hook={FORGET}",
)
INPUTS = hashlib.sha256(json.dumps([SUITE, EDITION, OPTIONS]).encode()).hexdigest()
REPOSITORY = "roost/debian"
TAG = f"{SUITE}-{INPUTS[:12]}"
REFERENCE = f"{REPOSITORY}:{TAG}"
# Host settings for reaching the archive, by the end or the start of their name.
CARRIED = ("Acquire::http", "Acquire::https", "Acquire::Retries")

Say = Callable[[str], None]


class ImageBuildError(Exception):
    """A root file system or an image could not be built; the message says why and what to do."""


def build_rootfs(target: Path, say: Say) -> Path:
    """Make the tarball at `target` unless it is there; every line of progress goes to `say`.

    Root is not needed where the kernel lets users make namespaces. Leaves no half-made tarball.
    """
    if target.exists():
        return target
    program = shutil.which("mmdebstrap")
    if program is None:
        raise ImageBuildError("mmdebstrap is missing; install it: apt-get install mmdebstrap")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with apt_settings() as settings:
            run([program, *command(part, settings)], say)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def command(target: Path, settings: Path) -> list[str]:
    """mmdebstrap's arguments, with this host's mirrors where it has some for the suite."""
    mode = "root" if os.geteuid() == 0 else "unshare"
    fixed = [f"--mode={mode}", *OPTIONS, f"--aptopt={settings}", SUITE, str(target)]
    return [*fixed, *host_mirrors()]


def host_mirrors() -> list[str]:
    """The host's own sources of this suite as one-line entries; none on another distribution.

    Indexes of others' archives (a vendor's repository) are not Debian's and are left out.
    """
    fields = "$(CREATED_BY) $(ORIGIN) $(CODENAME) $(REPO_URI) $(COMPONENT)"
    lines = ask(["apt-get", "indextargets", "--format", fields]).splitlines()
    found: dict[tuple[str, str], set[str]] = {}
    for created_by, origin, codename, uri, component in (
        line.split() for line in lines if len(line.split()) == 5
    ):
        if (created_by, origin) == ("Packages", "Debian") and codename.split("-")[0] == SUITE:
            found.setdefault((uri, codename), set()).add(component)
    if not any(codename == SUITE for _, codename in found):
        return []
    return [f"deb {uri} {name} {' '.join(sorted(parts))}" for (uri, name), parts in found.items()]


@contextmanager
def apt_settings() -> Iterator[Path]:
    """The host's proxies and certificates for apt, in a file: argv would show a password."""
    dump = ask(["apt-config", "dump"]).splitlines()
    carried = [line for line in dump if line.startswith(CARRIED) and not line.endswith(' "";')]
    with tempfile.NamedTemporaryFile("w", prefix="roost-apt-", suffix=".conf") as file:
        file.write("\n".join(['APT::Install-Recommends "false";', *carried]) + "\n")
        file.flush()
        yield Path(file.name)


def ask(argv: list[str]) -> str:
    """What a program of the host's apt prints; nothing where there is no apt."""
    try:
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def run(argv: list[str], say: Say) -> None:
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        last = ""
        for line in process.stdout or ():
            last = line.strip() or last
            say(line.rstrip())
    if process.returncode:
        raise ImageBuildError(
            f"mmdebstrap ended with {process.returncode}: {last}. "
            "Check that this machine reaches a Debian archive (apt-get update), then try again."
        )

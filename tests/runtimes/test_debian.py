"""Making the root file system, with a stand-in for mmdebstrap on the path."""

import os
import re
from pathlib import Path

import pytest

from runtimes import debian


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    program(folder, "apt-get", "")
    program(folder, "apt-config", "")
    return folder


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def write_target(then: str = "") -> str:
    """A program that writes "rootfs" to the argument after the suite."""
    return f'while [ "$1" != bookworm ]; do shift; done; echo rootfs > "$2"; {then}'


def test_the_tarball_is_made_and_progress_is_told(tools: Path, tmp_path: Path) -> None:
    said: list[str] = []
    program(tools, "mmdebstrap", write_target("echo I: success >&2"))
    target = debian.build_rootfs(tmp_path / "cache" / "rootfs.tar", said.append)
    assert target.read_text() == "rootfs\n"
    assert said == ["I: success"]


def test_a_tarball_that_is_there_is_not_made_again(tools: Path, tmp_path: Path) -> None:
    target = tmp_path / "rootfs.tar"
    target.write_text("old")
    program(tools, "mmdebstrap", "exit 1")
    assert debian.build_rootfs(target, print).read_text() == "old"


def test_a_failure_tells_the_last_line_and_leaves_nothing(tools: Path, tmp_path: Path) -> None:
    program(tools, "mmdebstrap", write_target("echo E: no such mirror; exit 25"))
    cache = tmp_path / "cache"
    with pytest.raises(debian.ImageBuildError, match=r"25: E: no such mirror.*apt-get update"):
        debian.build_rootfs(cache / "rootfs.tar", lambda line: None)
    assert list(cache.iterdir()) == []


def test_a_missing_mmdebstrap_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(debian.ImageBuildError, match="apt-get install mmdebstrap"):
        debian.build_rootfs(tmp_path / "rootfs.tar", print)


def test_the_hosts_mirrors_of_the_suite_are_used_and_no_others(tools: Path) -> None:
    lines = [
        "Packages Debian bookworm http://mirror/debian/ main",
        "Packages Debian bookworm http://mirror/debian/ contrib",
        "Packages Debian bookworm-security http://mirror/security/ main",
        "Sources Debian bookworm http://mirror/debian/ main",
        "Packages Debian trixie http://mirror/debian/ main",
        "Packages Vendor bookworm http://vendor/ main",
    ]
    program(tools, "apt-get", "\n".join(f"echo '{line}'" for line in lines))
    assert debian.host_mirrors() == [
        "deb http://mirror/debian/ bookworm contrib main",
        "deb http://mirror/security/ bookworm-security main",
    ]


def test_a_host_of_another_suite_leaves_the_mirror_to_mmdebstrap(tools: Path) -> None:
    program(tools, "apt-get", "echo Packages Debian trixie http://mirror/debian/ main")
    assert debian.host_mirrors() == []


def test_the_hosts_proxy_goes_by_file_and_not_by_argument(tools: Path, tmp_path: Path) -> None:
    program(
        tools,
        "apt-config",
        "echo 'Acquire::http::Proxy \"http://u:word@p\";'; echo 'APT::Other \"1\";'",
    )
    seen = tmp_path / "seen"
    body = f'echo "$@" > {seen}; for a; do case $a in --aptopt=*) cat "${{a#*=}}" >> {seen}; esac; '
    program(tools, "mmdebstrap", body + f"done; {write_target()}")
    debian.build_rootfs(tmp_path / "rootfs.tar", print)
    arguments, *settings = seen.read_text().splitlines()
    assert "word" not in arguments
    assert 'Acquire::http::Proxy "http://u:word@p";' in settings
    assert not any("Other" in line for line in settings)


def test_nothing_of_the_hosts_mirror_stays_in_the_image() -> None:
    hook = next(option for option in debian.OPTIONS if option.startswith("--customize-hook"))
    assert "etc/apt/sources.list" in hook
    assert "99mmdebstrap" in hook


def test_users_without_root_use_a_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert debian.command(tmp_path, tmp_path)[0] == "--mode=unshare"


def test_the_name_follows_from_the_recipe() -> None:
    assert re.fullmatch(r"roost/debian:bookworm-[0-9a-f]{12}", debian.REFERENCE)

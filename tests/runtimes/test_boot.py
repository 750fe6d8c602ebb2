"""The boot shim, run as the image runs it: an isolated Python of its own, with fake roots."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import boot

SHIM = Path(boot.__file__)
START = """
import importlib.util, json, pathlib, sys
spec = importlib.util.spec_from_file_location("boot", sys.argv[1])
boot = importlib.util.module_from_spec(spec)
spec.loader.exec_module(boot)
paths = [pathlib.Path(p) for p in sys.argv[2:8]]
sys.exit(boot.main(boot.Place(*paths, int(sys.argv[8]))))
"""
# A runtime that tells what it was given, and its hook.
TELL = "import os,json; print(json.dumps({k: v.hex() for k, v in sorted((os.fsdecode(k), v) "
TELL += "for k, v in os.environb.items())} | {'umask': os.umask(0)}))"
HOOK = f"""
import sys
def render(settings, keys, run):
    (run / "seen").write_text(settings["model"] + keys["gateway"])
    return [sys.executable, "-c", {TELL!r}], {{"EXTRA": "yes"}}
"""
IDENTITY = {"agent": "agt_a", "workspace": "ws_a", "format": 1}
KEYS: dict[str, Any] = {"gateway": "g" * 20, "provider_key": None, "secrets": {}}


@dataclass
class Container:
    """Fake roots; a test breaks one thing, then starts."""

    at: Path
    owner: int = field(default_factory=os.getuid)
    root: Path = Path("/proc")
    identity: Path = field(init=False)
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("workspace", "id", "keys", "run"):
            (self.at / name).mkdir(mode=0o700)
        self.identity = self.at / "id" / "workspace.json"
        self.write_identity(IDENTITY)
        self.write_keys(KEYS)
        (self.at / "runtime.py").write_text(HOOK)
        self.env = {
            "ROOST_AGENT": "agt_a",
            "ROOST_WORKSPACE": "ws_a",
            "ROOST_RELEASE": "1",
            "ROOST_SETTINGS": json.dumps({"provider": "custom", "model": "m"}),
            "HOME": "/workspace",
        }

    def write_identity(self, identity: Any) -> None:
        self.identity.unlink(missing_ok=True)
        self.identity.write_text(json.dumps(identity))
        self.identity.chmod(0o444)

    def write_keys(self, keys: Any) -> None:
        (self.at / "keys" / "keys.json").write_text(json.dumps(keys))

    def start(self) -> subprocess.CompletedProcess[str]:
        places = [
            self.at / "workspace",
            self.identity,
            self.at / "keys" / "keys.json",
            self.at / "run",
            self.at / "runtime.py",
            self.root,
            self.owner,
        ]
        argv = [sys.executable, "-I", "-S", "-c", START, SHIM, *places]
        return subprocess.run(
            [str(part) for part in argv], env=self.env, text=True, capture_output=True, check=False
        )

    def told(self) -> dict[str, Any]:
        """The environment the runtime got, values in hex."""
        done = self.start()
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def refused(self) -> str:
        """The code of the refusal; asserts its form and that the runtime never ran."""
        done = self.start()
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        refusal = json.loads(line)
        assert refusal["roost"] == "boot"
        assert refusal["message"]
        # What no waiting can mend ends otherwise than what the node is still to bring.
        assert done.returncode == (64 if refusal["code"] == "settings_invalid" else 78)
        late = refusal["code"] in {"image_unfit", "workspace_full"}  # told after the hook ran
        assert late or not (self.at / "run" / "seen").exists()
        return str(refusal["code"])


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder on another file system."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_a_good_container_becomes_its_runtime(container: Container) -> None:
    told = container.told()
    assert bytes.fromhex(told["EXTRA"]) == b"yes"
    assert (container.at / "run" / "seen").read_text() == "m" + "g" * 20
    assert told["umask"] == 0o077


def test_our_own_variables_are_gone(container: Container) -> None:
    container.env["ROOST_WORKSPACE_KIND"] = "loop"
    assert not [name for name in container.told() if name.startswith("ROOST_")]


@pytest.mark.parametrize(
    "value",
    [
        "a $HOME ${HOME} $(id) `id`",
        "it's \"quoted\" \\ 'twice'",
        "value # no comment",
        json.dumps({"a": [1, "ü", "\n"]}),
        "one\ntwo\r\n\nthree\t ",
        "grüße 日本 🐣 \u2028",
        "",
        "k" * 32 * 1024,
    ],
    ids=["dollar", "quotes", "hash", "json", "newlines", "unicode", "empty", "32 KiB"],
)
def test_a_secret_arrives_byte_for_byte(container: Container, value: str) -> None:
    container.write_keys({**KEYS, "secrets": {"MY_SECRET": value}})
    assert bytes.fromhex(container.told()["MY_SECRET"]) == value.encode()


def test_a_secret_cannot_move_the_runtime_off_its_workspace(container: Container) -> None:
    container.write_keys({**KEYS, "secrets": {"HOME": "/tmp", "EXTRA": "no"}})
    told = container.told()
    assert bytes.fromhex(told["HOME"]) == b"/workspace"
    assert bytes.fromhex(told["EXTRA"]) == b"yes"


def remove_identity(container: Container) -> None:
    container.identity.unlink()


def link_identity(container: Container) -> None:
    real = container.identity.rename(container.at / "id" / "real.json")
    container.identity.symlink_to(real)


def foreign_owner(container: Container) -> None:
    container.owner += 1


def not_its_own_disk(container: Container) -> None:
    container.root = container.at


def not_the_agents(container: Container) -> None:
    os.chown(container.at / "workspace", 10001, 10001)


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives things away, and mounts")


def set_mode(mode: int) -> Callable[[Container], None]:
    return lambda container: container.identity.chmod(mode)


def set_identity(identity: Any) -> Callable[[Container], None]:
    return lambda container: container.write_identity(identity)


def set_keys(keys: Any) -> Callable[[Container], None]:
    return lambda container: container.write_keys(keys)


def set_env(name: str, value: str) -> Callable[[Container], None]:
    return lambda container: container.env.__setitem__(name, value)


@pytest.mark.parametrize(
    ("breakage", "code"),
    [
        (remove_identity, "workspace_missing"),
        (link_identity, "workspace_foreign"),
        (foreign_owner, "workspace_foreign"),
        (set_mode(0o464), "workspace_foreign"),
        (set_mode(0o446), "workspace_foreign"),
        (set_identity(["agt_a"]), "workspace_foreign"),
        (set_identity({**IDENTITY, "agent": "agt_b"}), "workspace_foreign"),
        (set_identity({**IDENTITY, "workspace": "ws_b"}), "workspace_foreign"),
        (set_identity({**IDENTITY, "format": 2}), "workspace_foreign"),
        (set_env("ROOST_AGENT", ""), "workspace_foreign"),
        (not_its_own_disk, "workspace_missing"),
        pytest.param(not_the_agents, "workspace_unwritable", marks=AS_ROOT),
        (lambda c: (c.at / "keys" / "keys.json").unlink(), "keys_missing"),
        (lambda c: (c.at / "keys" / "keys.json").write_text("{"), "keys_missing"),
        (set_keys([]), "keys_missing"),
        (set_keys({"provider_key": "k"}), "keys_missing"),
        (set_keys({**KEYS, "provider_key": 1}), "keys_missing"),
        (set_keys({**KEYS, "secrets": []}), "keys_missing"),
        (set_keys({**KEYS, "secrets": {"A=B": "c"}}), "settings_invalid"),
        (set_keys({**KEYS, "secrets": {"A": "b\0c"}}), "settings_invalid"),
        (set_keys({**KEYS, "secrets": {"A": 1}}), "settings_invalid"),
        (set_env("ROOST_SETTINGS", "{"), "settings_invalid"),
        (set_env("ROOST_SETTINGS", "[]"), "settings_invalid"),
        (set_env("ROOST_SETTINGS", "{}"), "settings_invalid"),
    ],
)
def test_it_never_boots_blank(
    container: Container, breakage: Callable[[Container], object], code: str
) -> None:
    breakage(container)
    assert container.refused() == code


def test_an_identity_on_another_disk_is_a_half_mounted_workspace(
    container: Container, elsewhere: Path
) -> None:
    container.identity = elsewhere / "workspace.json"
    container.write_identity(IDENTITY)
    assert container.refused() == "workspace_missing"


def test_a_runtime_that_is_not_there_is_told(container: Container) -> None:
    hook = HOOK.replace("[sys.executable,", "['/opt/none/agent',")
    (container.at / "runtime.py").write_text(hook)
    assert container.refused() == "image_unfit"


def hook_that(does: str) -> str:
    return HOOK.replace("(run /", f"{does}; (run /").replace("import sys", "import os, sys")


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("raise ValueError('no such provider')", "settings_invalid"),
        ("raise OSError(13, 'Permission denied', '{at}/workspace/.x/y')", "workspace_unwritable"),
        ("raise FileExistsError(17, 'File exists', '{at}/workspace/.x')", "workspace_unwritable"),
        ("raise OSError(28, 'No space left on device', '{at}/run/config')", "config_unwritable"),
        ("raise OSError(28, 'No space left on device')", "config_unwritable"),
    ],
)
def test_what_a_disk_did_is_not_put_on_the_settings(
    container: Container, does: str, code: str
) -> None:
    hook = hook_that(does.format(at=container.at))
    (container.at / "runtime.py").write_text(hook)
    assert container.refused() == code


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Container]:
    """All of it on a disk of 1 MiB, which is full."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], check=True)
    try:
        container = Container(tmp_path)
        with pytest.raises(OSError, match="No space left"):
            (tmp_path / "workspace" / "scrap").write_bytes(bytes(2 << 20))
        yield container
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@AS_ROOT
def test_a_full_disk_is_told_as_such(small: Container) -> None:
    assert small.refused() == "workspace_full"


@AS_ROOT
def test_so_it_is_where_the_hook_writes_nothing(small: Container) -> None:
    hook = HOOK.replace('(run / "seen")', '__import__("pathlib").Path("/dev/null")')
    os.truncate(small.at / "workspace" / "scrap", 64)
    (small.at / "runtime.py").write_text(hook)
    with pytest.raises(OSError, match="No space left"):
        (small.at / "workspace" / "scrap").write_bytes(bytes(2 << 20))
    assert small.refused() == "workspace_full"


@AS_ROOT
def test_a_hook_may_make_room_first(small: Container) -> None:
    scrap = small.at / "workspace" / "scrap"
    scrap.unlink()
    (small.at / "runtime.py").write_text(hook_that(f"os.unlink({str(scrap)!r})"))
    with pytest.raises(OSError, match="No space left"):
        scrap.write_bytes(bytes(2 << 20))
    assert bytes.fromhex(small.told()["EXTRA"]) == b"yes"


def test_the_check_for_room_leaves_nothing(container: Container) -> None:
    container.told()
    assert list((container.at / "workspace").iterdir()) == []


def test_a_workspace_its_agent_closed_is_opened_again(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = container.at / "workspace"
    workspace.chmod(0o500)
    # Root may write anywhere; what the mode says is what counts for an agent.
    monkeypatch.setattr(os, "access", lambda path, how: Path(path).stat().st_mode & 0o700 == 0o700)
    boot.check_writable(boot.Place(workspace=workspace))
    assert workspace.stat().st_mode & 0o777 == 0o700


def test_a_refusal_does_not_quote_the_keys(container: Container) -> None:
    container.write_keys({**KEYS, "provider_key": ["sk-secret"], "secrets": {"A": "sk-secret"}})
    assert "sk-secret" not in container.start().stderr


def test_what_went_wrong_first_is_what_is_told(container: Container) -> None:
    container.env["ROOST_SETTINGS"] = "{"
    (container.at / "keys" / "keys.json").unlink()
    not_the_agents(container)
    remove_identity(container)
    assert container.refused() == "workspace_missing"


def test_a_plain_workspace_needs_no_disk_of_its_own(
    container: Container, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container.identity = elsewhere / "workspace.json"
    container.write_identity(IDENTITY)
    place = boot.Place(workspace=container.at, identity=container.identity, root=Path("/proc"))
    boot.check_device(place, plain=True)
    with pytest.raises(boot.Refused, match="not the workspace's own disk"):
        boot.check_device(place, plain=False)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 10001)
    assert boot.read_identity(place, plain=True) == IDENTITY


def test_a_plain_workspace_refuses_an_identity_the_agent_could_have_written(
    container: Container,
) -> None:
    container.env["ROOST_WORKSPACE_KIND"] = "plain"
    assert container.refused() == "workspace_foreign"


def test_a_plain_workspace_that_is_the_images_own_folder_is_missing(container: Container) -> None:
    place = boot.Place(workspace=container.at, identity=container.identity, root=container.at)
    with pytest.raises(boot.Refused, match="not the workspace's own disk"):
        boot.check_device(place, plain=True)

"""The first program of every agent's container: check, render, drop, exec. Standard library only.

It runs as `python3 -I -S` under the engine's init, so nothing in the workspace can be imported.
An agent never boots blank: whatever is not exactly right ends in one JSON line on stderr and exit
code 78, and the engine tries again until the node has mounted the workspace and brought the keys.
Settings that no waiting can mend end with 64, and the node stops trying. A disk is not settings:
one that is full or cannot be written to has codes of its own, so that people mend what is wrong.
"""

import errno
import importlib.util
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

REFUSED, UNFIT = 78, 64
FORMAT = 1
ROOM = 64 * 1024  # bytes; with less no runtime gets as far as saying why it ends
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


class Place(NamedTuple):
    """Where things lie in the container; tests give other places."""

    workspace: Path = Path("/workspace")
    identity: Path = Path("/roost/id/workspace.json")
    keys: Path = Path("/roost/keys/keys.json")
    run: Path = Path("/run/agent")
    runtime: Path = Path("/opt/roost/runtime.py")
    root: Path = Path("/")
    owner: int = 0


class Refused(Exception):
    """The agent must not start; `code` is stable, `message` says what is wrong and who mends it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def read_identity(place: Place, *, plain: bool) -> dict[str, Any]:
    """The workspace's identity, written by the node; the agent must not be able to forge it."""
    try:
        handle = os.open(place.identity, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refused("workspace_missing", "The workspace is not mounted (no identity).") from None
    except OSError as error:
        raise Refused("workspace_foreign", f"The identity cannot be trusted: {error}.") from None
    with os.fdopen(handle, encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        # Without root on the node the file is the node user's own: then only "not mine" can hold.
        owned = status.st_uid != os.geteuid() if plain else status.st_uid == place.owner
        if not stat.S_ISREG(status.st_mode) or not owned or status.st_mode & 0o022:
            raise Refused("workspace_foreign", "The identity was not written by the node.")
        try:
            identity = json.load(file)
        except ValueError:
            raise Refused("workspace_foreign", "The identity is not valid JSON.") from None
    if not isinstance(identity, dict):
        raise Refused("workspace_foreign", "The identity is not a JSON object.")
    return identity


def check_device(place: Place, *, plain: bool) -> None:
    """A half-mounted workspace (identity without disk, or the image's own folder) is no workspace.

    A plain workspace has no file system of its own, so there only the image's folder is told apart.
    """
    try:
        device = place.workspace.stat().st_dev
        expected = device if plain else place.identity.stat().st_dev
        mounted = device == expected and device != place.root.stat().st_dev
    except OSError:
        mounted = False
    if not mounted:
        raise Refused("workspace_missing", f"{place.workspace} is not the workspace's own disk.")


def check_writable(place: Place) -> None:
    """Its own folder, and not closed: an agent that closed it against itself gets it open again."""
    status = place.workspace.stat()
    if status.st_uid == os.geteuid() and not may_write(place.workspace):
        os.chmod(place.workspace, stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
    if status.st_uid != os.geteuid() or not may_write(place.workspace):
        raise Refused("workspace_unwritable", f"The agent cannot write to {place.workspace}.")


def may_write(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def check_room(place: Place) -> None:
    """After the hook, which may have made room; the file has no name, so nothing can stay."""
    try:
        with tempfile.TemporaryFile(dir=place.workspace, buffering=0) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        if error.errno in NO_ROOM:
            raise Refused("workspace_full", f"{place.workspace} is full.") from None
        message = f"Nothing can be written to {place.workspace}: {error.strerror}."
        raise Refused("workspace_unwritable", message) from None


def unwritten(place: Place, error: OSError) -> Refused:
    """What kept the hook from writing; a write that found no room does not tell where."""
    try:
        check_room(place)
    except Refused as refusal:
        return refusal
    if place.workspace in Path(str(error.filename)).parents:
        return Refused("workspace_unwritable", f"The workspace cannot be made ready: {error}.")
    return Refused("config_unwritable", f"The config cannot be written: {error}.")


def check_identity(identity: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    if identity.get("format") != FORMAT:
        raise Refused("workspace_foreign", f"Unknown identity format {identity.get('format')!r}.")
    for name, variable in (("agent", "ROOST_AGENT"), ("workspace", "ROOST_WORKSPACE")):
        expected, found = environ.get(variable), identity.get(name)
        if not expected or expected != found:
            raise Refused(
                "workspace_foreign",
                f"The workspace is of {name} {found!r}, the container is for {expected!r}.",
            )


def read_keys(place: Place) -> dict[str, Any]:
    """The keys the node laid into its tmpfs. No message quotes what the file holds."""
    try:
        keys = json.loads(place.keys.read_bytes())
    except OSError as error:
        raise Refused("keys_missing", f"The keys are not there yet: {error.strerror}.") from None
    except ValueError:
        raise Refused("keys_missing", "The keys file is not valid JSON.") from None
    if not isinstance(keys, dict) or not isinstance(keys.get("gateway"), str):
        raise Refused("keys_missing", "The keys file has no gateway key.")
    if not isinstance(keys.setdefault("provider_key", None), str | None):
        raise Refused("keys_missing", "The provider key in the keys file is not text.")
    if not isinstance(keys.setdefault("own", {}), dict):
        raise Refused("keys_missing", "The agent's own secrets in the keys file are not an object.")
    check_secrets(keys.setdefault("secrets", {}))
    return keys


def check_secrets(secrets: Any) -> None:
    if not isinstance(secrets, dict):
        raise Refused("keys_missing", "The secrets in the keys file are not an object.")
    for name, value in secrets.items():
        if not name or "=" in name or "\0" in name:
            raise Refused("settings_invalid", f"A secret cannot be named {name!r}.")
        if not isinstance(value, str) or "\0" in value:
            raise Refused("settings_invalid", f"The secret {name} cannot be an environment value.")


def read_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        settings = json.loads(environ.get("ROOST_SETTINGS", ""))
    except ValueError:
        raise Refused("settings_invalid", "ROOST_SETTINGS is not valid JSON.") from None
    if not isinstance(settings, dict):
        raise Refused("settings_invalid", "ROOST_SETTINGS is not a JSON object.")
    return settings


def load_runtime(path: Path) -> ModuleType:
    """The image's own hook. Loaded by path: isolated mode has no import path to it."""
    spec = importlib.util.spec_from_file_location("runtime", path)
    if spec is None or spec.loader is None:
        raise Refused("image_unfit", f"The image has no hook at {path}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepare(place: Place, environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Every check in order, then the runtime's command line and its environment."""
    plain = environ.get("ROOST_WORKSPACE_KIND") == "plain"
    identity = read_identity(place, plain=plain)
    check_device(place, plain=plain)
    check_writable(place)
    check_identity(identity, environ)
    keys = read_keys(place)
    settings = read_settings(environ)
    try:
        argv, extra = load_runtime(place.runtime).render(settings, keys, place.run)
    except (KeyError, TypeError, ValueError) as error:
        raise Refused("settings_invalid", f"The settings do not fit: {error}.") from None
    except OSError as error:
        raise unwritten(place, error) from None
    check_room(place)
    kept = {name: value for name, value in environ.items() if not name.startswith("ROOST_")}
    # In this order: a secret named PATH or HOME must not move the runtime off its workspace.
    return argv, {**keys["secrets"], **kept, **extra}


Execute = Callable[[str, list[str], dict[str, str]], None]


def main(
    place: Place | None = None,
    environ: Mapping[str, str] = os.environ,
    execute: Execute = os.execve,
) -> int:
    """Become the runtime, or say in one line why not; returns only in the second case."""
    os.umask(0o077)
    try:
        argv, environment = prepare(place or Place(), environ)
        try:
            execute(argv[0], argv, environment)
        except OSError as error:
            # Too long together are only its secrets and settings; all else is the image's.
            code = "settings_invalid" if error.errno == errno.E2BIG else "image_unfit"
            raise Refused(code, f"{argv[0]} cannot start: {error.strerror}.") from None
    except Refused as refusal:
        line = {"roost": "boot", "code": refusal.code, "message": refusal.message}
        print(json.dumps(line), file=sys.stderr, flush=True)
        return UNFIT if refusal.code == "settings_invalid" else REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Where Docker keeps what belongs to one container and its image, for a scan to look at."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docker.errors import ImageNotFound, NotFound

from provisioner.engines.base import Footprint

# Helpers of the engine keep a copy of a running container's configuration.
HELPERS = ("/run/docker", "/run/containerd", "/var/lib/containerd")
BUNDLE_DEPTHS = ("*", "*/*", "*/*/*", "*/*/*/*")
LAYERED = "overlay2"


def footprint(api: Any, name: str, image: str) -> Footprint:
    """What is not there is left empty."""
    seen, picture = _container(api, name), _image(api, image)
    info = api.info()
    root, driver = Path(info["DockerRootDir"]), str(info["Driver"])
    told = {"inspect": seen, "image": picture, "history": _history(api, picture)}
    return Footprint(
        metadata=tuple(_metadata(root, driver, seen, picture)),
        logs=tuple(_logs(root, seen)),
        writable=tuple(_layer(seen, "UpperDir", "WorkDir")),
        image=tuple(_layer(seen or picture, "LowerDir") or _layer(picture, "UpperDir")),
        shared=(str(root / "network" / "files"),),
        told={what: json.dumps(text).encode() for what, text in told.items() if text},
        why_not="" if driver == LAYERED else f"Layers of the driver {driver} are not known here.",
    )


def _container(api: Any, name: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = api.inspect_container(name)
    except NotFound:
        return {}
    return found


def _image(api: Any, image: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = api.inspect_image(image)
    except ImageNotFound:
        return {}
    return found


def _history(api: Any, picture: Mapping[str, Any]) -> Any:
    return api.history(picture["Id"]) if picture else []


def _metadata(
    root: Path, driver: str, seen: Mapping[str, Any], picture: Mapping[str, Any]
) -> Iterator[str]:
    if picture:
        kind, _, digest = picture["Id"].partition(":")
        yield str(root / "image" / driver / "imagedb" / "content" / kind / digest)
    if not seen:
        return
    yield str(root / "containers" / seen["Id"])
    yield str(root / "image" / driver / "layerdb" / "mounts" / seen["Id"])
    for helper in HELPERS:
        for depth in BUNDLE_DEPTHS:
            yield from map(str, Path(helper).glob(f"{depth}/{seen['Id']}"))


def _logs(root: Path, seen: Mapping[str, Any]) -> Iterator[str]:
    """The `local` driver names no path; it writes below the container's own directory."""
    if not seen:
        return
    local = root / "containers" / seen["Id"] / "local-logs"
    yield seen.get("LogPath") or str(local)


def _layer(seen: Mapping[str, Any], *names: str) -> list[str]:
    data = (seen.get("GraphDriver") or {}).get("Data") or {}
    return [path for name in names for path in (data.get(name) or "").split(":") if path]

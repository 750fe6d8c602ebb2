"""Building what is missing: the Debian root, the base, one image per runtime."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.conf import settings

from provisioner.engines.base import Build, Engine
from runtimes import debian
from runtimes.catalog import Runtime
from runtimes.images import Fetch, Image, images

Say = Callable[[str], None]
AT_ONCE = 2  # builds: they wait for the network half of their time


def ensure_images(engine: Engine, say: Say, runtimes: Iterable[Runtime] | None = None) -> list[str]:
    """Build what this node lacks of these runtimes (default: all); returns the references built.
    Raises ImageBuildError, EngineRefused, EngineUnavailable."""
    wanted = images(debian.REFERENCE, fetch_from_environment(), runtimes)
    missing = [image for image in wanted if not engine.has_image(image.reference)]
    if missing and not engine.has_image(debian.REFERENCE):
        say("making the Debian root from its archive (about a minute)")
        cache = settings.ROOST_STATE_DIR / "cache" / f"{debian.TAG}.tar"
        tarball = debian.build_rootfs(cache, lambda line: None)
        engine.import_image(debian.REFERENCE, str(tarball), {})
    base, *others = wanted

    def build(image: Image) -> None:
        if image in missing:
            say(f"building {image.reference}" + (" (a few minutes)" if image.network else ""))
            engine.build_image(_build(image), lambda line: None)

    build(base)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(build, others))  # raises what a build raised
    return [image.reference for image in missing]


def fetch_from_environment() -> Fetch:
    """How this host reaches package indexes; an extra CA bundle where its network reads TLS."""
    bundle = os.environ.get("EXTRA_CA_BUNDLE") or os.environ.get("PIP_CERT", "")
    return Fetch(
        index_url=os.environ.get("PIP_INDEX_URL", ""),
        extra_index_url=_remote_only(os.environ.get("PIP_EXTRA_INDEX_URL", "")),
        npm_registry=os.environ.get("NPM_CONFIG_REGISTRY", ""),
        extra_ca=Path(bundle).read_bytes() if bundle and Path(bundle).is_file() else b"",
    )


def _remote_only(urls: str) -> str:
    """A build container has none of the host's directories."""
    return " ".join(url for url in urls.split() if not url.startswith("file:"))


def _build(image: Image) -> Build:
    return Build(
        reference=image.reference,
        context_tar=image.context_tar(),
        args=image.build_args,
        labels=image.labels,
        network=image.network,
    )

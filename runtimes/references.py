"""The exact image each runtime runs from now on; releases pin what this says when they are made."""

from functools import cache

from runtimes import debian
from runtimes.catalog import CATALOG, Runtime
from runtimes.images import base_image, runtime_image


def image_of(runtime: Runtime) -> str:
    """A reference such as roost/hermes:0.19.0-0f1ae81bf541: the tag is a hash of the inputs."""
    return _reference(runtime.slug)


def base_reference() -> str:
    return base_image(debian.REFERENCE).reference


@cache
def _reference(slug: str) -> str:
    return runtime_image(CATALOG[slug], base_reference()).reference

"""What an agent may be: names, sizes, models. Pure but for the catalogue."""

import re
from dataclasses import dataclass

from django.conf import settings

from controlplane.agents.errors import ImpossibleName, ImpossibleSetting, UnknownRuntime
from controlplane.agents.sizes import DISK_GIB, SIZES, Size
from controlplane.keys.models import Key
from controlplane.naming import refuse_known_secret, refuse_secret
from runtimes.catalog import CATALOG, Runtime

STANDIN_MODEL = "standin"
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
RESERVED_NAMES = {"new"}  # an address of the dashboard
MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}")


@dataclass(frozen=True)
class Settings:
    """What a release pins, checked. Raises Invalid (the subclass names the field)."""

    key: Key | None
    model: str
    memory_mb: int
    cpu_millis: int
    disk_gib: int
    egress: str


def check_name(name: str) -> None:
    refuse_secret(name)
    if not NAME.fullmatch(name):
        raise ImpossibleName
    if name in RESERVED_NAMES:
        raise ImpossibleSetting(
            "name", f"The name {name!r} is kept for the dashboard. Choose another."
        )


def runtime_of(slug: str) -> Runtime:
    if slug not in CATALOG:
        raise UnknownRuntime(slug, sorted(CATALOG))
    return CATALOG[slug]


def size_named(slug: str) -> Size:
    if slug not in SIZES:
        raise ImpossibleSetting("size", f"There is no size {slug!r}. Choose one of: {_or(SIZES)}.")
    return SIZES[slug]


def check_settings(
    runtime: Runtime, *, key: Key | None, model: str, size: Size, disk_gib: int, egress: str
) -> Settings:
    if size.memory_mb < runtime.min_memory_mb:
        raise ImpossibleSetting(
            "size",
            f"{runtime.title} needs {runtime.min_memory_mb} MB; {size.slug} has "
            f"{size.memory_mb} MB. Choose a larger size.",
        )
    if disk_gib not in DISK_GIB:
        raise ImpossibleSetting("disk_gib", f"A workspace has {_or(DISK_GIB)} GiB, not {disk_gib}.")
    if egress not in {"open", "none"}:
        raise ImpossibleSetting("egress", "egress is 'open' or 'none'.")
    if key is None and not settings.ROOST_STANDIN_URL:
        raise ImpossibleSetting(
            "key", "An agent needs a key for its model. Add one, then choose it."
        )
    if egress == "none" and key is not None and key.base_url != settings.ROOST_STANDIN_URL:
        raise ImpossibleSetting(
            "egress",
            f"Without the internet it cannot reach {key.get_provider_display()}. Choose open.",
        )
    if key is not None and key.provider not in runtime.providers:
        raise ImpossibleSetting(
            "key", f"{runtime.title} cannot use a key of {key.get_provider_display()}."
        )
    return Settings(
        key,
        _model(runtime, key, model),
        size.memory_mb,
        size.cpu_millis,
        disk_gib,
        egress,
    )


def _model(runtime: Runtime, key: Key | None, model: str) -> str:
    if key is None:  # the stand-in has one model, whatever it is called
        return STANDIN_MODEL
    known = runtime.providers[key.provider].models
    model = model or (known[0] if known else "")
    refuse_known_secret(model, "model")
    if not MODEL.fullmatch(model):
        raise ImpossibleSetting(
            "model", "Name the model as its provider does, such as claude-sonnet-4-5."
        )
    return model


def _or(values: object) -> str:
    return ", ".join(map(str, values))  # type: ignore[call-overload]

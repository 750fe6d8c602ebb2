"""What an agent may be: names, sizes, models. Pure but for the catalogue."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from django.conf import settings

from controlplane.agents.egress import check_hosts
from controlplane.agents.errors import ImpossibleName, ImpossibleSetting, UnknownRuntime
from controlplane.agents.sizes import DISK_GIB, SIZES, Size
from controlplane.keys.models import Key, Provider, Secret
from controlplane.keys.rules import MOST_SECRET_BYTES, MOST_SECRETS, check_secret_fits
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
    egress_hosts: list[str]
    isolation: str
    background: bool
    secrets: list[Secret]


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


def default_size(runtime: Runtime) -> Size:
    """The smallest that the runtime's own default fits in."""
    fitting = [size for size in SIZES.values() if size.memory_mb >= runtime.default_memory_mb]
    return min(fitting, key=lambda size: size.memory_mb)


def size_named(slug: str) -> Size:
    if slug not in SIZES:
        raise ImpossibleSetting("size", f"There is no size {slug!r}. Choose one of: {_or(SIZES)}.")
    return SIZES[slug]


def refuse_smaller_disk(now: int, wanted: int) -> None:
    if wanted < now:
        raise ImpossibleSetting(
            "disk_gib",
            f"A workspace can only grow, because what lies at its end would be cut off: this one "
            f"has {now} GiB. Keep it, or create an agent of {wanted} GiB and move the files there.",
        )


def check_settings(
    runtime: Runtime,
    *,
    key: Key | None,
    model: str,
    size: Size,
    disk_gib: int,
    egress: str,
    egress_hosts: Sequence[str] = (),
    isolation: str = "default",
    background: bool = False,
    secrets: Sequence[Secret] = (),
) -> Settings:
    if size.memory_mb < runtime.min_memory_mb:
        raise ImpossibleSetting(
            "size",
            f"{runtime.title} needs {runtime.min_memory_mb} MB, {size.slug} has "
            f"{size.memory_mb} MB: {runtime.memory_why}. Choose a larger size.",
        )
    if disk_gib not in DISK_GIB:
        raise ImpossibleSetting("disk_gib", f"A workspace has {_or(DISK_GIB)} GiB, not {disk_gib}.")
    if isolation not in {"default", "gvisor"}:
        raise ImpossibleSetting("isolation", "isolation is 'default' or 'gvisor'.")
    if background and not runtime.background:
        raise ImpossibleSetting(
            "background",
            f"{runtime.title} does nothing unasked, so this cannot be switched on. Leave it off.",
        )
    _check_key(runtime, key)
    return Settings(
        key=key,
        model=_model(runtime, key, model),
        memory_mb=size.memory_mb,
        cpu_millis=size.cpu_millis,
        disk_gib=disk_gib,
        egress=egress,
        egress_hosts=_egress(key, egress, egress_hosts),
        isolation=isolation,
        background=background,
        secrets=_secrets(runtime, secrets),
    )


def _check_key(runtime: Runtime, key: Key | None) -> None:
    if key is None and not settings.ROOST_STANDIN_URL:
        raise ImpossibleSetting(
            "key", "An agent needs a key for its model. Add one, then choose it."
        )
    provider = key.provider if key else Provider.CUSTOM
    if provider not in runtime.providers:
        usable = _or(Provider(slug).label for slug in runtime.providers)
        raise ImpossibleSetting(
            "key",
            f"{runtime.title} cannot use a key of {Provider(provider).label}. It works with: "
            f"{usable}.",
        )


def _egress(key: Key | None, egress: str, hosts: Sequence[str]) -> list[str]:
    """The list, which only an egress of `list` has."""
    if egress not in {"open", "list", "none"}:
        raise ImpossibleSetting("egress", "egress is 'open', 'list' or 'none'.")
    if egress == "none" and key is not None and key.base_url != settings.ROOST_STANDIN_URL:
        raise ImpossibleSetting(
            "egress",
            f"Without the internet it cannot reach {key.get_provider_display()}. Choose open, or "
            "list: a list always holds its model's own address.",
        )
    if egress != "list" and hosts:
        raise ImpossibleSetting(
            "egress_hosts",
            f"Hosts are listed for egress 'list' only, and this one is {egress!r}. Choose list, or "
            "leave egress_hosts out.",
        )
    return check_hosts(hosts)


def _secrets(runtime: Runtime, secrets: Sequence[Secret]) -> list[Secret]:
    if len(secrets) > MOST_SECRETS:
        raise ImpossibleSetting("secrets", f"An agent has at most {MOST_SECRETS} secrets.")
    if sum(secret.size for secret in secrets) > MOST_SECRET_BYTES:
        raise ImpossibleSetting(
            "secrets", f"An agent's secrets have at most {MOST_SECRET_BYTES // 1024} KiB in all."
        )
    for secret in secrets:
        check_secret_fits(runtime, secret.name)
    return sorted(secrets, key=lambda secret: secret.pk)


def _model(runtime: Runtime, key: Key | None, model: str) -> str:
    if key is None:
        if model not in {"", STANDIN_MODEL}:
            refuse_known_secret(model, "model")
            raise ImpossibleSetting(
                "model",
                "Without a key an agent uses the stand-in, which has one model only. Choose a key "
                "for another one, or leave the model out.",
            )
        return STANDIN_MODEL
    known = runtime.providers[key.provider].models
    model = model or _offered(key, known)
    refuse_known_secret(model, "model")
    if not MODEL.fullmatch(model):
        raise ImpossibleSetting(
            "model", "Name the model as its provider does, such as claude-sonnet-4-5."
        )
    if key.models and not _listed(model, key.models):
        near = get_close_matches(model, [*key.models], n=3, cutoff=0.4) or key.models[:3]
        raise ImpossibleSetting(
            "model",
            f"{key.get_provider_display()} does not offer {model!r} to the key {key.name}. It "
            f"offers, among others: {_or(near)}.",
        )
    return model


def _listed(model: str, models: Sequence[str]) -> bool:
    """Providers also take the start of a dated name, and `-latest`, which they may not list."""
    return model.endswith("-latest") or any(name.startswith(model) for name in models)


def _offered(key: Key, known: Sequence[str]) -> str:
    """The first we know that the key may use, or else the first there is."""
    usable = [name for name in known if not key.models or name in key.models]
    return next(iter([*usable, *key.models, *known]), "")


def _or(values: object) -> str:
    return ", ".join(map(str, values))  # type: ignore[call-overload]

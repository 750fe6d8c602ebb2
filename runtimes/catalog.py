"""The catalogue: every folder here that holds a `runtime.toml`, read strictly.

    from runtimes.catalog import CATALOG
    CATALOG["hermes"].port

A manifest is code that happens to be TOML: an unknown key, a missing one or one of the wrong type
is a mistake of ours and raises RuntimeManifestError, naming the file and the key.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from runtimes.manifest import RuntimeManifestError, Table

__all__ = ["CATALOG", "Runtime", "RuntimeManifestError", "load", "load_catalog"]

PROVIDER_SLUGS = ("anthropic", "openai", "gemini", "custom")


@dataclass(frozen=True)
class Health:
    """Alive means: `path` answers 200 with a JSON object that holds all of `expect`."""

    path: str
    expect: Mapping[str, str]


@dataclass(frozen=True)
class Ready:
    """Usable means: `path` answers 200 when asked with the agent's own token."""

    path: str


@dataclass(frozen=True)
class Provider:
    """How a runtime is told about a model provider; `key_prefix` is empty where keys have none."""

    title: str
    env: str
    key_prefix: str
    base_url_env: str | None
    default_base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class Web:
    """The runtime's own web UI: where it listens, and the module that signs people in."""

    port: int
    module: str


@dataclass(frozen=True)
class Build:
    """`files` of the folder go into the build context; only a build with `network` may fetch."""

    network: bool
    files: tuple[str, ...]


@dataclass(frozen=True)
class Migration:
    """How a runtime takes over another's workspace, which lies in `folder` of its own. First what
    is at each key of `laid` there goes to its value, where `command` looks for it; that runs with
    `environment`, and says `done` where it did what it was asked to. `state` is how a workspace of
    the other runtime is known."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    laid: Mapping[str, str]
    state: str
    done: str
    folder: str


@dataclass(frozen=True)
class Runtime:
    """One kind of agent. Seconds end in `_s`, megabytes (MiB) in `_mb`.

    `background` says what it does unasked with its owner's model key, and is empty where it does
    nothing; it is off unless the agent's settings turn it on. `own_secrets` are made once for an
    agent and kept in the vault for its life. `reserved_env` are patterns of the environment's names
    that mean something to the runtime, so that no customer's secret may have them. A fork begins
    without `not_forked`: what says who a runtime is to others, and what only one may hold.
    `migrations` are by the other runtime's slug. `volatile` are patterns of paths below /workspace
    that a boot rewrites or an end may leave in halves, so that a recovery drill does not ask for
    them unchanged. `config` are patterns of the files below /workspace whose keys an upgrade must
    not lose (.json, .json5, .yaml, .toml, .env); `config_may_drop` are patterns of path:key that
    its own versions drop on purpose.
    """

    slug: str
    folder: Path
    title: str
    summary: str
    version: str
    image: str
    port: int
    command: tuple[str, ...]
    start_usual_s: float
    start_deadline_s: int
    stop_grace_s: int
    health: Health
    ready: Ready
    min_memory_mb: int
    memory_why: str
    default_memory_mb: int
    pids: int
    tmp_mb: int
    state_paths: tuple[str, ...]
    not_forked: tuple[str, ...]
    volatile: tuple[str, ...]
    config: tuple[str, ...]
    config_may_drop: tuple[str, ...]
    providers: Mapping[str, Provider]
    adapter: str
    capabilities: tuple[str, ...]
    background: str
    own_secrets: tuple[str, ...]
    reserved_env: tuple[str, ...]
    setup: str | None
    migrations: Mapping[str, Migration]
    web: Web | None
    build: Build


def load(path: Path) -> Runtime:
    """The runtime that one manifest describes; its folder's name is its slug."""
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise RuntimeManifestError(path, None, f"is not valid TOML: {error}") from error
    table = Table(path, data)
    runtime = Runtime(
        slug=path.parent.name,
        folder=path.parent,
        title=table.text("title"),
        summary=table.text("summary"),
        version=table.text("version"),
        image=table.text("image"),
        port=table.number("port", most=65535),
        command=table.texts("command"),
        start_usual_s=table.seconds("start_usual_s"),
        start_deadline_s=table.number("start_deadline_s"),
        stop_grace_s=table.number("stop_grace_s"),
        health=health(table.table("health")),
        ready=ready(table.table("ready")),
        min_memory_mb=table.number("min_memory_mb"),
        memory_why=table.text("memory_why"),
        default_memory_mb=table.number("default_memory_mb"),
        pids=table.number("pids"),
        tmp_mb=table.number("tmp_mb"),
        state_paths=table.paths("state_paths"),
        not_forked=table.paths("not_forked") if "not_forked" in table else (),
        volatile=table.texts("volatile", empty=True),
        config=table.texts("config", empty=True) if "config" in table else (),
        config_may_drop=(
            table.texts("config_may_drop", empty=True) if "config_may_drop" in table else ()
        ),
        providers=providers(table.table("providers")),
        adapter=table.text("adapter"),
        capabilities=table.texts("capabilities"),
        background=table.text("background", empty=True),
        own_secrets=table.texts("own_secrets", empty=True),
        reserved_env=table.texts("reserved_env", empty=True),
        setup=table.text("setup") if "setup" in table else None,
        migrations=migrations(table) if "migrations" in table else {},
        web=web(table.table("web")) if "web" in table else None,
        build=build(table.table("build")),
    )
    table.close()
    if runtime.default_memory_mb < runtime.min_memory_mb:
        raise table.wrong("default_memory_mb", "must be at least min_memory_mb")
    if runtime.start_deadline_s <= runtime.start_usual_s:
        raise table.wrong("start_deadline_s", "must be more than start_usual_s")
    return runtime


def health(table: Table) -> Health:
    found = Health(path=table.path("path"), expect=table.text_table("expect"))
    table.close()
    return found


def ready(table: Table) -> Ready:
    found = Ready(path=table.path("path"))
    table.close()
    return found


def web(table: Table) -> Web:
    found = Web(port=table.number("port", most=65535), module=table.text("module"))
    table.close()
    return found


def migrations(table: Table) -> Mapping[str, Migration]:
    found = table.tables("migrations")
    return MappingProxyType({slug: migration(inner, slug) for slug, inner in found.items()})


def migration(table: Table, slug: str) -> Migration:
    found = Migration(
        command=table.texts("command"),
        environment=table.text_table("environment"),
        laid=table.text_table("laid") if "laid" in table else {},
        state=table.text("state"),
        done=table.text("done"),
        folder=f"from-{slug}",
    )
    table.close()
    return found


def build(table: Table) -> Build:
    found = Build(network=table.flag("network"), files=table.texts("files"))
    table.close()
    return found


def providers(table: Table) -> Mapping[str, Provider]:
    found = {slug: provider(table.table(slug)) for slug in table.names(PROVIDER_SLUGS)}
    table.close()
    return MappingProxyType(found)


def provider(table: Table) -> Provider:
    found = Provider(
        title=table.text("title"),
        env=table.text("env"),
        key_prefix=table.text("key_prefix", empty=True),
        base_url_env=table.text("base_url_env") if "base_url_env" in table else None,
        default_base_url=table.text("default_base_url", empty=True),
        models=table.texts("models", empty=True),
    )
    table.close()
    return found


def load_catalog(folder: Path) -> dict[str, Runtime]:
    """Every runtime below `folder`, by slug, in the order of their names."""
    manifests = sorted(folder.glob("*/runtime.toml"))
    return {path.parent.name: load(path) for path in manifests}


FOUND = load_catalog(Path(__file__).parent)
CATALOG: Mapping[str, Runtime] = MappingProxyType(FOUND)  # what everybody reads

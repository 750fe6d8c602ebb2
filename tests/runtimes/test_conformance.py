"""What every folder of the catalogue promises; a new runtime is covered by being there."""

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runtimes.adapter import load_adapter
from runtimes.catalog import CATALOG, Runtime

OWN = {name: "0a" * 24 for runtime in CATALOG.values() for name in runtime.own_secrets}
KEYS: dict[str, Any] = {
    "gateway": "g" * 48,
    "provider_key": "sk-secret-0123",
    "secrets": {},
    "own": OWN,
}
every_runtime = pytest.mark.parametrize("runtime", CATALOG.values(), ids=CATALOG)
every_provider = pytest.mark.parametrize(
    ("runtime", "provider"),
    [(runtime, slug) for runtime in CATALOG.values() for slug in runtime.providers],
    ids=lambda value: value if isinstance(value, str) else value.slug,
)


def folder(runtime: Runtime) -> Path:
    return runtime.folder


def hook(runtime: Runtime) -> ModuleType:
    """The boot hook, loaded as the shim loads it: by path."""
    spec = importlib.util.spec_from_file_location("runtime", folder(runtime) / "boot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A container's folders: `run` (tmpfs) and a workspace every runtime's HOME points into."""
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "workspace"))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "workspace" / ".hermes"))
    return tmp_path


def settings(provider: str, runtime: Runtime) -> dict[str, Any]:
    models = runtime.providers[provider].models
    base_url = "http://10.0.0.1:8899/v1" if provider == "custom" else None
    return {"provider": provider, "model": models[0] if models else "m-1", "base_url": base_url}


@every_provider
def test_the_hook_renders_every_provider_of_its_manifest(
    runtime: Runtime, provider: str, home: Path
) -> None:
    argv, extra = hook(runtime).render(settings(provider, runtime), KEYS, home / "run")
    assert tuple(argv) == runtime.command
    assert all(isinstance(value, str) for value in extra.values())


@every_provider
def test_no_key_leaves_the_run_folder_or_enters_the_environment(
    runtime: Runtime, provider: str, home: Path
) -> None:
    argv, extra = hook(runtime).render(settings(provider, runtime), KEYS, home / "run")
    secrets = (KEYS["gateway"], KEYS["provider_key"], *OWN.values())
    for file in (path for path in (home / "workspace").rglob("*") if path.is_file()):
        assert not any(secret in file.read_text() for secret in secrets)
    assert not any(secret in json.dumps([argv, extra]) for secret in secrets)


@every_provider
def test_rendered_files_are_for_the_agent_alone(
    runtime: Runtime, provider: str, home: Path
) -> None:
    hook(runtime).render(settings(provider, runtime), KEYS, home / "run")
    files = [path for path in (home / "run").rglob("*") if path.is_file()]
    assert files
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@every_runtime
def test_rendering_twice_is_rendering_once(runtime: Runtime, home: Path) -> None:
    chosen = settings(next(iter(runtime.providers)), runtime)
    first = hook(runtime).render(chosen, KEYS, home / "run")
    assert hook(runtime).render(chosen, KEYS, home / "run") == first


@every_runtime
@pytest.mark.parametrize(
    "wrong",
    [{}, {"provider": "nobody", "model": "m"}, {"provider": "anthropic"}, {"provider": 1}],
)
def test_settings_that_do_not_fit_are_a_value_error(
    runtime: Runtime, wrong: dict[str, Any], home: Path
) -> None:
    with pytest.raises(ValueError, match=r"provider|model"):
        hook(runtime).render(wrong, KEYS, home / "run")


@every_runtime
def test_the_hook_needs_nothing_but_the_standard_library(runtime: Runtime) -> None:
    tree = ast.parse((folder(runtime) / "boot.py").read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names


@every_runtime
def test_the_adapter_speaks_the_protocol(runtime: Runtime) -> None:
    adapter = load_adapter(runtime)
    assert all(callable(getattr(adapter, verb)) for verb in ("conversations", "history", "stream"))


@every_runtime
def test_the_image_is_safe_to_start(runtime: Runtime) -> None:
    dockerfile = (folder(runtime) / "Dockerfile").read_text()
    final = dockerfile.rpartition("\nFROM ")[2]
    assert not re.search(r"^VOLUME", dockerfile, re.MULTILINE)
    assert not re.search(r"^(RUN|USER|ENTRYPOINT|ADD)", final, re.MULTILINE)
    assert "extra-ca.crt" not in final
    assert f"EXPOSE {runtime.port}" in final
    assert "COPY boot.py /opt/roost/runtime.py" in final


@every_runtime
def test_state_lies_in_the_workspace(runtime: Runtime) -> None:
    assert all(path.startswith("/workspace") for path in runtime.state_paths)


@every_runtime
def test_a_page_tells_about_it(runtime: Runtime) -> None:
    assert runtime.title in (folder(runtime) / "README.md").read_text()


@every_runtime
def test_what_it_takes_over_is_another_of_the_catalogue(runtime: Runtime) -> None:
    for slug, way in runtime.migrations.items():
        assert slug in set(CATALOG) - {runtime.slug}
        assert f"/workspace/{way.state}" in CATALOG[slug].state_paths
        assert way.folder in " ".join([*way.command, *way.environment.values()])
        assert not {"--migrate-secrets", "--include-secrets"} & set(way.command)

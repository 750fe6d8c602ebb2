"""How settings and keys become Hermes' managed scope."""

import json
from pathlib import Path
from typing import Any

import pytest

from runtimes.hermes.boot import config, pinned, render
from runtimes.hermes.web import USERNAME

GATEWAY, KEY = "g" * 48, "sk-ant-0123"
KEYS: dict[str, Any] = {"gateway": GATEWAY, "provider_key": KEY, "secrets": {}}
URL = "http://10.0.0.1:8899/v1"


def settings(provider: str, base_url: str | None = None) -> dict[str, Any]:
    return {"provider": provider, "model": "m-1", "base_url": base_url}


@pytest.mark.parametrize(
    ("provider", "theirs", "variable"),
    [
        ("anthropic", "anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "openai-api", "OPENAI_API_KEY"),
        ("gemini", "gemini", "GEMINI_API_KEY"),
    ],
)
def test_a_vendor_is_called_at_its_own_address(provider: str, theirs: str, variable: str) -> None:
    model = config(settings(provider), KEYS)["model"]
    assert model == {"default": "m-1", "context_length": 200_000, "provider": theirs}
    assert pinned(settings(provider), KEYS)[variable] == KEY


@pytest.mark.parametrize(
    ("provider", "wire", "variable"),
    [
        ("anthropic", "anthropic_messages", "ANTHROPIC_API_KEY"),
        ("openai", "chat_completions", "OPENAI_API_KEY"),
        ("gemini", "chat_completions", "GEMINI_API_KEY"),
        ("custom", "chat_completions", "OPENAI_API_KEY"),
    ],
)
def test_a_base_url_is_never_left_for_the_vendor(provider: str, wire: str, variable: str) -> None:
    model = config(settings(provider, URL), KEYS)["model"]
    assert (model["provider"], model["base_url"], model["api_mode"]) == ("custom", URL, wire)
    assert model["api_key"] == f"${{{variable}}}"
    assert pinned(settings(provider, URL), KEYS)[variable] == KEY


def test_custom_needs_a_base_url() -> None:
    with pytest.raises(ValueError, match="base_url is missing"):
        config(settings("custom"), KEYS)


def test_custom_works_without_a_key() -> None:
    keyless = {**KEYS, "provider_key": None}
    assert "api_key" not in config(settings("custom", URL), keyless)["model"]
    assert "OPENAI_API_KEY" not in pinned(settings("custom", URL), keyless)


def test_the_platform_keeps_what_it_needs_from_the_workspaces_own_env() -> None:
    values = pinned(settings("openai"), KEYS)
    assert values["API_SERVER_KEY"] == GATEWAY
    assert values["API_SERVER_ENABLED"] == "true"
    assert values["HERMES_GATEWAY_MAX_STARTS"] == "0"


def test_the_dashboard_has_the_agents_own_password_and_shows_the_workspace() -> None:
    told = {**settings("openai"), "web_origin": "http://agt-1.localhost:8702"}
    values = pinned(told, {**KEYS, "own": {"dashboard": "d" * 48}})
    assert values["HERMES_DASHBOARD_BASIC_AUTH_USERNAME"] == USERNAME
    assert values["HERMES_DASHBOARD_BASIC_AUTH_PASSWORD"] == "d" * 48
    assert values["HERMES_DASHBOARD_FILES_ROOT"] == "/workspace"
    assert values["HERMES_DASHBOARD_PUBLIC_URL"] == "http://agt-1.localhost:8702"


def test_without_that_password_nobody_can_sign_in() -> None:
    assert not [name for name in pinned(settings("openai"), KEYS) if "BASIC_AUTH" in name]


def test_nothing_waits_for_a_person_or_a_download() -> None:
    found = config(settings("openai"), KEYS)
    assert found["approvals"] == {"mode": "off"}
    assert found["security"] == {"tirith_enabled": False, "allow_lazy_installs": False}
    assert found["compression"] == {"in_place": True}


@pytest.mark.parametrize("key", ["tab\there", "zwölf", "new\nline", "it's", "a\\b", "a${HOME}b"])
def test_a_key_no_header_can_carry_is_refused_without_being_quoted(key: str) -> None:
    with pytest.raises(ValueError, match="the provider key holds") as caught:
        pinned(settings("openai"), {**KEYS, "provider_key": key})
    assert key not in str(caught.value)


def test_a_gateway_key_hermes_would_ignore_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than 16"):
        pinned(settings("openai"), {**KEYS, "gateway": "short"})


def test_both_files_are_written_and_the_folders_hermes_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "workspace" / ".hermes"
    monkeypatch.setenv("HERMES_HOME", str(home))
    _, extra = render(settings("custom", URL), KEYS, tmp_path)
    managed = Path(extra["HERMES_MANAGED_DIR"])
    assert managed == tmp_path / "hermes"
    assert json.loads((managed / "config.yaml").read_text())["model"]["base_url"] == URL
    assert f"API_SERVER_KEY='{GATEWAY}'\n" in (managed / ".env").read_text()
    assert sorted(path.name for path in home.iterdir()) == ["cron", "logs", "memories", "sessions"]


def test_what_lies_in_the_place_of_a_folder_is_put_aside_and_a_closed_one_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "workspace" / ".hermes"
    monkeypatch.setenv("HERMES_HOME", str(home))
    home.mkdir(parents=True)
    (home / "cron").write_text("mine")
    (home / "logs").symlink_to("nowhere")
    (home / "memories").mkdir(mode=0o500)
    # Root may write anywhere; what the mode says is what counts for an agent.
    monkeypatch.setattr("os.access", lambda path, how: Path(path).stat().st_mode & 0o700 == 0o700)
    render(settings("custom", URL), KEYS, tmp_path)
    assert all((home / name).is_dir() for name in ("cron", "logs", "memories", "sessions"))
    assert (home / "cron.aside").read_text() == "mine"
    assert (home / "memories").stat().st_mode & 0o777 == 0o700

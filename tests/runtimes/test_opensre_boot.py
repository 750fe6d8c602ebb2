"""How settings and keys become OpenSRE's environment and the host's file."""

import json
from pathlib import Path
from typing import Any

import pytest

from runtimes.opensre.boot import address, host_config, render

GATEWAY, KEY = "g" * 48, "sk-ant-0123"
KEYS: dict[str, Any] = {"gateway": GATEWAY, "provider_key": KEY, "secrets": {}, "own": {}}
GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"


def settings(provider: str, base_url: str | None = None) -> dict[str, Any]:
    return {"provider": provider, "model": "m-1", "base_url": base_url}


@pytest.mark.parametrize(
    ("provider", "theirs", "url"),
    [
        ("anthropic", "anthropic", "https://api.anthropic.com"),
        ("openai", "openai", "https://api.openai.com/v1"),
        ("gemini", "openai", GEMINI),
    ],
)
def test_a_vendor_is_called_at_its_own_address(
    provider: str, theirs: str, url: str, tmp_path: Path
) -> None:
    _, extra = render(settings(provider), KEYS, tmp_path)
    assert extra["LLM_PROVIDER"] == theirs
    assert extra[f"{theirs.upper()}_BASE_URL"] == url
    assert extra[f"{theirs.upper()}_REASONING_MODEL"] == "m-1"
    assert extra[f"{theirs.upper()}_TOOLCALL_MODEL"] == "m-1"


@pytest.mark.parametrize(
    ("provider", "typed", "used"),
    [
        ("anthropic", "https://proxy.example/v1/", "https://proxy.example"),
        ("anthropic", "https://proxy.example/anthropic", "https://proxy.example/anthropic"),
        ("openai", "https://proxy.example", "https://proxy.example/v1"),
        ("custom", "http://10.0.0.1:8899/v1", "http://10.0.0.1:8899/v1"),
        ("custom", "http://10.0.0.1:8899/", "http://10.0.0.1:8899/v1"),
        ("custom", "https://proxy.example/api/v3", "https://proxy.example/api/v3"),
        ("gemini", "https://proxy.example", "https://proxy.example/v1beta/openai"),
        ("gemini", "https://proxy.example/v1beta", "https://proxy.example/v1beta/openai"),
        ("gemini", GEMINI, GEMINI),
        ("gemini", "https://proxy.example/v1", "https://proxy.example/v1"),
    ],
)
def test_an_own_address_is_taken_as_people_type_it(provider: str, typed: str, used: str) -> None:
    assert address(settings(provider, typed)) == used


def test_custom_needs_a_base_url() -> None:
    with pytest.raises(ValueError, match="base_url is missing"):
        address(settings("custom"))


def test_the_key_and_the_token_are_in_the_hosts_file_alone(tmp_path: Path) -> None:
    _, extra = render(settings("anthropic"), KEYS, tmp_path)
    found = json.loads(Path(extra["OPENSRE_HOST_CONFIG"]).read_text())
    assert found == {"token": GATEWAY, "key_name": "ANTHROPIC_API_KEY", "key": KEY}


@pytest.mark.parametrize(("provider", "key"), [("custom", "no-key-required"), ("openai", "")])
def test_only_an_own_endpoint_does_without_a_key(provider: str, key: str) -> None:
    keyless = {**KEYS, "provider_key": None}
    assert host_config(settings(provider), keyless, "OPENAI_API_KEY")["key"] == key


@pytest.mark.parametrize("key", ["tab\there", "zwölf", "new\nline"])
def test_a_key_no_header_can_carry_is_refused_without_being_quoted(key: str) -> None:
    with pytest.raises(ValueError, match="the provider key holds") as caught:
        host_config(settings("openai"), {**KEYS, "provider_key": key}, "OPENAI_API_KEY")
    assert key not in str(caught.value)


def test_a_gateway_key_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than 16"):
        host_config(settings("openai"), {**KEYS, "gateway": "short"}, "OPENAI_API_KEY")

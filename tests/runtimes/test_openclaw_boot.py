"""How settings and keys become OpenClaw's configuration and its file of secrets."""

import json
from pathlib import Path
from typing import Any

import pytest

from runtimes import images
from runtimes.openclaw.boot import OUTSIDE, PERSON, PERSON_HEADER, config, render, secret_values

GATEWAY, KEY = "g" * 48, "sk-ant-0123"
KEYS: dict[str, Any] = {"gateway": GATEWAY, "provider_key": KEY, "secrets": {}}
SECRETS = Path("/run/agent/openclaw/keys.json")
URL = "http://10.0.0.1:8899"
ORIGIN = "http://agt-1.localhost:8702"


def settings(provider: str, base_url: str | None = None, **more: Any) -> dict[str, Any]:
    return {"provider": provider, "model": "m-1", "base_url": base_url, **more}


def made(provider: str, base_url: str | None = None, **more: Any) -> dict[str, Any]:
    return config(settings(provider, base_url, **more), SECRETS)


@pytest.mark.parametrize(
    ("provider", "theirs", "wire", "address"),
    [
        ("anthropic", "anthropic", "anthropic-messages", "https://api.anthropic.com"),
        ("openai", "openai", "openai-responses", "https://api.openai.com/v1"),
        (
            "gemini",
            "google",
            "google-generative-ai",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
    ],
)
def test_a_vendor_is_called_at_its_own_address(
    provider: str, theirs: str, wire: str, address: str
) -> None:
    found = made(provider)
    assert found["agents"]["defaults"]["model"] == {"primary": f"{theirs}/m-1"}
    assert found["models"]["providers"][theirs]["api"] == wire
    assert found["models"]["providers"][theirs]["baseUrl"] == address
    # Else OpenAI's models would want the plugin of Codex, fetched from the internet at each start.
    assert found["models"]["providers"][theirs]["agentRuntime"] == {"id": "openclaw"}
    assert theirs in found["plugins"]["allow"]


@pytest.mark.parametrize(
    ("provider", "given", "used"),
    [
        ("anthropic", URL, URL),
        ("anthropic", f"{URL}/v1", URL),
        ("anthropic", f"{URL}/proxy/v1/", f"{URL}/proxy"),
        ("openai", URL, f"{URL}/v1"),
        ("openai", f"{URL}/v1/", f"{URL}/v1"),
        ("gemini", URL, f"{URL}/v1beta"),
        ("gemini", f"{URL}/v1", f"{URL}/v1beta"),
        ("gemini", f"{URL}/v1beta", f"{URL}/v1beta"),
        ("custom", URL, f"{URL}/v1"),
        ("custom", f"{URL}/openai/v1", f"{URL}/openai/v1"),
        ("custom", f"{URL}/v1beta/openai", f"{URL}/v1beta/openai"),
    ],
)
def test_a_base_url_gets_the_end_its_wire_wants(provider: str, given: str, used: str) -> None:
    (found,) = made(provider, given)["models"]["providers"].values()
    assert found["baseUrl"] == used


@pytest.mark.parametrize("wrong", ["host/v1", "ftp://host", "http://", "http://a b", "http://h?q"])
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        made("custom", wrong)


def test_custom_needs_a_base_url() -> None:
    with pytest.raises(ValueError, match="needs a base_url"):
        made("custom")


def test_an_endpoints_own_model_is_described_since_no_catalogue_knows_it() -> None:
    found = made("custom", URL)
    (model,) = found["models"]["providers"]["custom"]["models"]
    assert (model["id"], model["contextWindow"]) == ("m-1", 128_000)
    assert found["agents"]["defaults"]["modelPolicy"] == {"allow": ["custom/*"]}


def test_the_configuration_names_the_places_of_keys_and_holds_none() -> None:
    found = made("anthropic")
    key = found["models"]["providers"]["anthropic"]["apiKey"]
    assert key == {"source": "file", "provider": "roost", "id": "/provider"}
    assert found["secrets"]["providers"]["roost"]["path"] == str(SECRETS)
    assert secret_values(KEYS) == {"gateway": GATEWAY, "provider": KEY}


def test_an_endpoint_without_keys_is_asked_with_a_word_in_its_place() -> None:
    assert secret_values({**KEYS, "provider_key": None})["provider"] == "none"


def test_it_spends_nothing_unasked() -> None:
    found = made("anthropic")
    assert found["agents"]["defaults"]["heartbeat"] == {"every": "0m"}
    assert found["agents"]["defaults"]["utilityModel"] == ""
    assert dreaming(found) is False


def test_it_may_where_its_settings_say_so() -> None:
    found = made("anthropic", background=True)
    assert not {"heartbeat", "utilityModel"} & found["agents"]["defaults"].keys()
    assert dreaming(found) is True


def dreaming(found: dict[str, Any]) -> Any:
    return found["plugins"]["entries"]["memory-core"]["config"]["dreaming"]["enabled"]


def test_its_web_ui_is_there_for_one_origin() -> None:
    ui = made("anthropic", web_origin=ORIGIN)["gateway"]["controlUi"]
    assert (ui["enabled"], ui["allowedOrigins"]) == (True, [ORIGIN])


def test_without_an_origin_there_is_no_web_ui() -> None:
    assert made("anthropic")["gateway"]["controlUi"]["enabled"] is False


def test_who_is_not_inside_comes_in_by_the_door_alone() -> None:
    gateway = made("anthropic")["gateway"]
    assert gateway["auth"]["mode"] == "trusted-proxy"
    assert gateway["auth"]["trustedProxy"]["allowUsers"] == [PERSON]
    assert gateway["trustedProxies"] == OUTSIDE
    assert "allowLoopback" not in gateway["auth"]["trustedProxy"]
    assert gateway["terminal"] == {"enabled": False}


def test_the_door_says_what_the_configuration_hears() -> None:
    door = (images.HERE / "openclaw" / "door.mjs").read_text()
    assert f'headers["{PERSON_HEADER}"] = PERSON' in door
    assert f'const PERSON = "{PERSON}";' in door
    assert '"keys.json"' in door


def test_the_command_starts_behind_the_door(tmp_path: Path) -> None:
    argv, _ = render(settings("anthropic"), KEYS, tmp_path)
    assert argv[1:3] == ["--import", "/opt/openclaw/door.mjs"]


@pytest.mark.parametrize("key", ["tab\there", "zwölf", "new\nline"])
def test_a_key_no_header_can_carry_is_refused_without_being_quoted(key: str) -> None:
    with pytest.raises(ValueError, match="the provider key holds") as caught:
        secret_values({**KEYS, "provider_key": key})
    assert key not in str(caught.value)


def test_both_files_are_its_own_and_openclaw_is_told_to_write_neither(tmp_path: Path) -> None:
    _, environment = render(settings("anthropic"), KEYS, tmp_path)
    folder = tmp_path / "openclaw"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert environment["OPENCLAW_CONFIG_PATH"] == str(folder / "openclaw.json")
    assert environment["OPENCLAW_CONFIG_READONLY"] == "1"
    assert json.loads((folder / "keys.json").read_text())["gateway"] == GATEWAY


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "openclaw").mkdir()
    (tmp_path / "openclaw" / "keys.json").symlink_to(tmp_path / "elsewhere")
    render(settings("anthropic"), KEYS, tmp_path)
    assert not (tmp_path / "elsewhere").exists()

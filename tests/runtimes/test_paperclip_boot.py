"""How settings and keys become Paperclip's environment and its agents' way to the model."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from runtimes.paperclip import boot
from runtimes.paperclip.boot import access, addresses, base_url, names, quoted, render

OWN = {name: letter * 48 for name, letter in zip(boot.OWN, "abcd", strict=True)}
KEY = "sk-ant-0123"
KEYS: dict[str, Any] = {"gateway": "9" * 48, "provider_key": KEY, "secrets": {}, "own": OWN}
URL = "http://10.0.0.1:8899"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "workspace"))
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def settings(provider: str, url: str | None = None) -> dict[str, Any]:
    return {"provider": provider, "model": "m-1", "base_url": url}


def test_what_signs_and_encrypts_lies_on_the_tmpfs(run: Path) -> None:
    _, env = render(settings("anthropic"), KEYS, run)
    folder = run / "paperclip"
    assert env["PAPERCLIP_CONFIG"] == str(folder / "config.json")  # its .env is beside it
    assert f"PAPERCLIP_AGENT_JWT_SECRET='{'a' * 48}'\n" in (folder / ".env").read_text()
    assert env["PAPERCLIP_SECRETS_MASTER_KEY_FILE"] == str(folder / "master.key")
    assert (folder / "master.key").read_text() == "d" * 32
    assert not any(secret in json.dumps(env) for secret in [*OWN.values(), KEY])


def test_people_sign_up_no_more_once_it_is_set_up(run: Path) -> None:
    _, blank = render(settings("anthropic"), KEYS, run)
    used = {**KEYS, "own": {**OWN, "token": "pcp_board_1"}}
    _, set_up = render(settings("anthropic"), used, run)
    assert blank["PAPERCLIP_AUTH_DISABLE_SIGN_UP"] == "false"
    assert set_up["PAPERCLIP_AUTH_DISABLE_SIGN_UP"] == "true"


@pytest.mark.parametrize("name", boot.OWN)
@pytest.mark.parametrize("value", [None, "", "short", "A" * 48, "a'b" * 16])
def test_it_does_not_start_without_its_own_secrets(run: Path, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match="own secret"):
        render(settings("anthropic"), {**KEYS, "own": {**OWN, name: value}}, run)


def test_claude_fetches_its_key_from_the_tmpfs() -> None:
    files = access("anthropic", "m-1", URL, KEY, Path("/run/agent/paperclip"))
    assert files["model.key"] == KEY
    helper = json.loads(files["claude.json"])["apiKeyHelper"]
    assert helper == "cat /run/agent/paperclip/model.key"
    assert f"export ANTHROPIC_BASE_URL='{URL}'\n" in files["claude.sh"]
    assert KEY not in files["claude.sh"]


def test_codex_finds_its_key_where_the_link_in_the_workspace_leads() -> None:
    files = access("openai", "m-1", f"{URL}/v1", KEY, Path("/run"))
    assert json.loads(files["codex/auth.json"]) == {"OPENAI_API_KEY": KEY}
    assert files["codex.sh"] == f'set -- -c \'openai_base_url="{URL}/v1"\' "$@"\n'


@pytest.mark.parametrize(
    ("provider", "url", "api"),
    [
        ("gemini", "https://host/v1beta", "google-generative-ai"),
        ("gemini", "https://host/v1", "openai-completions"),
        ("gemini", "https://host/v1beta/openai", "openai-completions"),
        ("custom", "https://host/v1", "openai-completions"),
    ],
)
def test_pi_is_told_of_the_one_model(provider: str, url: str, api: str) -> None:
    files = access(provider, "m-1", url, KEY, Path("/run"))
    told = json.loads(files["pi/models.json"])["providers"]["roost"]
    assert (told["baseUrl"], told["api"], told["apiKey"]) == (url, api, KEY)
    assert [model["id"] for model in told["models"]] == ["m-1"]


def test_an_endpoint_that_asks_for_no_key_gets_none(run: Path) -> None:
    render(settings("custom", f"{URL}/v1"), {**KEYS, "provider_key": None}, run)
    told = json.loads((run / "paperclip" / "pi" / "models.json").read_text())
    assert told["providers"]["roost"]["apiKey"] == "none"


@pytest.mark.parametrize(
    ("provider", "given", "used"),
    [
        ("anthropic", None, ""),
        ("anthropic", f"{URL}/v1/", URL),
        ("anthropic", URL, URL),
        ("openai", None, ""),
        ("openai", URL, f"{URL}/v1"),
        ("openai", f"{URL}/v1", f"{URL}/v1"),
        ("custom", f"{URL}/api/v3/", f"{URL}/api/v3"),
        ("gemini", None, boot.GOOGLE),
        ("gemini", URL, f"{URL}/v1beta"),
    ],
)
def test_a_base_url_may_be_typed_in_any_of_its_ways(
    provider: str, given: str | None, used: str
) -> None:
    assert base_url(settings(provider, given)) == used


@pytest.mark.parametrize("url", ["ftp://host", "host/v1", "http://a b", "http://h\n", 7])
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(ValueError, match="base_url is not an address"):
        base_url(settings("custom", url))


def test_custom_needs_a_base_url() -> None:
    with pytest.raises(ValueError, match="base_url is missing"):
        base_url(settings("custom"))


def test_a_quote_does_not_end_what_the_shell_reads() -> None:
    assert quoted("it's") == "'it'\\''s'"


@pytest.mark.parametrize("key", ["", "a b", "a\nb", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused(run: Path, key: str) -> None:
    with pytest.raises(ValueError, match="provider key"):
        render(settings("anthropic"), {**KEYS, "provider_key": key}, run)


def test_it_answers_under_the_containers_address_and_peoples() -> None:
    hosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n10.213.240.2\tagent\n"
    assert addresses(hosts) == ["10.213.240.2"]
    found = names({"web_origin": "http://agt-x.localhost:8702"}, ["10.213.240.2"])
    assert found == {
        "PAPERCLIP_PUBLIC_URL": "http://agt-x.localhost:8702",
        "PAPERCLIP_ALLOWED_HOSTNAMES": "agt-x.localhost,10.213.240.2",
    }
    assert names({}, ["10.0.0.2"]) == {"PAPERCLIP_ALLOWED_HOSTNAMES": "10.0.0.2"}


@pytest.mark.parametrize("origin", ["agt-x.localhost", "https://a/b", "https://a,b", 1])
def test_what_is_no_origin_is_refused(origin: Any) -> None:
    with pytest.raises(ValueError, match="web_origin"):
        names({"web_origin": origin}, [])


def test_scraps_of_an_interrupted_run_are_gone_at_the_next_start(run: Path) -> None:
    scratch = run.parent / "workspace" / ".tmp"
    (scratch / "a" / "b").mkdir(parents=True)
    (scratch / "a" / "file").write_text("x")
    (scratch / "link").symlink_to(run)
    _, env = render(settings("anthropic"), KEYS, run)
    assert env["TMPDIR"] == str(scratch)
    assert list(scratch.iterdir()) == []
    assert run.is_dir()


def test_pi_is_not_started_only_to_list_its_one_model(tmp_path: Path) -> None:
    files = access("custom", "m-1", URL, KEY, tmp_path)
    (tmp_path / "pi").mkdir()
    for name in ("pi.sh", "pi/models.txt"):
        (tmp_path / name).write_text(files[name])
    script = [f". {tmp_path}/pi.sh; echo started"]
    run = [
        subprocess.run(["/bin/sh", "-c", *script, "pi", word], capture_output=True, check=True)
        for word in ("--list-models", "-p")
    ]
    assert [one.stdout.decode() for one in run] == ["provider  model\nroost  m-1\n", "started\n"]


def test_scraps_are_removed_however_closed_and_deep_they_are(run: Path) -> None:
    scratch = Path(os.environ["HOME"]) / ".tmp"
    closed = scratch / "gomod" / "x"
    closed.mkdir(parents=True)
    (closed / "f").write_text("a")
    outside = run / "outside"
    outside.write_text("kept")
    (scratch / "link").symlink_to(outside)
    os.system(f"cd {scratch} && for i in $(seq 1500); do mkdir d && cd d; done")  # noqa: S605
    closed.chmod(0o555)
    (scratch / "gomod").chmod(0o000)
    render(settings("anthropic"), KEYS, run)
    assert list(scratch.iterdir()) == []
    assert outside.read_text() == "kept"


def test_something_else_in_the_place_of_the_scratch_is_replaced(run: Path) -> None:
    scratch = Path(os.environ["HOME"]) / ".tmp"
    scratch.parent.mkdir()
    os.mkfifo(scratch)
    render(settings("anthropic"), KEYS, run)
    assert scratch.is_dir()


def test_scraps_that_cannot_be_removed_keep_nothing_from_starting(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "FIND", "/bin/false")
    scrap = Path(os.environ["HOME"]) / ".tmp" / "scrap"
    scrap.mkdir(parents=True)
    argv, _ = render(settings("anthropic"), KEYS, run)
    assert argv == boot.ARGV
    assert scrap.is_dir()


def test_codex_keeps_no_snapshot_of_its_environment() -> None:
    folder = Path(boot.__file__).parent
    assert "COPY codex.toml /etc/codex/managed_config.toml\n" in (folder / "Dockerfile").read_text()
    told = tomllib.loads((folder / "codex.toml").read_text())["features"]
    assert told == {"shell_snapshot": False, "shell_snapshot_v2": False}


def test_snapshots_from_before_are_removed(tmp_path: Path) -> None:
    companies = tmp_path / "instances" / "default" / "companies"
    homes = (companies / "c" / "codex-home", companies / "c" / "agents" / "a" / "codex-home")
    for home in homes:
        (home / "shell_snapshots" / "deeper").mkdir(parents=True)
        (home / "shell_snapshots" / "1.sh").write_text("declare -x SECRET=1")
        (home / "shell_snapshots" / "deeper" / "2.sh").write_text("declare -x SECRET=1")
        (home / "config.toml").write_text("kept")
    boot.forget_snapshots(tmp_path)
    assert all(list((home / "shell_snapshots").iterdir()) == [] for home in homes)
    assert all((home / "config.toml").exists() for home in homes)

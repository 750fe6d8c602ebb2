"""Production refuses to start on what is only fit for trying out (K6)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.keys.vaults import toy_vault

PLATFORM = Path(__file__).resolve().parents[2] / "platform"
GOOD = {
    "DJANGO_SETTINGS_MODULE": "controlplane.settings.production",
    "SECRET_KEY": "0123456789abcdefghij" * 3,
    "GATEWAY_SECRET": "0123456789abcdefghij" * 2,
    "DATABASE_URL": "postgresql:///roost",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "VAULT_ADDR": "http://127.0.0.1:1",
    "VAULT_ROLE_ID": "a-role",
    "ALLOWED_HOSTS": "roost.example",
    "ROOST_AGENTS_DOMAIN": "agents.example",
}


def start(show: str = "'started'", **changes: str) -> subprocess.CompletedProcess[str]:
    usual = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PLATFORM)}
    code = f"import django; django.setup(); from django.conf import settings; print({show})"
    return subprocess.run([sys.executable, "-c", code], env={**usual, **GOOD, **changes},
                          capture_output=True, text=True, cwd="/", check=False)  # fmt: skip


def test_it_starts_also_while_its_vault_is_away():
    assert start().stdout == "started\n"


@pytest.mark.parametrize("cookie", ["SESSION", "CSRF"])
def test_no_other_host_can_set_the_dashboards_cookies(cookie):
    names = f"settings.{cookie}_COOKIE_NAME, settings.{cookie}_COOKIE_DOMAIN"

    name, domain = start(names).stdout.split()
    assert name.startswith("__Host-")
    assert domain == "None"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("SECRET_KEY", "short", "SECRET_KEY must be"),
        ("SECRET_KEY", "insecure-for-tests-only" * 4, "SECRET_KEY must be"),
        ("GATEWAY_SECRET", "", "GATEWAY_SECRET must be"),
        ("VAULT_ROLE_ID", "", "VAULT_ROLE_ID is missing"),
        ("VAULT_TOKEN", "root", "VAULT_TOKEN is set"),
        ("VAULT_ADDR", "http://vault.internal:8200", "VAULT_ADDR must be https://"),
        ("ROOST_STANDIN_URL", "http://10.0.0.1/v1", "has no stand-in"),
        ("S3_BUCKET", "roost", "half configured: S3_ACCESS_KEY_ID and S3_ENDPOINT_URL and"),
        ("S3_PUBLIC_ENDPOINT_URL", "http://s3.example", "S3_PUBLIC_ENDPOINT_URL must be https://"),
        ("ALLOWED_HOSTS", "*", "ALLOWED_HOSTS must name"),
        ("ROOST_AGENTS_DOMAIN", "localhost:8702", "ROOST_AGENTS_DOMAIN is missing"),
        ("ROOST_AGENTS_DOMAIN", "roost.example", "holds the dashboard's own host"),
        ("ROOST_AGENTS_DOMAIN", "Roost.example:8443", "holds the dashboard's own host"),
        ("ROOST_OUTBOUND_ALLOW", "everything", "ROOST_OUTBOUND_ALLOW has"),
    ],
)
def test_it_does_not_start_with(name, value, why):
    ended = start(**{name: value})

    assert ended.returncode != 0
    assert why in ended.stderr


def test_it_does_not_start_on_a_vault_in_dev_mode():
    with toy_vault() as address:
        ended = start(VAULT_ADDR=address)

    assert ended.returncode != 0
    assert "keeps everything in memory (dev mode)" in ended.stderr


def test_it_has_no_vault_in_memory(settings):
    settings.VAULT_MUST_BE_DURABLE = True
    from controlplane.keys.vault.memory import MemoryVault

    with pytest.raises(Exception, match="forgets every key"):
        MemoryVault()

"""The layering contracts bite: an import that breaks one of them fails the lint."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ["platform", "provisioner", "billing", "runtimes", "frontend", "deploy"]
BREAKS = {
    "Top-level packages point downwards": ("platform/controlplane/ids.py", "import provisioner"),
    "Control plane apps point downwards": (
        "platform/controlplane/tenants/models.py",
        "import controlplane.agents.models",
    ),
    "The frontend knows no engine": ("frontend/urls.py", "import provisioner.engines.docker"),
    "Engines, workspaces and runtimes are free of Django": (
        "runtimes/catalog.py",
        "import django.db",
    ),
    "Docker is known to one engine alone": ("provisioner/plan.py", "import docker"),
    "S3 is known to one module alone": ("provisioner/offsite/place.py", "import boto3"),
    "The vault's client is known to one module alone": (
        "platform/controlplane/keys/actions.py",
        "import hvac",
    ),
}


def test_every_contract_is_tried():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())

    names = {contract["name"] for contract in config["tool"]["importlinter"]["contracts"]}

    assert names == set(BREAKS)


@pytest.mark.parametrize("name", BREAKS)
def test_a_forbidden_import_is_found(name, tmp_path):
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", "static")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path, line = BREAKS[name]
    broken = tmp_path / path
    broken.write_text(f"{broken.read_text()}\n{line}\n")

    code = "import importlinter.cli as c; c.lint_imports_command()"
    environment = {"PYTHONPATH": f"{tmp_path}/platform:{tmp_path}", "PATH": ""}
    found = subprocess.run(
        [sys.executable, "-P", "-c", code, "--no-cache"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode != 0
    assert f"{name} BROKEN" in found.stdout

"""The product's own processes, and the environment that makes them this installation's."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local.credentials import ADMIN_EMAIL, Credentials
from deploy.local.layout import REPOSITORY, Installation
from deploy.local.programs import Program

MANAGE = str(REPOSITORY / "platform" / "manage.py")
SOURCES = ("platform", "provisioner", "billing", "runtimes", "frontend", "deploy")
SUFFIXES = frozenset({".css", ".html", ".js", ".json", ".py", ".svg", ".toml"})
FETCHED = frozenset({"node_modules", "vendor"})
# Of the off-site store; only the processes of the node get them: to ship, and to sign links.
OFFSITE = (
    *("S3_ENDPOINT_URL", "S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"),
    *("S3_REGION", "S3_PUBLIC_ENDPOINT_URL"),
)
# What a person may set for a start of their own; the rest follows from the installation.
CHOICES = (
    *("ROOST_ENGINE", "ROOST_WORKSPACE_DRIVER", "ROOST_GUARD"),
    *("ROOST_DELETE_GRACE_SECONDS", "ROOST_PARALLEL_BOOTS"),
    "ROOST_DRILL_ENGINE_COMMAND",
    *("ROOST_TRIAL_RESTORES", "ROOST_TRIAL_RESTORES_TIMEZONE"),
    *("ROOST_REAP_AGE_SECONDS", "ROOST_REAP_AT_ONCE"),
    *("ROOST_OUTBOUND_ALLOW", "ROOST_PROVIDER_URLS"),
    *("ROOST_EXPORT_KEEP_SECONDS", "ROOST_EXPORT_LINK_SECONDS", "ROOST_IMPORT_MAX_BYTES"),
    *OFFSITE,
)


@dataclass(frozen=True)
class Stack:
    """`services` is the mapping of `services.addresses`."""

    installation: Installation
    credentials: Credentials = field(repr=False)
    services: Mapping[str, str] = field(repr=False)
    service_address: str
    choices: Mapping[str, str] = field(default_factory=dict)
    docker_host: str = ""

    @property
    def model_url(self) -> str:
        return f"http://{self.service_address}:{self.installation.model_port}"

    def web_environment(self) -> dict[str, str]:
        """May write keys into the vault, and never reads one back; knows that there is a store, and
        none of its keys."""
        told = {"ROOST_ARCHIVES": "on"} if self._store() else {}
        return {**self._environment(), **self._role("WEB"), **told}

    def provisioner_environment(self) -> dict[str, str]:
        """May read what agents boot with, and ships snapshots to the off-site store."""
        return {**self.gateway_environment(), **self._role("PROVISIONER")}

    def gateway_environment(self) -> dict[str, str]:
        """Speaks to agents with the tokens the node holds in memory, and signs links to archives in
        the store; no role in the vault."""
        engine = {"DOCKER_HOST": self.docker_host} if self.docker_host else {}
        return {**self._environment(), **engine, **self._store()}

    def seed_environment(self) -> dict[str, str]:
        """What makes the demo organisation; the password travels here and never in argv."""
        return {
            **self.web_environment(),
            "ROOST_ADMIN_EMAIL": ADMIN_EMAIL,
            "ROOST_ADMIN_PASSWORD": self.credentials.admin_password,
        }

    def programs(self) -> tuple[Program, ...]:
        """In the order of their start."""
        own = self.installation
        source = {"ROOST_SOURCE": fingerprint(REPOSITORY)}
        web = {**self.web_environment(), **source}
        provisioner = {**self.provisioner_environment(), **source}
        gateway = {**self.gateway_environment(), **source}
        model = {"ROOST_STANDIN_MODEL": "1", **source}
        celery = (sys.executable, "-m", "celery", "-A", "controlplane", "worker")
        pool = ("--pool", "threads", "--concurrency", "8", "--queues", f"node.{own.node}")
        quiet = ("--loglevel", "info", "--without-gossip", "--without-mingle")
        return (
            Program("model", _asgi("deploy.model.app:app", self.service_address, own.model_port),
                    model),
            Program("web", _asgi("controlplane.asgi:application", "127.0.0.1", own.web_port), web),
            Program("gateway",
                    _asgi("provisioner.gateway.asgi:application", "127.0.0.1", own.gateway_port),
                    gateway),
            Program("worker", (*celery, *pool, *quiet), provisioner,
                    start_s=3, stop_wait_s=30),
            Program("node", (sys.executable, MANAGE, "node"), provisioner,
                    start_s=3, stop_wait_s=20),
        )  # fmt: skip

    def _environment(self) -> dict[str, str]:
        own = self.installation
        shared = {name: self.services[name] for name in ("DATABASE_URL", "REDIS_URL")}
        return {
            **shared,
            "ALLOWED_HOSTS": "127.0.0.1,localhost",
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.local",
            "GATEWAY_SECRET": self.credentials.gateway_secret,
            "GATEWAY_URL": f"http://127.0.0.1:{own.gateway_port}",
            # Browsers take every name below localhost to this machine.
            "ROOST_AGENTS_DOMAIN": f"localhost:{own.gateway_port}",
            "ROOST_ENGINE": "docker",
            "ROOST_GUARD": "on" if own.root else "off",
            "ROOST_INSTALLATION": own.name,
            "ROOST_KEYS_DIR": str(own.keys_dir),
            "ROOST_NETWORK_POOL": str(own.pool),
            "ROOST_NODE": own.node,
            "ROOST_SERVICE_ADDRESS": self.service_address,
            "ROOST_SERVICE_PORTS": str(own.model_port),
            "ROOST_STANDIN_URL": f"{self.model_url}/v1",
            "ROOST_STATE_DIR": str(own.state_dir),
            "ROOST_URL": own.url,
            "ROOST_WORKSPACE_DRIVER": "loop" if own.root else "plain",
            "SECRET_KEY": self.credentials.secret_key,
            "VAULT_ADDR": self.services["VAULT_ADDR"],
            "VAULT_MOUNT": self.services["VAULT_MOUNT"],
            **{name: text for name, text in self.choices.items() if name not in OFFSITE},
            "ROOST_OUTBOUND_ALLOW": ",".join(self._allowed()),
        }

    def _allowed(self) -> list[str]:
        """Where keys of customers are checked besides public addresses: the stand-in model."""
        own = f"{self.service_address}:{self.installation.model_port}"
        more = self.choices.get("ROOST_OUTBOUND_ALLOW")
        return [own, more] if more else [own]

    def _store(self) -> dict[str, str]:
        """The operator's own bucket where one is named, else the one beside us."""
        theirs = {name: self.choices[name] for name in OFFSITE if name in self.choices}
        return theirs or {name: self.services[name] for name in OFFSITE if name in self.services}

    def _role(self, role: str) -> dict[str, str]:
        return {
            "VAULT_ROLE_ID": self.services[f"VAULT_{role}_ROLE_ID"],
            "VAULT_SECRET_ID": self.services[f"VAULT_{role}_SECRET_ID"],
        }


def chosen(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in CHOICES if environ.get(name)}


def _asgi(application: str, host: str, port: int) -> tuple[str, ...]:
    server = (sys.executable, "-m", "uvicorn", application, "--host", host, "--port", str(port))
    # An open event stream must not hold up a stop.
    return (*server, "--timeout-graceful-shutdown", "5", "--no-server-header")


def fingerprint(repository: Path) -> str:
    """Changes with the code, so that a start after `git pull` restarts what runs the old one."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((repository / folder).rglob("*")):
            if path.suffix in SUFFIXES and FETCHED.isdisjoint(path.parts):
                status = path.stat()
                digest.update(f"{path} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()[:16]

"""Behind TLS, with real services. Refuses to start on anything that is only fit for trying out."""

import ipaddress
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings.base import *  # noqa: F403
from controlplane.settings.base import (
    ALLOWED_HOSTS,
    GATEWAY_SECRET,
    ROOST_AGENTS_DOMAIN,
    ROOST_STANDIN_URL,
    S3_ACCESS_KEY_ID,
    S3_BUCKET,
    S3_ENDPOINT_URL,
    S3_PUBLIC_ENDPOINT_URL,
    S3_SECRET_ACCESS_KEY,
    SECRET_KEY,
    VAULT_ADDR,
    VAULT_BACKEND,
    VAULT_ROLE_ID,
)
from controlplane.settings.env import env

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_SSL_REDIRECT = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
# With this prefix browsers take them from the dashboard's own host alone: an agent's page on a
# host nearby could else sign people in as somebody else.
SESSION_COOKIE_NAME = "__Host-roost_session"
CSRF_COOKIE_NAME = "__Host-roost_csrf"
VAULT_MUST_BE_DURABLE = True
ROOST_AGENTS_SCHEME = "https"


def _is_here(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


if len(SECRET_KEY) < 50 or "insecure" in SECRET_KEY:
    raise ImproperlyConfigured("SECRET_KEY must be a random text of 50 characters or more.")
if len(GATEWAY_SECRET) < 32:
    raise ImproperlyConfigured("GATEWAY_SECRET must be a random text of 32 characters or more.")
if not VAULT_ROLE_ID:
    raise ImproperlyConfigured("VAULT_ROLE_ID is missing: production keeps keys in a real vault.")
if VAULT_BACKEND.endswith("MemoryVault"):
    raise ImproperlyConfigured("The in-memory vault forgets every key; use a real one.")
if env.str("VAULT_TOKEN", default="") or env.str("BAO_TOKEN", default=""):
    raise ImproperlyConfigured(
        "VAULT_TOKEN is set: Roost signs in with VAULT_ROLE_ID and VAULT_SECRET_ID, whose policy "
        "allows no more than it needs. Remove the token from its environment."
    )
if urlsplit(VAULT_ADDR).scheme != "https" and not _is_here(urlsplit(VAULT_ADDR).hostname):
    raise ImproperlyConfigured(
        "VAULT_ADDR must be https:// unless the vault listens on this machine's loopback: keys "
        "would cross the network in the clear."
    )
_S3 = {
    "S3_ENDPOINT_URL": S3_ENDPOINT_URL,
    "S3_BUCKET": S3_BUCKET,
    "S3_ACCESS_KEY_ID": S3_ACCESS_KEY_ID,
    "S3_SECRET_ACCESS_KEY": S3_SECRET_ACCESS_KEY,
}
_lacking = sorted(name for name, value in _S3.items() if not value)
if 0 < len(_lacking) < len(_S3):
    raise ImproperlyConfigured(
        f"The off-site store is half configured: {' and '.join(_lacking)} missing. Set all of "
        f"{', '.join(sorted(_S3))}, or none to keep snapshots on the nodes."
    )
for _name, _url in (
    ("S3_ENDPOINT_URL", S3_ENDPOINT_URL),
    ("S3_PUBLIC_ENDPOINT_URL", S3_PUBLIC_ENDPOINT_URL),
):
    if _url and urlsplit(_url).scheme != "https" and not _is_here(urlsplit(_url).hostname):
        raise ImproperlyConfigured(
            f"{_name} must be https:// unless the store listens on this machine's loopback: "
            "downloads of workspaces would cross the network in the clear."
        )
if ROOST_STANDIN_URL:
    raise ImproperlyConfigured("ROOST_STANDIN_URL is for local use; production has no stand-in.")
if "*" in ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS must name the hosts that Roost answers for.")
_agents = ROOST_AGENTS_DOMAIN.partition(":")[0].lower()
if _agents == "localhost":
    raise ImproperlyConfigured(
        "ROOST_AGENTS_DOMAIN is missing: agents' own web UIs need a domain with a wildcard name."
    )
if any(f".{host.strip('.').lower()}".endswith(f".{_agents}") for host in ALLOWED_HOSTS):
    raise ImproperlyConfigured(
        "ROOST_AGENTS_DOMAIN holds the dashboard's own host: agents' pages could set its cookies. "
        "Give agents a domain beside it, best one of their own."
    )

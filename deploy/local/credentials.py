"""The installation's secrets: made once, kept in one file that only its user can read."""

import json
import secrets
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from deploy.local import files
from deploy.local.errors import CheckFailed

ADMIN_EMAIL = "admin@roost.local"


def _token() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Credentials:
    """No value is ever shown by repr, put on a command line or written to a log."""

    secret_key: str = field(default_factory=_token, repr=False)
    gateway_secret: str = field(default_factory=_token, repr=False)
    admin_password: str = field(default_factory=lambda: secrets.token_urlsafe(12), repr=False)
    web_role_id: str = field(default_factory=_token, repr=False)
    web_secret_id: str = field(default_factory=_token, repr=False)
    provisioner_role_id: str = field(default_factory=_token, repr=False)
    provisioner_secret_id: str = field(default_factory=_token, repr=False)
    store_key_id: str = field(default_factory=lambda: secrets.token_hex(10).upper(), repr=False)
    store_secret_key: str = field(default_factory=_token, repr=False)
    store_signing_key: str = field(default_factory=_token, repr=False)


# An installation from before these were there gets them at its next start.
ADDED = ("store_key_id", "store_secret_key", "store_signing_key")


def ensure(path: Path) -> Credentials:
    """Read the file, or make it. A broken one is refused: new secrets would not fit the data."""
    if not path.exists():
        made = Credentials()
        files.write_json(path, asdict(made))
        return made
    try:
        stored = json.loads(path.read_text())
        lacking = [name for name in ADDED if name not in stored]
        stored |= {name: getattr(Credentials(), name) for name in lacking}
        found = Credentials(**{item.name: str(stored[item.name]) for item in fields(Credentials)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckFailed(
            f"The secrets file {path} cannot be read ({type(error).__name__}).",
            "Restore it, or give up this installation's data with `make clean`.",
        ) from error
    if lacking:
        files.write_json(path, asdict(found))
    return found

"""What keys and secrets may look like. Pure; the same for API and dashboard."""

import base64
import binascii
import re
from urllib.parse import urlsplit

from controlplane.errors import Invalid
from controlplane.keys.errors import ImpossibleKey, ImpossibleSecret, LooksLikeSecret, ReservedName
from controlplane.keys.models import Kind, Provider
from controlplane.keys.reserved import is_key_variable, reserved_by
from controlplane.naming import refuse_secret as refuse_secret
from runtimes.catalog import Runtime

PREFIXES = {Provider.ANTHROPIC: "sk-ant-", Provider.OPENAI: "sk-"}
CONSOLES = {
    Provider.ANTHROPIC: "console.anthropic.com",
    Provider.OPENAI: "platform.openai.com",
    Provider.GEMINI: "aistudio.google.com",
}
MIN_LENGTH, MAX_LENGTH = 8, 4096

SECRET_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_RANDOM_PART = re.compile(r"(?=[A-Z]*[0-9][A-Z]*[0-9])(?=[0-9]*[A-Z])[A-Z0-9]{20,}")
MOST_SECRET_SIZE = 32 * 1024  # bytes of one
MOST_SECRETS, MOST_SECRET_BYTES = 32, 128 * 1024  # of one agent


def check_value(provider: str, value: str) -> None:
    """Raises ImpossibleKey. Providers' keys travel in an HTTP header: printable, no blanks."""
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ImpossibleKey(
            "A key has no blanks, line breaks or special characters; this one does. Copy it again."
        )
    # Runtimes read keys from files in which these three would be rewritten; see runtimes/*/boot.py.
    if "'" in value or "\\" in value or "${" in value:
        raise ImpossibleKey(
            "A key has no single quotes, backslashes or ${; this one does. Copy it again."
        )
    if not MIN_LENGTH <= len(value) <= MAX_LENGTH:
        raise ImpossibleKey(
            f"A key has {MIN_LENGTH} to {MAX_LENGTH} characters, this one has {len(value)}."
        )
    prefix = PREFIXES.get(Provider(provider))
    if prefix and not value.startswith(prefix):
        raise ImpossibleKey(
            f"A key of {Provider(provider).label} starts with {prefix}, this one does not. "
            f"Copy it again from {CONSOLES[Provider(provider)]}."
        )


def check_base_url(provider: str, base_url: str) -> None:
    """Raises Invalid. Own endpoints need an address; the others may be sent through a proxy."""
    if not base_url:
        if provider == Provider.CUSTOM:
            raise Invalid("base_url", "An own endpoint needs its address, such as https://host/v1.")
        return
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port  # reading the port checks it
    except ValueError:
        host = None
    printable = base_url.isascii() and base_url.isprintable() and " " not in base_url
    if not host or not printable or parts.scheme not in {"http", "https"}:
        raise Invalid("base_url", "This is not an address. It looks like https://host/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Invalid(
            "base_url", "The address may hold no user, password, query or fragment. Remove it."
        )


def check_secret_name(name: str) -> None:
    """Raises LooksLikeSecret, Invalid, ReservedName; none repeats a name that may be a value."""
    if SECRET_NAME.fullmatch(name) is None:
        refuse_secret(name)
        raise Invalid(
            "name",
            "A secret is named like an environment variable: 1 to 64 capital letters, digits and "
            "underscores, and no digit first. GRAFANA_TOKEN is one.",
        )
    # Word by word: ASIA_PACIFIC_TOKEN is honest, ASIAIOSFODNN7EXAMPLE is a key.
    for word in name.split("_"):
        refuse_secret(word)
        if _RANDOM_PART.search(word):
            raise LooksLikeSecret("name")
    if is_key_variable(name):
        raise ReservedName(
            f"{name} is how agents are given the key of their model. Add the value as a key "
            "instead, and choose it for the agent."
        )
    if keeper := reserved_by(name):
        raise ReservedName(f"{name} means something to {keeper} already. Choose another name.")


def check_secret_fits(runtime: Runtime, name: str) -> None:
    """Whether agents of the runtime can be given a secret of that name. Raises ReservedName."""
    if is_key_variable(name, [runtime]) or reserved_by(name, runtime):
        raise ReservedName(
            f"{name} means something to {runtime.title} itself, so its agents cannot have a "
            "secret of that name. Store the value under another one.",
            field="secrets",
        )


def secret_bytes(kind: str, value: str | None, value_base64: str | None) -> bytes:
    """The value as it was given, byte for byte. Raises Invalid for what that kind cannot carry."""
    if kind not in Kind.values:
        raise Invalid("kind", "kind is 'env' or 'file'.")
    if (value is None) == (value_base64 is None):
        raise Invalid("value", "Send the value once: as text in value, or encoded in value_base64.")
    data = _text_bytes(value) if value is not None else _decoded(value_base64 or "")
    field = "value" if value is not None else "value_base64"
    if not data:
        raise ImpossibleSecret(field, "A value has at least one byte, this one is empty.")
    if len(data) > MOST_SECRET_SIZE:
        raise ImpossibleSecret(
            field,
            f"A value has at most {MOST_SECRET_SIZE // 1024} KiB ({MOST_SECRET_SIZE} bytes), this "
            f"one has {len(data)} bytes.",
        )
    if kind == Kind.ENV and not _fits_a_variable(data):
        raise ImpossibleSecret(
            field,
            "A variable holds text without NUL bytes; this value is something else. Store it with "
            "the kind 'file': the agent gets exactly these bytes in a file.",
        )
    return data


def _text_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ImpossibleSecret(
            "value", "This is not valid text. Send its bytes in value_base64 instead."
        ) from None  # the error itself quotes the value


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ImpossibleSecret(
            "value_base64",
            "This is not base64. Encode the bytes once more, with A-Z a-z 0-9 + / and = only.",
        ) from None


def _fits_a_variable(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False

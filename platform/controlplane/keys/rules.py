"""What a key's name, value and address may look like. Pure; the same for API and dashboard."""

from urllib.parse import urlsplit

from controlplane.errors import Invalid
from controlplane.keys.errors import ImpossibleKey
from controlplane.keys.models import Provider
from controlplane.naming import refuse_secret as refuse_secret

PREFIXES = {Provider.ANTHROPIC: "sk-ant-", Provider.OPENAI: "sk-"}
CONSOLES = {
    Provider.ANTHROPIC: "console.anthropic.com",
    Provider.OPENAI: "platform.openai.com",
    Provider.GEMINI: "aistudio.google.com",
}
MIN_LENGTH, MAX_LENGTH = 8, 4096


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

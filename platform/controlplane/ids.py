"""Public identifiers: a prefix that tells the noun, and 16 random characters.

They are primary keys, so what a customer sees, what a log says and what a container
is called are one and the same. 32 letters, 16 places: 80 bits, not to be guessed.
"""

import secrets

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0 or 1: they are read aloud on the phone


def new_id(prefix: str) -> str:
    return f"{prefix}_" + "".join(secrets.choice(ALPHABET) for _ in range(16))


def organisation_id() -> str:
    return new_id("org")


def membership_id() -> str:
    return new_id("mem")


def token_id() -> str:
    return new_id("tok")


def key_id() -> str:
    return new_id("key")


def agent_id() -> str:
    return new_id("agt")


def release_id() -> str:
    return new_id("rel")

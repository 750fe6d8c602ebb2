"""Public identifiers: a prefix that tells the noun, and 16 random characters.

They are primary keys, so what a customer sees, what a log says and what a container
is called are one and the same. 32 letters, 16 places: 80 bits, not to be guessed.
"""

import re
import secrets

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0 or 1: they are read aloud on the phone


def new_id(prefix: str) -> str:
    return f"{prefix}_" + "".join(secrets.choice(ALPHABET) for _ in range(16))


def is_id(prefix: str, text: str) -> bool:
    """Whether it could be one of ours, and fits the columns that ids are kept in."""
    return re.fullmatch(rf"{prefix}_[a-z0-9]{{16}}", text) is not None


def organisation_id() -> str:
    return new_id("org")


def membership_id() -> str:
    return new_id("mem")


def token_id() -> str:
    return new_id("tok")


def key_id() -> str:
    return new_id("key")


def scan_id() -> str:
    return new_id("scn")


def snapshot_id() -> str:
    return new_id("snp")


def restore_id() -> str:
    return new_id("rst")


def export_id() -> str:
    return new_id("exp")


def import_id() -> str:
    return new_id("imp")


def drill_id() -> str:
    return new_id("drl")


def trial_id() -> str:
    return new_id("trl")


def stray_id() -> str:
    return new_id("str")


def reap_plan_id() -> str:
    return new_id("rpl")


def upgrade_id() -> str:
    return new_id("upg")


def secret_id() -> str:
    return new_id("sec")


def agent_id() -> str:
    return new_id("agt")


def release_id() -> str:
    return new_id("rel")

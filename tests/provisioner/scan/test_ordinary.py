"""What lies in many files by right is no secret; what was drawn at random is one."""

import secrets
import string

import pytest

from provisioner.scan.ordinary import is_ordinary

ORDINARY = [
    *(
        "development",
        "production",
        "true",
        "8080",
        "12345678",
        "20240131",
        "us-east-1",
        "DEBUG,INFO",
    ),
    *("Europe/Berlin", "http://localhost:8080", "https://api.openai.com/v1", "openrouter"),
    *("postgres://postgres@localhost:5432/postgres", "claude-sonnet-4-5", "gpt-4o-mini"),
    *("changeme123", "Password123", "aaaaaaaaaaaaaaaaaaaa", "abababababababab", "-" * 40),
    *("debian:bookworm-slim", "/workspace/data", "production-us-east-1"),
]
SECRET = [
    *("Tr0ub4d&3x", "correct-horse-battery-staple", "heron-4711-codeword", "q7f3k9x2m4"),
    *("https://hooks.example.com/services/T0/B0/Xk3", "postgres://app:hunter2x9@db:5432/app"),
    *("7f1c0d9ab24e", "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQ" * 40, "4929 1234 5678 9012"),
]


@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary(value):
    assert is_ordinary(value.encode())


@pytest.mark.parametrize("value", SECRET)
def test_no_ordinary(value):
    assert not is_ordinary(value.encode())


@pytest.mark.parametrize(
    ("signs", "length"), [(string.ascii_letters + string.digits, 16), ("0123456789abcdef", 20)]
)
def test_what_was_drawn_at_random_is_looked_for(signs, length):
    values = ["".join(secrets.choice(signs) for _ in range(length)) for _ in range(2000)]

    assert [value for value in values if is_ordinary(value.encode())] == []


def test_any_bytes_are_looked_for():
    assert not any(is_ordinary(secrets.token_bytes(16)) for _ in range(500))

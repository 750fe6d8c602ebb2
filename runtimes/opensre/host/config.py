"""What boot.py left on the tmpfs for this process: the token to expect and the model's key."""

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Config:
    """`key_name` is the variable OpenSRE knows the key by; `key` is empty where there is none."""

    token: str = field(repr=False)
    key_name: str
    key: str = field(repr=False)


def read(path: Path) -> Config:
    found = json.loads(path.read_text())
    return Config(token=found["token"], key_name=found["key_name"], key=found["key"])

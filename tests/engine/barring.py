"""Two organisations' networks, and proof that it was the guard that refused."""

import json
import subprocess

from provisioner import guard
from tests.engine.box import Box, network_of
from tests.engine.conftest import ACME, INSTALLATION, POOL, UMBRELLA

AT_ONCE = 2.0  # seconds: refused, not left hanging
ACME_NET = network_of(INSTALLATION, POOL, ACME)
UMBRELLA_NET = network_of(INSTALLATION, POOL, UMBRELLA)


def who(box: Box) -> guard.Who:
    return box.network.bridge, box.address


def denied() -> int:
    """Packets that the guard's chain `deny` has refused."""
    listed = subprocess.run(
        ["nft", "-j", "list", "chain", "inet", guard.table_name(INSTALLATION), "deny"],
        capture_output=True,
        check=True,
    )
    rules = [row["rule"]["expr"] for row in json.loads(listed.stdout)["nftables"] if "rule" in row]
    return sum(part["counter"]["packets"] for rule in rules for part in rule if "counter" in part)


def refused_at_once(box: Box, *targets: tuple[str, int]) -> None:
    before = denied()
    knocks = box.connect(*targets)
    assert [k for k in knocks if k.result not in {"refused", "EHOSTUNREACH"}] == []
    assert max(knock.seconds for knock in knocks) < AT_ONCE
    assert denied() - before >= len(targets), "it was not the guard that refused"

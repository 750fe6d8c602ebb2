import os
from pathlib import Path

import pytest

from deploy.local.errors import CheckFailed
from deploy.local.layout import SOCKET_PATH_LIMIT, from_environ, socket_dir


def test_the_default_is_the_repository_and_ports_8700_to_8703() -> None:
    own = from_environ({}, uid=0)
    assert own.state_dir.name == "var"
    ports = own.web_port, own.model_port, own.gateway_port, own.vault_port
    assert ports == (8700, 8701, 8702, 8703)
    assert (own.name, own.pool_address) == ("local", "10.213.255.1")


def test_a_second_installation_shares_nothing_with_the_first() -> None:
    first = from_environ({}, uid=0)
    second = from_environ(
        {
            "ROOST_STATE_DIR": "/srv/second",
            "ROOST_INSTALLATION": "second",
            "ROOST_PORT": "8710",
            "ROOST_NETWORK_POOL": "10.77.0.0/16",
        },
        uid=0,
    )
    names = ("state_dir", "run_dir", "keys_dir", "name", "pool_address", "url", "vault_port")
    assert [name for name in names if getattr(first, name) == getattr(second, name)] == []
    assert second.pool_address == "10.77.255.1"


def test_a_long_state_directory_gets_its_sockets_in_a_short_one() -> None:
    long = Path("/srv") / ("x" * 90)
    chosen = socket_dir(long, {}, uid=7)
    assert chosen.parent == Path("/tmp")
    assert socket_dir(long, {"XDG_RUNTIME_DIR": "/run/user/7"}, 7).parent == Path("/run/user/7")
    assert socket_dir(long, {}, uid=7) == chosen != socket_dir(long / "y", {}, uid=7)


@pytest.mark.parametrize("length", range(60, 100))
def test_no_socket_path_is_longer_than_the_kernel_takes(length: int) -> None:
    chosen = socket_dir(Path("/" + "x" * length), {}, uid=7)
    for name in ("pg/.s.PGSQL.5432", "supervisor.sock.4194304", "valkey.sock"):
        assert len(os.fsencode(chosen / name)) <= SOCKET_PATH_LIMIT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ROOST_STATE_DIR", "relative/dir"),
        ("ROOST_STATE_DIR", "/srv/100% mine"),
        ("ROOST_INSTALLATION", "Upper"),
        ("ROOST_INSTALLATION", "thirteen-long"),
        ("ROOST_NODE", "../x"),
        ("ROOST_PORT", "80"),
        ("ROOST_PORT", "65523"),
        ("ROOST_PORT", "web"),
        ("ROOST_PORT", "²"),
        ("ROOST_NETWORK_POOL", "10.0.0.0/24"),
        ("ROOST_NETWORK_POOL", "8.8.0.0/16"),
        ("ROOST_NETWORK_POOL", "10.0.0.1/16"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_what_to_do(name: str, value: str) -> None:
    with pytest.raises(CheckFailed) as refused:
        from_environ({name: value}, uid=0)
    assert name in str(refused.value)
    assert refused.value.do.startswith(("Set", "Use"))

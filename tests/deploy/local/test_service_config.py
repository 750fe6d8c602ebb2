import json
import re
from pathlib import Path

from deploy.local import openbao_config, postgres, seaweedfs, valkey
from deploy.local.layout import Installation
from deploy.vault import policy

ATTRIBUTE = r'\w+ = ("([^"\\]|\\.)*"|\[.*\]|\w+)'
BLOCK = r'[\w" -]+ (= )?\{'
HCL = openbao_config.render(8703, Path("/srv/var/openbao"), Path("/srv/var/unseal.key"))


def test_the_vault_takes_one_attribute_a_line() -> None:
    for line in HCL.splitlines():
        assert re.fullmatch(rf"\s*({ATTRIBUTE}|{BLOCK}|\}}|)", line), line


def test_the_vault_holds_no_secret_in_its_file_and_listens_on_loopback() -> None:
    assert 'env_var = "WEB_SECRET_ID"' in HCL
    assert re.findall(r"\n  address = (.*)", HCL) == ['"127.0.0.1:8703"']


def test_the_web_role_may_read_no_value() -> None:
    rules = re.findall(r'path "(.*?)" \{\s+capabilities = (\[.*?\])', policy("web"))
    readable = [path for path, can in rules if {"read", "patch", "sudo"} & set(json.loads(can))]
    assert readable == ["roost/metadata/orgs/*", "auth/token/lookup-self"]


def test_postgres_takes_no_tcp_and_only_its_own_user() -> None:
    text = postgres.configuration("root")
    assert "listen_addresses = ''" in text["postgresql.auto.conf"]
    assert text["pg_hba.conf"] == "local all all peer map=roost\n"
    assert text["pg_ident.conf"] == 'roost "root" roost\nroost "root" postgres\n'


def test_valkey_keeps_every_message_and_takes_no_tcp() -> None:
    options = valkey.options(Path("/d"), Path("/s.sock"))
    given = dict(zip(options[::2], options[1::2], strict=True))
    wanted = {"--port": "0", "--appendonly": "yes", "--maxmemory-policy": "noeviction"}
    assert {name: given[name] for name in wanted} == wanted


def test_the_store_listens_on_loopback_and_on_its_own_ports_alone() -> None:
    two = [Installation(Path("/s"), Path("/r"), port=port) for port in (8700, 8714)]
    given = dict(one[1:].split("=") for one in seaweedfs.options(two[0], Path("/d")))
    assert (given["ip"], given["ip.bind"], given["master.telemetry"]) == (
        *("127.0.0.1", "127.0.0.1"), "false",
    )  # fmt: skip
    first, second = (seaweedfs.ports(one) for one in two)
    assert {int(given[f"{name.replace('.grpc', '')}.port{'.grpc' * name.endswith('.grpc')}"])
            for name in first} == set(first.values())  # fmt: skip
    assert set(first.values()).isdisjoint(second.values())
    assert first["s3"] == 8704

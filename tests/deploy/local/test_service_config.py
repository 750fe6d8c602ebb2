import json
import re
from pathlib import Path

from deploy.local import openbao_config, postgres, valkey

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
    rules = re.findall(r'path "(.*?)" \{\s+capabilities = (\[.*?\])', openbao_config.WEB_POLICY)
    readable = [path for path, can in rules if {"read", "patch", "sudo"} & set(json.loads(can))]
    assert readable == ["roost/metadata/orgs/*"]


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

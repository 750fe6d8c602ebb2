import json
from pathlib import Path

import pytest

from deploy.local import credentials
from deploy.local.credentials import Credentials
from deploy.local.errors import CheckFailed


def test_secrets_are_made_once_and_readable_by_their_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    made = credentials.ensure(path)
    assert credentials.ensure(path) == made
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_older_file_gets_what_came_later(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    made = credentials.ensure(path)
    older = {k: v for k, v in json.loads(path.read_text()).items() if not k.startswith("store_")}
    path.write_text(json.dumps(older))

    found = credentials.ensure(path)

    assert (found.secret_key, credentials.ensure(path)) == (made.secret_key, found)
    assert found.store_secret_key != made.store_secret_key


def test_no_secret_is_shown_by_repr() -> None:
    made = Credentials()
    assert made.admin_password not in repr(made)
    assert repr(made) == "Credentials()"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"secret_key": "x"}', "\x00"])
def test_a_broken_file_is_refused_and_kept(text: str, tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(text)
    with pytest.raises(CheckFailed, match="cannot be read"):
        credentials.ensure(path)
    assert path.read_text() == text

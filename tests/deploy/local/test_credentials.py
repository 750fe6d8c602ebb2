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

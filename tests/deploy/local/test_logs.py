from pathlib import Path

import pytest

from deploy.local import logs
from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation
from deploy.local.logs import Follower


def test_every_line_stands_under_its_program(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    (installation.log_dir / "web.log").write_text("hello\nunfinished")
    logs.follow(installation, once=True)
    assert capsys.readouterr().out == "web        | hello\n"


def test_a_rotated_file_loses_no_new_line(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    path.write_text("one\n")
    follower = Follower(path)
    assert list(follower.lines()) == ["one"]
    path.rename(tmp_path / "web.log.1")
    path.write_text("two\nthr")
    assert list(follower.lines()) == ["two"]
    with path.open("a") as stream:
        stream.write("ee\n")
    assert list(follower.lines()) == ["three"]


def test_nothing_to_follow_is_said(installation: Installation) -> None:
    with pytest.raises(CheckFailed, match="There are no logs"):
        logs.follow(installation, once=True)

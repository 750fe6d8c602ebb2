import shlex

import pytest
from supervisor.options import ServerOptions

from deploy.local import files
from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation
from deploy.local.programs import Program
from deploy.local.supervisor_config import environment, render

HOSTILE = {
    "PERCENT": "50%",
    "EXPRESSION": "%(ENV_HOME)s",
    "LIST": "a,b=c",
    "EMPTY": "",
    "SPACE": "a b",
    "SIGNS": "a;b#c",
    "SHELL": "x\\y $HOME `id`",
    "SINGLE": "it's",
    "DOUBLE": 'say "x" y',
    "OTHER": "ünïcode",
}


def test_hostile_values_and_arguments_arrive_as_they_are(installation: Installation) -> None:
    argv = ("/bin/echo", "100%", "a b", "it's", "x;y", "worker@%h")
    read = _read_back(installation, Program("web", argv, HOSTILE))
    assert {name: read.environment[name] for name in HOSTILE} == HOSTILE
    assert tuple(shlex.split(read.command)) == argv


def test_a_program_is_restarted_for_ever_and_stopped_as_it_asks(installation: Installation) -> None:
    read = _read_back(installation, Program("pg", ("/bin/true",), stop_signal="INT", stop_wait_s=7))
    assert (read.stopsignal.name, read.stopwaitsecs) == ("SIGINT", 7)
    assert read.startretries > 10_000
    assert read.stdout_logfile_backups > 0


@pytest.mark.parametrize("value", ["a ;b", "a #b", "line\nbreak", "\"'", '"quoted"', "'x"])
def test_a_value_that_would_arrive_changed_is_refused(value: str) -> None:
    with pytest.raises(CheckFailed, match="The value of BAD"):
        environment({"BAD": value})


def _read_back(installation: Installation, program: Program):  # type: ignore[no-untyped-def]
    path = installation.state_dir / "supervisord.conf"
    files.write(path, render(installation, [program], {"SHARED": "1"}))
    assert path.stat().st_mode & 0o777 == 0o600
    options = ServerOptions()
    options.realize(["-c", str(path)])
    (group,) = options.process_group_configs
    (read,) = group.process_configs
    assert read.environment["SHARED"] == "1"
    return read

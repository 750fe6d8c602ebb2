from dataclasses import replace

import pytest

from deploy.local import engine, files, packages, processes
from deploy.local.errors import EngineMissing
from deploy.local.layout import Installation

NOWHERE = "unix:///nonexistent/docker.sock"


def test_an_engine_named_by_docker_host_is_never_replaced(installation: Installation) -> None:
    as_root = replace(installation, root=True)
    with pytest.raises(EngineMissing) as refused:
        engine.ensure(as_root, {"DOCKER_HOST": NOWHERE})
    assert "/nonexistent/docker.sock" in refused.value.what
    assert "DOCKER_HOST" in refused.value.do


@pytest.mark.parametrize(
    "host", ["ssh://elsewhere", "nonsense", "tcp://127.0.0.1:1", "tcp://[", "unix://"]
)
def test_an_engine_that_cannot_be_asked_is_a_problem_and_not_a_crash(host: str) -> None:
    assert engine.problem({"DOCKER_HOST": host})


def test_without_root_the_engine_has_to_run_already(installation: Installation) -> None:
    with pytest.raises(EngineMissing) as refused:
        engine.ensure(installation, {}, default=NOWHERE)
    assert refused.value.what.startswith("No Docker Engine answers")
    assert "as root on Debian or Ubuntu" in refused.value.do


def test_a_machine_without_engine_and_apt_is_told_to_install_one(
    installation: Installation,
) -> None:
    with pytest.raises(EngineMissing, match=r"no Docker Engine \(dockerd, iptables missing"):
        engine.install_missing(replace(installation, root=True), path="/nonexistent")


def test_only_the_packages_of_missing_commands_are_wanted() -> None:
    wanted = packages.missing({"sh": "dash", "no-such-command": "some-package"}, "/bin:/usr/bin")
    assert wanted == {"no-such-command": "some-package"}


def test_a_recorded_daemon_that_died_is_not_ours_and_nobody_is_ended(
    installation: Installation,
) -> None:
    init = processes.find(1)
    assert init is not None
    record = installation.run_dir / "dockerd.json"
    for pid, started in ((1, init.started), (1, init.started - 1), (2**22 - 1, 5)):
        files.write_json(record, {"pid": pid, "started": started})
        assert engine.stop(installation) is False
    assert processes.alive(init)

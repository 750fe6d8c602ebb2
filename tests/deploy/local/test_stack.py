from dataclasses import replace

import pytest

from deploy.local import services, stack
from deploy.local.credentials import Credentials
from deploy.local.layout import Installation
from deploy.local.stack import Stack


@pytest.fixture
def own(installation: Installation) -> Stack:
    given = Credentials()
    facts = services.addresses(services.of(installation, given), given)
    return Stack(installation, given, facts, "10.99.255.1", docker_host="unix:///d.sock")


def test_each_process_gets_its_own_vault_role_and_no_other(own: Stack) -> None:
    secrets = {
        program.name: {own.credentials.web_secret_id, own.credentials.provisioner_secret_id}
        & set(program.environment.values())
        for program in own.programs()
    }
    web, provisioner = {own.credentials.web_secret_id}, {own.credentials.provisioner_secret_id}
    assert secrets == {
        "model": set(),
        "web": web,
        "gateway": set(),
        "worker": provisioner,
        "node": provisioner,
    }


def test_only_the_node_gets_the_stores_key_and_the_web_is_told_of_it(own: Stack) -> None:
    key = own.credentials.store_secret_key
    having = {one.name for one in own.programs() if key in one.environment.values()}
    assert having == {"gateway", "worker", "node"}
    assert own.web_environment()["ROOST_ARCHIVES"] == "on"
    assert not any(name.startswith("S3_") for name in own.web_environment())


def test_an_own_bucket_takes_the_place_of_ours(own: Stack) -> None:
    chosen = {"S3_ENDPOINT_URL": "https://s3.example", "S3_BUCKET": "theirs"}
    environment = replace(own, choices=chosen).provisioner_environment()
    given = {name: text for name, text in environment.items() if name.startswith("S3_")}
    assert given == chosen


def test_no_secret_is_on_a_command_line(own: Stack) -> None:
    secrets = {value for value in vars(own.credentials).values()}
    backing = services.of(own.installation, own.credentials)
    every = [*own.programs(), *(service.program for service in backing)]
    assert [part for program in every for part in program.argv if part in secrets] == []


def test_the_web_process_is_not_told_where_the_engine_is(own: Stack) -> None:
    assert "DOCKER_HOST" not in own.web_environment()
    assert own.provisioner_environment()["DOCKER_HOST"] == "unix:///d.sock"


def test_without_root_the_weaker_drivers_are_chosen(own: Stack) -> None:
    assert own.web_environment()["ROOST_WORKSPACE_DRIVER"] == "plain"
    assert own.web_environment()["ROOST_GUARD"] == "off"
    as_root = replace(own, installation=replace(own.installation, root=True)).web_environment()
    assert (as_root["ROOST_WORKSPACE_DRIVER"], as_root["ROOST_GUARD"]) == ("loop", "on")


def test_a_person_may_choose_the_fake_engine(own: Stack) -> None:
    choices = stack.chosen({"ROOST_ENGINE": "fake", "ROOST_GUARD": "", "HOME": "/x"})
    assert choices == {"ROOST_ENGINE": "fake"}
    assert replace(own, choices=choices).web_environment()["ROOST_ENGINE"] == "fake"

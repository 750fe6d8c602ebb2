"""`isolation: gvisor`: a kernel of its own for one agent, where the engine has `runsc`; a refusal
that says so where it has not. Each machine that runs this has one or the other."""

import json
import os
import signal
import socket

import pytest

from controlplane.agents.actions import create_agent, stop_agent
from provisioner import names
from provisioner.engines.base import IsolationMissing
from tests.engine.barring import ACME_NET, refused_at_once
from tests.engine.box import box
from tests.engine.conftest import ADDRESS, MODEL_PORT, wait_for
from tests.engine.listeners import ANYWHERE, listening


def test_an_agent_in_gvisor_or_a_clear_no(node, tiny, acme_box):
    if "gvisor" not in node.engine.isolations():
        with (
            pytest.raises(IsolationMissing, match="no gVisor"),
            box(node, tiny, ACME_NET, host=4, isolation="gvisor"),
        ):
            raise AssertionError("it was made all the same")
        return

    with box(node, tiny, ACME_NET, host=4, dns=(ADDRESS,), isolation="gvisor") as made:
        seen = made.inspect()["HostConfig"]
        assert (seen["Runtime"], seen["CapDrop"], seen["ReadonlyRootfs"]) == (
            "runsc",
            ["ALL"],
            True,
        )
        release = made.run("uname", "-r").said.strip()
        assert release != acme_box.run("uname", "-r").said.strip()
        with socket.create_connection((made.address, 8642), timeout=5):
            pass
        with listening(ANYWHERE) as port:
            refused_at_once(made, (ACME_NET.gateway, port))
        assert made.connect((ADDRESS, MODEL_PORT))[0].result == "open"
        assert (
            json.loads(made.python("import os, json; print(json.dumps(os.getuid()))").said) == 10001
        )


def test_hermes_in_gvisor_or_a_clear_no(backend, go, as_alice):
    """The whole way, from the wish to the answer; up again after its sandbox was killed, and down
    for good when that is wanted."""
    agent = create_agent(
        as_alice, name="scout", runtime="hermes", disk_gib=1, egress="none", isolation="gvisor"
    )
    agent = go(agent)
    if "gvisor" not in backend.engine.isolations():
        assert (agent.reason, "no gVisor" in agent.message) == ("isolation_missing", True)
        return

    assert agent.status == "running", (agent.status, agent.message)
    name = names.container(agent.pk)
    os.kill(backend.engine._api.inspect_container(name)["State"]["Pid"], signal.SIGKILL)
    wait_for(lambda: backend.engine.inspect(name).restart_count == 1, 30)
    assert go(agent).status == "running"

    stop_agent(as_alice, agent)
    assert go(agent).status == "stopped"
    assert backend.engine.inspect(name).state == "exited"

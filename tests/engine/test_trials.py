"""Trial restores against a real store and real disks: equal, spoiled, killed in the middle."""

import subprocess

import pytest
from django.utils.timezone import now

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.jobs.claim import claim
from controlplane.snapshots.models import Snapshot
from controlplane.trials.actions import start_trial
from controlplane.trials.models import TrialRestore
from provisioner.offsite import place
from provisioner.snapshots import scratch, take
from provisioner.trials.alarm import TRIAL
from provisioner.workspaces.mounts import mounts_below
from tests.engine.mortal_work import killed_at

FILES = 300


@pytest.fixture
def shipped(backend, settings, store, as_alice) -> Snapshot:
    """Of an agent with a disk and no container: nothing here needs one."""
    for name, value in store.items():
        setattr(settings, name, value)
    place.bucket().ensure()
    agent = create_agent(as_alice, name="scout", runtime="hermes", disk_gib=1)
    columns = {"goal": "stopped", "status": "stopped", "observed_generation": 1}
    Agent.objects.update(workspace_made_at=now(), **columns)
    data = backend.workspaces.ensure(agent.pk, 1, made=False).data
    for number in range(FILES):
        (data / f"file {number}").write_text(f"what it holds {number}" * 50)
    (data / "sparse").write_bytes(b"")
    subprocess.run(["truncate", "-s", "100M", data / "sparse"], check=True)
    snapshot = Snapshot.objects.create(agent=agent, requested_by="Alice", release=1, disk_gib=1)
    found = claim(Snapshot, settings.ROOST_NODE, snapshot.pk)
    take.run(found, backend)
    snapshot.refresh_from_db()
    assert (snapshot.status, snapshot.message) == ("done", "")
    return snapshot


def left(backend) -> tuple[list[str], list]:
    clones = backend.workspaces.clones
    return clones.scratches(), mounts_below(clones.looks.folder)


def live(backend, snapshot) -> float:
    return backend.workspaces.used_at(snapshot.agent_id)


def test_what_is_offsite_comes_back_as_it_was(backend, shipped, as_alice, carry_out):
    done = carry_out(start_trial(as_alice))

    assert (done.outcome, done.message) == ("equal", "")
    assert (done.files, done.bytes) == (shipped.files, shipped.bytes)
    assert done.files == FILES + 1
    assert left(backend) == ([], [])


def test_also_when_the_copy_on_the_node_is_gone(backend, shipped, as_alice, carry_out):
    backend.workspaces.clones.drop(shipped.agent_id, shipped.pk)

    assert carry_out(start_trial(as_alice)).outcome == "equal"


def test_what_was_altered_is_named(backend, shipped, as_alice, carry_out):
    """Another snapshot's content lies under its name: as restic sees it, nothing is wrong."""
    data = backend.workspaces.ensure(shipped.agent_id, 1, made=True).data
    (data / "file 7").write_text("altered")
    (data / "file 8").unlink()
    other = Snapshot.objects.create(
        agent=shipped.agent, requested_by="Alice", release=1, disk_gib=1
    )
    take.run(claim(Snapshot, shipped.agent.node, other.pk), backend)
    other.refresh_from_db()
    Snapshot.objects.filter(pk=shipped.pk).update(offsite_id=other.offsite_id)
    Snapshot.objects.filter(pk=other.pk).update(verified_at=None)

    done = carry_out(start_trial(as_alice))

    assert (done.outcome, done.reason, done.snapshot_id) == ("differs", "not_as_it_was", shipped.pk)
    assert {"path": "file 7", "what": "changed"} in done.differences
    assert {"path": "file 8", "what": "removed"} in done.differences
    assert shipped.agent.conditions.get(type=TRIAL).status is False
    assert left(backend) == ([], [])


def test_what_the_store_lost_alarms(backend, shipped, as_alice, carry_out):
    place.forget_agent(shipped.agent.organisation_id, shipped.agent_id)

    done = carry_out(start_trial(as_alice))

    assert (done.outcome, done.reason) == ("differs", "offsite_empty")
    assert left(backend) == ([], [])


def test_a_store_that_is_away_is_no_outcome(backend, shipped, as_alice, carry_out, settings):
    settings.S3_ENDPOINT_URL = "http://127.0.0.1:9"

    done = carry_out(start_trial(as_alice))

    assert (done.outcome, done.reason) == ("not_run", "offsite_away")
    assert not shipped.agent.conditions.filter(type=TRIAL).exists()
    assert left(backend) == ([], [])


MOMENTS = [
    "provisioner.offsite.restic:Repository.fetch",
    "provisioner.snapshots.manifest:of",
    "provisioner.trials.run:compare",
    "provisioner.trials.alarm:all_clear",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_in_the_middle_another_goes_on(
    backend, shipped, as_alice, carry_out, services, settings, state, vault, moment
):
    """R1, B4"""
    trial = start_trial(as_alice)
    found = claim(TrialRestore, shipped.agent.node, trial.pk)
    before = live(backend, shipped)
    words = ("job", "trials.trialrestore", found.job_id, str(found.fence), moment)
    killed_at(state, services, settings, vault, *words)
    assert TrialRestore.objects.get().status == "running"
    assert scratch.clear(backend) == []  # somebody goes on with it

    done = carry_out(trial)

    assert (done.outcome, done.attempts) == ("equal", 2)
    assert left(backend) == ([], [])
    assert live(backend, shipped) == before


def test_killed_and_given_up_nothing_of_it_stays(
    backend, shipped, as_alice, services, settings, state, vault
):
    trial = start_trial(as_alice)
    found = claim(TrialRestore, shipped.agent.node, trial.pk)
    words = (
        "job",
        "trials.trialrestore",
        found.job_id,
        str(found.fence),
        "provisioner.snapshots.manifest:of",
    )
    killed_at(state, services, settings, vault, *words)
    disks, mounts = left(backend)
    assert (disks, len(mounts)) == ([trial.pk], 1)

    TrialRestore.objects.update(status="failed")
    assert scratch.clear(backend) == [trial.pk]

    assert left(backend) == ([], [])
    assert Snapshot.objects.get().usable

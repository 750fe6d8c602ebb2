"""A snapshot's copy on the node is what it was when it was taken, or it is not used."""

from controlplane.snapshots.models import Snapshot
from provisioner.backend import Backend
from provisioner.snapshots import manifest, ship
from provisioner.snapshots.manifest import Manifest
from provisioner.workspaces.base import CloneMissing, Clones


def prove(backend: Backend, clones: Clones, snapshot: Snapshot) -> None:
    """File by file; one that is only off-site is brought back first. Raises CloneMissing,
    NotAsItWas, OffsiteError, VaultUnavailable."""
    if _brought(backend, clones, snapshot):
        return
    with clones.opened(snapshot.agent_id, snapshot.pk) as root:
        try:
            found = manifest.of(root / "data")
        except OSError as error:
            raise ship.NotAsItWas("copy on the node", str(error)) from error
    if found.digest != snapshot.manifest_sha256:
        raise ship.NotAsItWas("copy on the node")


def listed(backend: Backend, clones: Clones, snapshot: Snapshot) -> Manifest:
    """What is in it, by its list, which is proven; each file is held against that when it is read.
    Raises as `prove` does."""
    _brought(backend, clones, snapshot)
    try:
        found = manifest.read(clones.manifest(snapshot.agent_id, snapshot.pk))
    except FileNotFoundError as error:
        raise CloneMissing(snapshot.pk) from error
    except (OSError, ValueError) as error:
        raise ship.NotAsItWas("list of its files") from error
    if found.digest != snapshot.manifest_sha256:
        raise ship.NotAsItWas("list of its files")
    return found


def _brought(backend: Backend, clones: Clones, snapshot: Snapshot) -> bool:
    """Whether it had to be brought, and was proven by that."""
    if clones.has(snapshot.agent_id, snapshot.pk) or snapshot.verified_at is None:
        return False
    ship.bring(backend, clones, snapshot)
    return True

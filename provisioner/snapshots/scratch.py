"""Taking away scratch disks that a killed job left and nobody goes on with."""

from controlplane.jobs.claim import rows_of
from controlplane.jobs.models import Job
from controlplane.snapshots.models import Snapshot
from controlplane.trials.models import TrialRestore
from provisioner.backend import Backend

# By how the disk's name begins: it is the id of its job.
MAKERS: dict[str, type[Job]] = {"snp_": Snapshot, "trl_": TrialRestore}


def clear(backend: Backend) -> list[str]:
    """The names of those that are gone now. One under way keeps its own: whoever goes on with it
    begins by making it anew."""
    clones = backend.workspaces.clones
    left = clones.scratches() if clones else []
    if clones is None or not left:
        return []
    gone = [name for name in left if name[:4] in MAKERS and not _under_way(name)]
    for name in gone:
        clones.forget_scratch(name)
    return gone


def _under_way(name: str) -> bool:
    return rows_of(MAKERS[name[:4]]).under_way().filter(pk=name).exists()

"""The kinds of jobs a node carries out, and how politely.

Imported by name when one runs: a kind's code is loaded by its own process alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from controlplane.drills.models import Drill
from controlplane.jobs.claim import Claim, GivenUp, end_plainly
from controlplane.jobs.models import Job
from controlplane.portability.models import Export, Import
from controlplane.scans.models import Scan
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.trials.models import TrialRestore
from controlplane.upgrades.models import Upgrade
from provisioner.backend import Backend

GIBIBYTE = 1024**3


@dataclass(frozen=True)
class Kind:
    model: type[Job]
    module: str  # with a function run(claim, backend)
    nice: int  # 0 to 19
    memory: int  # bytes of data its process may hold
    ending: str = ""  # module with a function given_up(claim, backend, why), where one is told so

    @property
    def label(self) -> str:
        return self.model._meta.label_lower

    def run(self, claim: Claim, backend: Backend) -> None:
        run = cast("Callable[[Claim, Backend], None]", import_module(self.module).run)
        run(claim, backend)

    def give_up(self, claim: Claim, backend: Backend, why: GivenUp) -> None:
        """Raises ClaimLost."""
        if not self.ending:
            end_plainly(claim, why)
            return
        module = import_module(self.ending)
        cast("Callable[[Claim, Backend, GivenUp], None]", module.given_up)(claim, backend, why)


ALL = (
    Kind(Scan, "provisioner.scan.run", 19, 2 * GIBIBYTE),
    Kind(Snapshot, "provisioner.snapshots.take", 10, 2 * GIBIBYTE),
    Kind(Restore, "provisioner.snapshots.restore", 5, 2 * GIBIBYTE),
    Kind(Drill, "provisioner.drills.run", 5, 2 * GIBIBYTE),
    Kind(TrialRestore, "provisioner.trials.run", 19, 2 * GIBIBYTE),
    Kind(Upgrade, "provisioner.upgrades.run", 5, 2 * GIBIBYTE, "provisioner.upgrades.ending"),
    Kind(Export, "provisioner.portability.export", 10, 2 * GIBIBYTE),
    Kind(Import, "provisioner.portability.take_in", 5, 2 * GIBIBYTE),
)
KINDS = {kind.label: kind for kind in ALL}

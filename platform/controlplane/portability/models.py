from datetime import timedelta
from typing import ClassVar, Self

from django.db import models
from django.utils.timezone import now

from controlplane import ids
from controlplane.agents.models import Agent
from controlplane.jobs.models import Job, JobQuerySet, indexes, one_per_agent, status_known
from controlplane.portability.errors import ImportExpired, ImportUsed
from controlplane.snapshots.models import Snapshot
from controlplane.tenants.models import Organisation

UPLOAD_S = 3600  # for which a form to upload by is good


class ExportQuerySet(JobQuerySet["Export"]):
    pass


class Export(Job):
    """A workspace as one file to take along: an archive in the store, for a while."""

    AT_ONCE: ClassVar[int] = 2
    ATTEMPTS: ClassVar[int] = 5
    LONGEST: ClassVar[timedelta] = timedelta(hours=6)
    CALLED: ClassVar[str] = "export"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.export_id)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="exports")
    # Which one it is of; where none was chosen, the node takes one for it.
    snapshot = models.ForeignKey(
        Snapshot, models.SET_NULL, null=True, blank=True, related_name="exports"
    )

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.portability.export
    taken_at = models.DateTimeField(null=True, blank=True)  # the moment it shows
    bytes = models.PositiveBigIntegerField(default=0)  # of the archive
    sha256 = models.CharField(max_length=64, blank=True)  # of the archive, read back
    kept_until = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)  # the archive is gone

    objects = ExportQuerySet.as_manager()

    class Meta:
        constraints = [one_per_agent("export"), status_known("export")]
        indexes = indexes("export")

    @property
    def filename(self) -> str:
        moment = self.taken_at or self.created_at
        return f"{self.agent.name}-{moment:%Y%m%d-%H%M%S}.tar.zst"

    @property
    def ready(self) -> bool:
        """There is something to download."""
        return self.status == "done" and self.removed_at is None


class ImportQuerySet(JobQuerySet["Import"]):
    def of(self, organisation: Organisation) -> Self:
        """Also those that no agent began with yet."""
        return self.filter(organisation=organisation)


class Import(Job):
    """An archive that somebody uploads, and the agent that begins as what is in it.

    Until an agent is begun with it, it is a place to upload to and no work of a node.
    """

    AT_ONCE: ClassVar[int] = 2
    ATTEMPTS: ClassVar[int] = 3
    LONGEST: ClassVar[timedelta] = timedelta(hours=6)
    CALLED: ClassVar[str] = "import"

    # --- people's columns
    id = models.CharField(primary_key=True, max_length=24, default=ids.import_id)
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="imports")
    agent = models.ForeignKey(  # type: ignore[assignment]
        Agent, models.CASCADE, null=True, blank=True, related_name="imports"
    )
    becomes = models.CharField(max_length=24, default=ids.snapshot_id)  # the agent's first snapshot
    expires_at = models.DateTimeField()  # of the place to upload to

    # --- the node's columns
    step = models.CharField(max_length=20, blank=True)  # see provisioner.portability.take_in
    files = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)  # of all its files
    came_from = models.CharField(max_length=32, blank=True)  # the runtime; "" where it says none
    report = models.TextField(blank=True)  # what the runtime's own migration said
    removed_at = models.DateTimeField(null=True, blank=True)  # the archive is gone

    objects = ImportQuerySet.as_manager()

    class Meta:
        constraints = [status_known("import")]
        indexes = [
            *indexes("import"),
            models.Index(fields=["organisation", "-created_at"], name="import_of_organisation"),
        ]

    @property
    def is_open(self) -> bool:
        """Something can be uploaded to it, and an agent can begin with it."""
        return self.agent_id is None and self.expires_at > now()

    def refuse_closed(self) -> None:
        """Raises ImportUsed, ImportExpired."""
        if self.agent_id:
            raise ImportUsed
        if not self.is_open:
            raise ImportExpired

    @property
    def begun(self) -> Agent:
        """The agent that began with it; for the node, whose work it is only then."""
        assert self.agent is not None  # noqa: S101
        return self.agent

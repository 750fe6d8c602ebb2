"""How full the workspaces of this node are: measured, written down, and told when it matters.

Each level begins higher than it ends, so that a disk at the edge is told once and not all day.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Prefetch
from django.utils.timezone import now

from controlplane.agents.disk import slot_of
from controlplane.agents.models import Agent, Condition, DiskLevel, DiskSample, Level
from controlplane.agents.timeline import tell
from provisioner.backend import Backend
from provisioner.words_disk import Said, said
from provisioner.workspaces.base import Usage, WorkspaceDriver, WorkspaceTrouble

log = logging.getLogger(__name__)

DISK_SPACE = "DiskSpace"
MEBIBYTE = 1024**2
FRESH = timedelta(minutes=5)  # figures that stay the same are written again this often
STEPS = ((DiskLevel.NEARLY_FULL, 0.95), (DiskLevel.FILLING, 0.80))
SLACK = 0.03  # below the beginning of a level until it ends
FULL_BELOW = MEBIBYTE, 1  # bytes and files left
ROOM_FROM = 16 * MEBIBYTE, 16  # left until one that was full is not any more
ORDER = (DiskLevel.UNKNOWN, DiskLevel.OK, DiskLevel.FILLING, DiskLevel.NEARLY_FULL, DiskLevel.FULL)
LEVELS = {
    DiskLevel.OK: Level.OK,
    DiskLevel.FILLING: Level.WARN,
    DiskLevel.NEARLY_FULL: Level.WARN,
    DiskLevel.FULL: Level.BAD,
}


def level_of(usage: Usage, before: str) -> DiskLevel:
    rank = ORDER.index(DiskLevel(before))
    if _without_room(usage, *(ROOM_FROM if before == DiskLevel.FULL else FULL_BELOW)):
        return DiskLevel.FULL
    for level, begins in STEPS:
        if usage.share >= begins - (SLACK if rank >= ORDER.index(level) else 0):
            return level
    return DiskLevel.OK


def _without_room(usage: Usage, least_bytes: int, least_files: int) -> bool:
    no_files = usage.inodes_total and usage.inodes_total - usage.inodes_used < least_files
    return bool(usage.total - usage.used < least_bytes or no_files)


def newest(workspaces: WorkspaceDriver, agent: Agent) -> tuple[DiskLevel, Usage | None]:
    """How full it is at this moment, or was when it could last be told."""
    try:
        usage = workspaces.usage(agent.pk)
    except WorkspaceTrouble:
        usage = None
    if usage is not None:
        return level_of(usage, agent.disk_level), usage
    known = agent.disk_used is not None and agent.disk_total
    kept = Usage(agent.disk_used or 0, agent.disk_total or 0) if known else None
    return DiskLevel(agent.disk_level), kept


class Disks:
    """Measures outside of any transaction; remembers the last slot that has samples."""

    def __init__(self, backend: Backend) -> None:
        self.workspaces = backend.workspaces
        self.sampled: datetime | None = None

    def measure(self) -> None:
        made = Agent.objects.on(settings.ROOST_NODE).exclude(workspace_made_at=None)
        found = {pk: self._usage(pk) for pk in made.values_list("pk", flat=True)}
        self._write({pk: usage for pk, usage in found.items() if usage is not None})

    def _usage(self, agent_id: str) -> Usage | None:
        try:
            return self.workspaces.usage(agent_id)
        except WorkspaceTrouble as trouble:
            log.warning("%s cannot be measured: %s", agent_id, trouble)
            return None

    def _write(self, found: dict[str, Usage]) -> None:
        moment = now()
        with transaction.atomic():
            # Who is being changed right now is left for the next round: nobody waits for us.
            rows = Agent.objects.select_for_update(skip_locked=True, no_key=True).filter(
                pk__in=found
            )
            space = Prefetch("conditions", Condition.objects.filter(type=DISK_SPACE))
            agents = list(rows.prefetch_related(space))
            stale = [agent for agent in agents if _is_news(agent, found[agent.pk], moment)]
            changed = [_note(agent, found[agent.pk], moment) for agent in stale]
            columns = ["disk_used", "disk_total", "disk_level", "disk_at"]
            Agent.objects.bulk_update(stale, columns, batch_size=500)
            Condition.objects.bulk_create(
                [condition for condition in changed if condition is not None],
                update_conflicts=True,
                unique_fields=["agent", "type"],
                update_fields=["status", "reason", "message", "since"],
            )
            self._sample(agents, found, slot_of(moment))

    def _sample(self, agents: Iterable[Agent], found: dict[str, Usage], slot: datetime) -> None:
        if slot == self.sampled:
            return
        DiskSample.objects.bulk_create(
            (
                DiskSample(
                    agent=agent, at=slot, used=found[agent.pk].used, total=found[agent.pk].total
                )
                for agent in agents
            ),
            ignore_conflicts=True,
        )
        self.sampled = slot


def _is_news(agent: Agent, usage: Usage, moment: datetime) -> bool:
    same = (agent.disk_used, agent.disk_total) == (usage.used, usage.total)
    # Files count for the level too, and are not kept.
    level = level_of(usage, agent.disk_level)
    fresh = agent.disk_at is not None and moment - agent.disk_at < FRESH
    return not (same and level == agent.disk_level and fresh)


def _note(agent: Agent, usage: Usage, moment: datetime) -> Condition | None:
    """Into the row, not yet saved. Another level is told, and is a condition to write."""
    before, level = DiskLevel(agent.disk_level), level_of(usage, agent.disk_level)
    agent.disk_used, agent.disk_total = usage.used, usage.total
    agent.disk_level, agent.disk_at = level, moment
    if level == before:
        return None
    words = said(level, usage, hard=agent.quota_enforcement != "advisory")
    if not (before == DiskLevel.UNKNOWN and level == DiskLevel.OK):
        tell(agent, f"disk.{level}", words.title, detail=words.detail, level=LEVELS[level])
    return _condition(agent, level, words, moment)


def _condition(agent: Agent, level: DiskLevel, words: Said, moment: datetime) -> Condition:
    well = level == DiskLevel.OK
    before = next(iter(agent.conditions.all()), None)  # the one that was prefetched
    return Condition(
        agent=agent,
        type=DISK_SPACE,
        status=well,
        reason=f"disk_{level}",
        message="" if well else f"{words.title}. {words.detail}"[:500],
        since=before.since if before is not None and before.status == well else moment,
    )

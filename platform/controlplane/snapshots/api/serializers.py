from rest_framework import serializers

from controlplane.api.serializers import StrictSerializer
from controlplane.jobs.models import JobStatus
from controlplane.snapshots.models import Origin, Restore, Snapshot, SnapshotPlan


class SnapshotSerializer(serializers.Serializer[Snapshot]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    origin = serializers.ChoiceField(choices=Origin.choices)
    note = serializers.CharField()
    release = serializers.IntegerField(help_text="The number of the release it belongs to.")
    status = serializers.ChoiceField(choices=JobStatus.choices)
    reason = serializers.CharField(help_text="Why it failed, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    usable = serializers.BooleanField(help_text="Whether it can be restored and forked.")
    on_node = serializers.BooleanField(help_text="A copy lies beside the agent.")
    verified_at = serializers.DateTimeField(
        allow_null=True, help_text="When the off-site copy was read back and compared."
    )
    files = serializers.IntegerField()
    bytes = serializers.IntegerField(help_text="Of all its files.")
    offsite_bytes = serializers.IntegerField(help_text="What it added to the off-site store.")
    held_ms = serializers.IntegerField(help_text="For how long the agent's writes waited.")
    manifest_sha256 = serializers.CharField(help_text="Of the list of its files and their hashes.")
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    taken_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class SnapshotCreate(StrictSerializer):
    note = serializers.CharField(required=False, allow_blank=True, max_length=200)


class RestoreCreate(StrictSerializer):
    path = serializers.CharField(
        required=False,
        max_length=20_000,
        trim_whitespace=False,
        help_text="A file or a folder, as the diff tells it; without it, all of the workspace.",
    )


class PlanSerializer(serializers.Serializer[SnapshotPlan]):
    on = serializers.BooleanField()
    cron = serializers.CharField(help_text="Minute, hour, day, month, weekday.")
    timezone = serializers.CharField(help_text="Of the IANA database, such as Europe/Berlin.")
    keep_last = serializers.IntegerField()
    keep_daily = serializers.IntegerField()
    keep_weekly = serializers.IntegerField()
    next_at = serializers.DateTimeField(allow_null=True)


class PlanPatch(StrictSerializer):
    on = serializers.BooleanField(required=False)
    cron = serializers.CharField(max_length=60, required=False)
    timezone = serializers.CharField(max_length=60, required=False)
    keep_last = serializers.IntegerField(required=False)
    keep_daily = serializers.IntegerField(required=False)
    keep_weekly = serializers.IntegerField(required=False)


class SnapshotFork(StrictSerializer):
    name = serializers.CharField(help_text="Of the new agent.")
    secrets = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Ids of the secrets it gets. It takes over none of its origin's.",
    )


class RestoreSerializer(serializers.Serializer[Restore]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    snapshot = serializers.CharField(source="snapshot_id")
    path = serializers.CharField(help_text="What is put back; empty: all of the workspace.")
    kept_as = serializers.CharField(
        source="keep_as", help_text="The snapshot of what it replaces, once that is done."
    )
    status = serializers.ChoiceField(choices=JobStatus.choices)
    reason = serializers.CharField(help_text="Why it failed, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

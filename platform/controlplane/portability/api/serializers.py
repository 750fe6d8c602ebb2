from typing import Any

from rest_framework import serializers

from controlplane.agents.api.serializers import AgentCreate
from controlplane.api.serializers import StrictSerializer
from controlplane.jobs.models import JobStatus
from controlplane.portability.models import Export, Import


class ExportSerializer(serializers.Serializer[Export]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    snapshot = serializers.CharField(
        source="snapshot_id",
        allow_null=True,
        help_text="What it is of; null once one that was taken for it is gone.",
    )
    status = serializers.ChoiceField(choices=JobStatus.choices)
    reason = serializers.CharField(help_text="Why it failed, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    taken_at = serializers.DateTimeField(allow_null=True, help_text="The moment it shows.")
    bytes = serializers.IntegerField(help_text="Of the archive.")
    sha256 = serializers.CharField(help_text="Of the archive, as it was read back.")
    filename = serializers.CharField()
    kept_until = serializers.DateTimeField(allow_null=True)
    removed_at = serializers.DateTimeField(allow_null=True)
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class ExportWithLinkSerializer(ExportSerializer):
    url = serializers.CharField(
        allow_null=True,
        help_text="Whoever has it can download the archive; another on every GET. Null before it "
        "is done, after it is removed, and for who may not write.",
    )
    url_expires_at = serializers.DateTimeField(allow_null=True)


class ExportCreate(StrictSerializer):
    snapshot = serializers.CharField(
        required=False, max_length=24, help_text="One of the agent's; without it one is taken now."
    )


class UploadSerializer(serializers.Serializer[Any]):
    url = serializers.CharField(help_text="POST to it, as multipart/form-data:")
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.CharField(),
        help_text="these, in any order, and last the archive as `file`.",
    )
    max_bytes = serializers.IntegerField()
    expires_at = serializers.DateTimeField()


class ImportSerializer(serializers.Serializer[Import]):
    id = serializers.CharField()
    agent = serializers.CharField(
        source="agent_id", allow_null=True, help_text="The one that began with it."
    )
    status = serializers.ChoiceField(
        choices=JobStatus.choices, help_text="pending until an agent begins with it."
    )
    reason = serializers.CharField(help_text="Why it failed or waits, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    files = serializers.IntegerField()
    bytes = serializers.IntegerField(help_text="Of all its files.")
    came_from = serializers.CharField(help_text="The runtime it was exported from, where it says.")
    report = serializers.CharField(help_text="What the runtime's own migration said.")
    expires_at = serializers.DateTimeField(help_text="Until then it can be used.")
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class ImportWithUploadSerializer(ImportSerializer):
    uploaded_bytes = serializers.IntegerField(
        allow_null=True, help_text="Null before an archive has arrived."
    )
    upload = UploadSerializer(
        allow_null=True, help_text="Null once an agent began with it, and for who may not write."
    )


class ImportBegin(AgentCreate):
    """What a new agent has besides its workspace: see creating one."""

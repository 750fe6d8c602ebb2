from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.agents.disk import disk_of
from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Cause, DiskLevel, Event, Level, Release
from controlplane.agents.releases import update_for
from controlplane.agents.sizes import DEFAULT_DISK_GIB
from controlplane.api.serializers import StrictSerializer

SIZE_HELP = "small (512 MB), medium (2 GB) or large (4 GB); the runtime's own by default."
EGRESS_HELP = (
    "open: the internet, never private networks. list: egress_hosts and the model's own address. "
    "none: only the stand-in model."
)
HOSTS_HELP = "For egress `list`: api.github.com, *.example.com, db.example.com:5432."
ISOLATION_HELP = "default, or gvisor where the node offers it."
BACKGROUND_HELP = "Let the runtime work unasked (heartbeats and the like), which spends tokens."
SECRETS_HELP = "Ids of your secrets."


def ids(help_text: str) -> serializers.ListField:
    item = serializers.CharField(max_length=300)
    return serializers.ListField(child=item, required=False, max_length=100, help_text=help_text)


def flag(help_text: str) -> serializers.BooleanField:
    return serializers.BooleanField(required=False, help_text=help_text)


def word(help_text: str) -> serializers.CharField:
    return serializers.CharField(max_length=10, required=False, help_text=help_text)


class ReleaseSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    image = serializers.CharField(help_text="Pinned: only an upgrade moves an agent to another.")
    runtime_version = serializers.CharField()
    key = serializers.CharField(source="key_id", allow_null=True)
    provider = serializers.CharField()
    model = serializers.CharField()
    size = serializers.CharField()
    memory_mb = serializers.IntegerField()
    cpu_millis = serializers.IntegerField()
    disk_gib = serializers.IntegerField()
    egress = serializers.CharField()
    egress_hosts = serializers.ListField(child=serializers.CharField())
    isolation = serializers.CharField()
    background = serializers.BooleanField()
    secrets = serializers.SerializerMethodField(help_text=SECRETS_HELP)
    author = serializers.CharField(source="author_label")
    cause = serializers.ChoiceField(choices=Cause.choices, help_text="For programs.")
    why = serializers.CharField(help_text="For people.")
    created_at = serializers.DateTimeField()

    def get_secrets(self, release: Release) -> list[str]:
        return sorted(secret.pk for secret in release.secrets.all())


class UpdateSerializer(serializers.Serializer[Any]):
    """A newer image of its runtime."""

    version = serializers.CharField()
    image = serializers.CharField()


class ConditionSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    status = serializers.BooleanField(allow_null=True, help_text="null: not known.")
    reason = serializers.CharField()
    message = serializers.CharField()
    since = serializers.DateTimeField()


class DiskSerializer(serializers.Serializer[Any]):
    """How full the workspace is. Null: not measured yet."""

    used_bytes = serializers.IntegerField(allow_null=True)
    total_bytes = serializers.IntegerField(
        allow_null=True, help_text="What it may fill; the file system's own share is not in it."
    )
    percent = serializers.IntegerField(allow_null=True, help_text="Rounded up, as df does.")
    enforcement = serializers.CharField(
        help_text="hard: writing ends with ENOSPC. advisory: only told. Empty: not made yet."
    )
    at = serializers.DateTimeField(
        allow_null=True, help_text="When it was measured; while it is stopped, it is not."
    )
    level = serializers.ChoiceField(
        choices=DiskLevel.choices, help_text="By bytes or by files, whichever is worse."
    )


class DiskSampleSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    used_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField()
    percent = serializers.IntegerField()


class DiskHistorySerializer(DiskSerializer):
    window = serializers.CharField()
    samples = DiskSampleSerializer(many=True, help_text="Oldest first, at most 289.")


class AgentSerializer(serializers.Serializer[Agent]):
    id = serializers.CharField()
    name = serializers.CharField()
    runtime = serializers.CharField()
    goal = serializers.ChoiceField(choices=Goal.choices)
    status = serializers.ChoiceField(choices=Status.choices)
    reason = serializers.CharField(help_text="Why, for programs.")
    message = serializers.CharField(help_text="Why and what to do, for people.")
    status_since = serializers.DateTimeField()
    deadline_at = serializers.DateTimeField(
        allow_null=True, help_text="When a status under way is given up."
    )
    ready_at = serializers.DateTimeField(allow_null=True)
    settled = serializers.BooleanField(
        help_text="Whether the newest wish was seen and led to one of its ends."
    )
    quota_enforcement = serializers.CharField(help_text="hard or advisory.")
    disk = serializers.SerializerMethodField()
    node = serializers.CharField()
    release = ReleaseSerializer()
    update_available = serializers.SerializerMethodField(
        help_text="The newer image that it could be upgraded to; null where it runs the newest."
    )
    conditions = ConditionSerializer(many=True)
    created_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    purge_at = serializers.DateTimeField(
        allow_null=True, help_text="Until then a deleted agent can be restored."
    )

    @extend_schema_field(DiskSerializer)
    def get_disk(self, agent: Agent) -> Any:
        return DiskSerializer(disk_of(agent)).data

    @extend_schema_field(UpdateSerializer(allow_null=True))
    def get_update_available(self, agent: Agent) -> Any:
        found = update_for(agent)
        return UpdateSerializer(found).data if found else None


class AgentCreate(StrictSerializer):
    name = serializers.CharField(max_length=63)
    runtime = serializers.CharField(max_length=32)
    key = serializers.CharField(
        max_length=24, required=False, allow_null=True, help_text="The id of one of your keys."
    )
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)
    size = word(SIZE_HELP)
    disk_gib = serializers.IntegerField(
        required=False, min_value=1, max_value=50, default=DEFAULT_DISK_GIB
    )
    egress = word(EGRESS_HELP)
    egress_hosts = ids(HOSTS_HELP)
    isolation = word(ISOLATION_HELP)
    background = flag(BACKGROUND_HELP)
    secrets = ids(SECRETS_HELP)


class AgentPatch(StrictSerializer):
    name = serializers.CharField(max_length=63, required=False)
    key = serializers.CharField(
        max_length=24, required=False, allow_blank=True, help_text="Empty: the local stand-in."
    )
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)
    size = word(SIZE_HELP)
    disk_gib = serializers.IntegerField(
        required=False, min_value=1, max_value=50, help_text="A workspace can only grow."
    )
    egress = word(EGRESS_HELP)
    egress_hosts = ids(HOSTS_HELP)
    isolation = word(ISOLATION_HELP)
    background = flag(BACKGROUND_HELP)
    secrets = ids(SECRETS_HELP)


class Nothing(StrictSerializer):
    """An empty body."""


class EventSerializer(serializers.Serializer[Event]):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    level = serializers.ChoiceField(choices=Level.choices)
    title = serializers.CharField()
    detail = serializers.CharField()
    actor = serializers.CharField()


class MessageSend(StrictSerializer):
    text = serializers.CharField(max_length=100_000, trim_whitespace=False)
    conversation = serializers.CharField(
        max_length=200,
        required=False,
        allow_null=True,
        help_text="Default: the agent's main conversation, the same one every time.",
    )


class AnswerSerializer(serializers.Serializer[Any]):
    conversation = serializers.CharField()
    text = serializers.CharField()


class MessageSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    role = serializers.CharField()
    text = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)


class HistorySerializer(serializers.Serializer[Any]):
    conversation = serializers.CharField(
        allow_null=True, help_text="Its id; null: the main one, which its first use makes."
    )
    messages = MessageSerializer(many=True)


class ConversationSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    updated_at = serializers.DateTimeField(allow_null=True)
    messages = serializers.IntegerField(allow_null=True)


class ConversationsSerializer(serializers.Serializer[Any]):
    conversations = ConversationSerializer(many=True)


class LogLineSerializer(serializers.Serializer[Any]):
    at = serializers.CharField()
    text = serializers.CharField()


class LogSerializer(serializers.Serializer[Any]):
    lines = LogLineSerializer(many=True)

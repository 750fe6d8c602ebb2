from typing import Any

from rest_framework import serializers

from controlplane.agents.lifecycle import Goal, Status
from controlplane.agents.models import Agent, Event, Level
from controlplane.agents.sizes import DEFAULT_DISK_GIB
from controlplane.api.serializers import StrictSerializer

SIZE_HELP = "small (512 MB), medium (2 GB) or large (4 GB)."
EGRESS_HELP = "open: the internet, never private networks. none: only the model endpoint."


class ReleaseSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    runtime_version = serializers.CharField()
    key = serializers.CharField(source="key_id", allow_null=True)
    provider = serializers.CharField()
    model = serializers.CharField()
    size = serializers.CharField()
    memory_mb = serializers.IntegerField()
    cpu_millis = serializers.IntegerField()
    disk_gib = serializers.IntegerField()
    egress = serializers.CharField()
    author = serializers.CharField(source="author_label")
    created_at = serializers.DateTimeField()


class ConditionSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    status = serializers.BooleanField(allow_null=True, help_text="null: not known.")
    reason = serializers.CharField()
    message = serializers.CharField()
    since = serializers.DateTimeField()


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
    node = serializers.CharField()
    release = ReleaseSerializer()
    conditions = ConditionSerializer(many=True)
    created_at = serializers.DateTimeField()


class AgentCreate(StrictSerializer):
    name = serializers.CharField(max_length=63)
    runtime = serializers.CharField(max_length=32)
    key = serializers.CharField(
        max_length=24, required=False, allow_null=True, help_text="The id of one of your keys."
    )
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)
    size = serializers.CharField(max_length=10, required=False, help_text=SIZE_HELP)
    disk_gib = serializers.IntegerField(
        required=False, min_value=1, max_value=50, default=DEFAULT_DISK_GIB
    )
    egress = serializers.CharField(max_length=5, required=False, help_text=EGRESS_HELP)


class AgentPatch(StrictSerializer):
    name = serializers.CharField(max_length=63, required=False)
    key = serializers.CharField(
        max_length=24, required=False, allow_blank=True, help_text="Empty: the local stand-in."
    )
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)
    size = serializers.CharField(max_length=10, required=False, help_text=SIZE_HELP)
    egress = serializers.CharField(max_length=5, required=False, help_text=EGRESS_HELP)


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
    conversation = serializers.CharField(allow_null=True)
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

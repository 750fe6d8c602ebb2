"""Checkpoints: what an agent saved with `roost-state`, told without the values."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import gateway
from controlplane.agents.api.streams import StreamingAgentView


class CheckpointSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    saved_at = serializers.DateTimeField(allow_null=True)
    age_s = serializers.IntegerField(allow_null=True, help_text="Seconds, by the node's clock.")
    sequence = serializers.IntegerField(allow_null=True, help_text="How often it was written.")
    bytes = serializers.IntegerField(allow_null=True)
    steps_done = serializers.IntegerField(allow_null=True)
    broken = serializers.BooleanField(help_text="The agent goes on from the one before it.")
    why = serializers.CharField(help_text="What is wrong with a broken one; else empty.")
    put_aside = serializers.IntegerField(help_text="Broken files of this name beside it.")


class CheckpointsSerializer(serializers.Serializer[Any]):
    checkpoints = CheckpointSerializer(many=True)
    note = serializers.CharField(help_text="What is odd about the folder; else empty.")


class Checkpoints(StreamingAgentView):
    needs = {"GET": "agents:read"}
    serializer_class = CheckpointsSerializer

    @extend_schema(operation_id="checkpoints_list")
    def get(self, request: Request, org: str, agt: str) -> Response:
        """By name. They live in the agent's workspace, which is mounted while the agent runs."""
        return Response(self.waited_for(gateway.checkpoints(self.access, self.agent())))

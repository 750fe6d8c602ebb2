"""Investigations: an agent looks into an alert and writes a report (OpenSRE)."""

from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import gateway
from controlplane.agents.api.streams import StreamingAgentView, as_events, heard, replayed, whole
from controlplane.api.idempotency import claim
from controlplane.api.schema import EVENT_STREAM
from controlplane.api.serializers import StrictSerializer

ALERT_HELP = "The alert as your monitoring sends it: any JSON object."


class InvestigationStart(StrictSerializer):
    alert = serializers.DictField(allow_empty=False, help_text=ALERT_HELP)


class InvestigationSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    root_cause = serializers.CharField()
    report = serializers.CharField(help_text="Markdown; empty in lists.")


class InvestigationsSerializer(serializers.Serializer[Any]):
    investigations = InvestigationSerializer(many=True)


class ReportSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    report = serializers.CharField(help_text="Markdown.")


class Investigations(StreamingAgentView):
    needs = {"GET": "agents:read", "POST": "agents:chat"}
    serializer_class = InvestigationsSerializer

    @extend_schema(operation_id="investigations_list")
    def get(self, request: Request, org: str, agt: str) -> Response:
        """Those finished, the newest first. They live in the agent's workspace."""
        rows = self.waited_for(gateway.investigations(self.access, self.agent()))
        return Response({"investigations": rows})

    @extend_schema(
        operation_id="investigations_start",
        request=InvestigationStart,
        responses={
            (200, "application/json"): ReportSerializer,
            (200, "text/event-stream"): EVENT_STREAM,
        },
    )
    def post(self, request: Request, org: str, agt: str) -> HttpResponseBase:
        """Look into an alert. Takes minutes: ask for server-sent events to see it at work."""
        alert = self.read(request, InvestigationStart)["alert"]
        agent = self.agent()
        turn = claim(request, self.access.actor.id)
        if turn.answer is not None:
            words = replayed(turn.answer)
        else:
            words = heard(gateway.stream_investigation(self.access, agent, alert), turn)
        if self.wants_stream():
            return self.streamed(as_events(words))
        done = self.waited_for(whole(words))
        return Response({"id": done["conversation"], "report": done["text"]})


class OneInvestigation(StreamingAgentView):
    needs = {"GET": "agents:read"}
    serializer_class = InvestigationSerializer

    @extend_schema(operation_id="investigations_get")
    def get(self, request: Request, org: str, agt: str, inv: str) -> Response:
        return Response(self.waited_for(gateway.investigation(self.access, self.agent(), inv)))

"""The releases of an agent: who made each, why, and what it changed."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import history
from controlplane.agents.api.serializers import ReleaseSerializer
from controlplane.agents.api.views import AgentView
from controlplane.agents.models import Release
from controlplane.agents.queries import get_release, releases_of
from controlplane.api.pagination import CursorPages


class ChangeSerializer(serializers.Serializer[Any]):
    field = serializers.ChoiceField(choices=history.FIELDS)
    old = serializers.JSONField(help_text="A key or a secret is told by its name.")
    new = serializers.JSONField()


class ReleaseInHistorySerializer(ReleaseSerializer):
    key_name = serializers.SerializerMethodField()
    secret_names = serializers.SerializerMethodField()
    changes = serializers.SerializerMethodField(help_text="Of the one before, field by field.")

    def get_key_name(self, release: Release) -> str | None:
        return release.key.name if release.key else None

    def get_secret_names(self, release: Release) -> list[str]:
        return sorted(secret.name for secret in release.secrets.all())

    def get_changes(self, release: Release) -> Any:
        before: dict[int, Release] = self.context["before"]
        found = history.changes(before.get(release.number), release)
        return ChangeSerializer(found, many=True).data


class ReleasePages(CursorPages):
    order = ("number",)


class Releases(AgentView):
    needs = {"GET": "agents:read"}
    queryset = Release.objects.none()
    serializer_class = ReleaseInHistorySerializer
    pagination_class = ReleasePages

    @extend_schema(operation_id="releases_list", responses=ReleaseInHistorySerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        """The newest first."""
        agent = self.agent()
        rows = self.paginate_queryset(releases_of(agent)) or []
        told = told_of(rows)
        return self.get_paginated_response(told)


class OneRelease(AgentView):
    needs = {"GET": "agents:read"}
    serializer_class = ReleaseInHistorySerializer

    @extend_schema(operation_id="releases_get")
    def get(self, request: Request, org: str, agt: str, rel: str) -> Response:
        return Response(told_of([get_release(self.agent(), int(rel))])[0])


def told_of(releases: list[Release]) -> list[Any]:
    before = history.before(releases)
    made = ReleaseInHistorySerializer(releases, many=True, context={"before": before})
    return list(made.data)

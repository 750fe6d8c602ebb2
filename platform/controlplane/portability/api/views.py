"""A workspace as one file to take along, and an agent that begins with one."""

from typing import Any

from asgiref.sync import async_to_sync
from django.db import connection
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents.api.serializers import AgentSerializer, Nothing
from controlplane.agents.api.views import AgentView
from controlplane.portability import actions, links
from controlplane.portability.api import serializers as s
from controlplane.portability.models import Export, Import
from controlplane.portability.queries import exports_of, get_export, get_import, imports_of
from controlplane.snapshots.queries import get_snapshot


class Exports(AgentView):
    queryset: Any = Export.objects.none()
    serializer_class = s.ExportSerializer
    needs = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(operation_id="exports_list", responses=s.ExportSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        return self.page(exports_of(self.access, self.agent()), s.ExportSerializer)

    @extend_schema(
        operation_id="exports_create", request=s.ExportCreate, responses={202: s.ExportSerializer}
    )
    def post(self, request: Request, org: str, agt: str) -> Response:
        """The workspace as one `tar.zst` to download, and to import anywhere. Watch `status`; once
        it is `done`, GET it for a link."""
        body = self.read(request, s.ExportCreate)
        agent = self.agent()
        wanted = body.get("snapshot")
        snapshot = get_snapshot(self.access, agent, wanted) if wanted else None

        def act() -> Response:
            made = actions.export_workspace(self.access, agent, snapshot=snapshot)
            return Response(s.ExportSerializer(made).data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class OneExport(AgentView):
    serializer_class = s.ExportWithLinkSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="exports_get")
    def get(self, request: Request, org: str, agt: str, exp: str) -> Response:
        """With a fresh link to download it by, while it is kept."""
        found = get_export(self.access, self.agent(), exp)
        link: dict[str, Any] = {"url": None, "expires_at": None}
        if found.ready and self.access.may("agents:write"):
            link = waited(links.export_link)(self.access, found)
        told = s.ExportSerializer(found).data
        return Response({**told, "url": link["url"], "url_expires_at": link["expires_at"]})


class Imports(AgentView):
    queryset: Any = Import.objects.none()
    serializer_class = s.ImportSerializer
    needs = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(operation_id="imports_list", responses=s.ImportSerializer(many=True))
    def get(self, request: Request, org: str) -> Response:
        return self.page(imports_of(self.access), s.ImportSerializer)

    @extend_schema(
        operation_id="imports_create", request=Nothing, responses={201: s.ImportSerializer}
    )
    def post(self, request: Request, org: str) -> Response:
        """A place to upload an archive to: GET it for where. Then begin an agent with it."""
        self.read(request, Nothing)

        def act() -> Response:
            made = actions.open_import(self.access)
            return Response(s.ImportSerializer(made).data, status.HTTP_201_CREATED)

        return self.once(act)


class OneImport(AgentView):
    serializer_class = s.ImportWithUploadSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="imports_get")
    def get(self, request: Request, org: str, imp: str) -> Response:
        """With where and how to upload its archive, until an agent begins with it."""
        found = get_import(self.access, imp)
        place: dict[str, Any] = {"uploaded_bytes": None, "upload": None}
        if found.is_open and self.access.may("agents:write"):
            place = waited(links.import_upload)(self.access, found)
        return Response({**s.ImportSerializer(found).data, **place})


class ImportAgent(AgentView):
    serializer_class = AgentSerializer
    needs = {"POST": "agents:write"}

    @extend_schema(
        operation_id="imports_begin_agent",
        request=s.ImportBegin,
        responses={202: AgentSerializer},
    )
    def post(self, request: Request, org: str, imp: str) -> Response:
        """A new agent whose workspace is what was uploaded. It waits until that is unpacked and
        checked; an archive that cannot be used fails it with a reason."""
        body = self.read(request, s.ImportBegin)
        found = get_import(self.access, imp)
        waited(links.refuse_without_upload)(self.access, found)
        return self.once(
            lambda: self.answer(
                actions.begin_agent(self.access, found, **body), status.HTTP_202_ACCEPTED
            )
        )


def waited(ask: Any) -> Any:
    """What the gateway answers, without a database connection held meanwhile."""
    if not connection.in_atomic_block:
        connection.close()
    return async_to_sync(ask)

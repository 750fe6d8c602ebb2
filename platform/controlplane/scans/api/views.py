"""Scans of an agent, and the key that signs their reports."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents.api.serializers import Nothing
from controlplane.agents.api.views import AgentView
from controlplane.scans.actions import start_scan
from controlplane.scans.api import serializers as s
from controlplane.scans.models import Scan, ScanKey
from controlplane.scans.queries import get_scan, scans_of
from controlplane.scans.signing import ALGORITHM
from controlplane.tenants.api.views import ApiView, token_of


class Scans(AgentView):
    queryset: Any = Scan.objects.none()
    serializer_class = s.ScanSerializer
    needs = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(operation_id="scans_list", responses=s.ScanSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        return self.page(scans_of(self.access, self.agent()), s.ScanSerializer)

    @extend_schema(operation_id="scans_create", request=Nothing, responses={202: s.ScanSerializer})
    def post(self, request: Request, org: str, agt: str) -> Response:
        """Look for the agent's live secrets wherever they must not be. Answers with the scan that
        is under way where there is one."""
        self.read(request, Nothing)
        agent = self.agent()

        def act() -> Response:
            data = s.ScanSerializer(start_scan(self.access, agent)).data
            return Response(data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class OneScan(AgentView):
    serializer_class = s.ScanWithReportSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="scans_get")
    def get(self, request: Request, org: str, agt: str, scn: str) -> Response:
        """With its signed report, once it is done."""
        scan = get_scan(self.access, self.agent(), scn)
        return Response(s.ScanWithReportSerializer(scan).data)


class ScanKeys(ApiView):
    serializer_class = s.ScanKeysSerializer

    @extend_schema(operation_id="scan_key_get")
    def get(self, request: Request) -> Response:
        """The public keys by which a report is checked. None until the first scan is done."""
        self.enter(request, token_of(request).organisation_id, "org:read")
        keys = ScanKey.objects.order_by("-created_at")
        return Response(s.ScanKeysSerializer({"algorithm": ALGORITHM, "keys": keys}).data)

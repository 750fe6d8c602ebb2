"""How full a workspace is and was."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents.api import serializers as s
from controlplane.agents.api.views import AgentView
from controlplane.agents.disk import WINDOWS, disk_of, points_of
from controlplane.errors import Invalid

WINDOW = OpenApiParameter("window", str, enum=[*WINDOWS], description="24h by default.")


class Disk(AgentView):
    needs = {"GET": "agents:read"}
    query = ("window",)
    serializer_class = s.DiskHistorySerializer

    @extend_schema(operation_id="agents_disk", parameters=[WINDOW])
    def get(self, request: Request, org: str, agt: str) -> Response:
        """How full the workspace is now, and samples for a graph: every five minutes for 24h, of
        each hour the fullest for 7d, of each eight hours for 90d."""
        window = request.query_params.get("window", "24h")
        if window not in WINDOWS:
            raise Invalid("window", f"window is one of: {', '.join(WINDOWS)}.")
        agent = self.agent()
        told = {**disk_of(agent), "window": window, "samples": points_of(agent, window)}
        return Response(s.DiskHistorySerializer(told).data)

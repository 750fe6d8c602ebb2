"""Moving an agent to the newest image, or back to a release, and what came of it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents.api.releases import told_of
from controlplane.agents.api.views import AgentView
from controlplane.upgrades import actions
from controlplane.upgrades.api import serializers as s
from controlplane.upgrades.models import Upgrade
from controlplane.upgrades.queries import get_upgrade, upgrades_of


class Upgrading(AgentView):
    serializer_class = s.UpgradeSerializer
    needs = {"POST": "agents:write"}

    @extend_schema(
        operation_id="agents_upgrade",
        request=s.UpgradeCreate,
        responses={202: s.UpgradeSerializer},
    )
    def post(self, request: Request, org: str, agt: str) -> Response:
        """To the newest image of its runtime: a snapshot is taken, the container replaced, the new
        one watched; if that does not go well, all is put back. See docs/releases.md."""
        body = self.read(request, s.UpgradeCreate)
        agent = self.agent()

        def act() -> Response:
            made = actions.upgrade_agent(self.access, agent, **body)
            return Response(s.UpgradeSerializer(made).data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class RollingBack(AgentView):
    serializer_class = s.RollbackSerializer
    needs = {"POST": "agents:write"}

    @extend_schema(
        operation_id="agents_rollback",
        request=s.RollbackCreate,
        responses={202: s.RollbackSerializer},
    )
    def post(self, request: Request, org: str, agt: str) -> Response:
        """A new release with the content of an earlier one. The workspace is not touched, and its
        disk never gets smaller."""
        body = self.read(request, s.RollbackCreate)
        agent = self.agent()

        def act() -> Response:
            made = actions.roll_back(self.access, agent, **body)
            told: dict[str, Any] = {"release": None, "upgrade": None}
            if isinstance(made, Upgrade):
                told["upgrade"] = s.UpgradeSerializer(made).data
            else:
                told["release"] = told_of([made])[0]
            return Response(told, status.HTTP_202_ACCEPTED)

        return self.once(act)


class Upgrades(AgentView):
    queryset: Any = Upgrade.objects.none()
    serializer_class = s.UpgradeSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="upgrades_list", responses=s.UpgradeSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        """The newest first; rollbacks to another image are among them."""
        return self.page(upgrades_of(self.access, self.agent()), s.UpgradeSerializer)


class OneUpgrade(AgentView):
    serializer_class = s.UpgradeSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="upgrades_get")
    def get(self, request: Request, org: str, agt: str, upg: str) -> Response:
        found = get_upgrade(self.access, self.agent(), upg)
        return Response(s.UpgradeSerializer(found).data)

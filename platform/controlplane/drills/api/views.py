"""Recovery drills of an agent, and the plan by which they are run."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents.api.views import AgentView
from controlplane.drills import actions
from controlplane.drills.api import serializers as s
from controlplane.drills.models import Drill, DrillPlan, Hurt
from controlplane.drills.queries import drills_of, get_drill, plan_of


class Drills(AgentView):
    queryset: Any = Drill.objects.none()
    serializer_class = s.DrillSerializer
    needs = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(operation_id="drills_list", responses=s.DrillSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        return self.page(drills_of(self.access, self.agent()), s.DrillSerializer)

    @extend_schema(
        operation_id="drills_create", request=s.DrillCreate, responses={202: s.DrillSerializer}
    )
    def post(self, request: Request, org: str, agt: str) -> Response:
        """End the agent in the chosen way and see whether all of it comes back. It is away for as
        long as its runtime takes to start. In the middle of a turn it is not run, unless forced."""
        body = self.read(request, s.DrillCreate)
        agent = self.agent()

        def act() -> Response:
            made = actions.start_drill(self.access, agent, **body)
            return Response(s.DrillSerializer(made).data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class OneDrill(AgentView):
    serializer_class = s.DrillWithReportSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="drills_get")
    def get(self, request: Request, org: str, agt: str, drl: str) -> Response:
        """With its report, once it is over."""
        found = get_drill(self.access, self.agent(), drl)
        return Response(s.DrillWithReportSerializer(found).data)


class Plan(AgentView):
    serializer_class = s.DrillPlanSerializer
    needs = {"GET": "agents:read", "PATCH": "agents:write"}

    @extend_schema(operation_id="drill_plan_get")
    def get(self, request: Request, org: str, agt: str) -> Response:
        """None are planned unless somebody turned it on."""
        return self.told(plan_of(self.access, self.agent()))

    @extend_schema(operation_id="drill_plan_patch", request=s.DrillPlanPatch)
    def patch(self, request: Request, org: str, agt: str) -> Response:
        """A drill every so many days, when the agent runs and is in no turn; else later. A kind or
        a number of days turns it on."""
        body = self.read(request, s.DrillPlanPatch)
        return self.told(actions.change_plan(self.access, self.agent(), **body))

    def told(self, plan: DrillPlan | None) -> Response:
        row = plan or DrillPlan(kind=Hurt.PROCESS, every_days=actions.USUAL)
        told = {"on": plan is not None, "kind": row.kind, "every_days": row.every_days}
        told |= {"next_at": row.next_at, "set_by": row.set_by}
        return Response(s.DrillPlanSerializer(told).data)

"""Snapshots of an agent's workspace, and putting it back to one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents.api.serializers import AgentSerializer
from controlplane.agents.api.views import AgentView
from controlplane.snapshots import actions
from controlplane.snapshots.api import serializers as s
from controlplane.snapshots.forking import fork
from controlplane.snapshots.models import Restore, Snapshot
from controlplane.snapshots.plans import change_plan, plan_of
from controlplane.snapshots.queries import get_restore, get_snapshot, restores_of, snapshots_of


class Snapshots(AgentView):
    queryset: Any = Snapshot.objects.none()
    serializer_class = s.SnapshotSerializer
    needs = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(operation_id="snapshots_list", responses=s.SnapshotSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        return self.page(snapshots_of(self.access, self.agent()), s.SnapshotSerializer)

    @extend_schema(
        operation_id="snapshots_create",
        request=s.SnapshotCreate,
        responses={202: s.SnapshotSerializer},
    )
    def post(self, request: Request, org: str, agt: str) -> Response:
        """Take one of the workspace as it is now; the agent goes on. It is `usable` within
        seconds, and `done` once its off-site copy was read back and compared."""
        body = self.read(request, s.SnapshotCreate)
        agent = self.agent()

        def act() -> Response:
            made = actions.take_snapshot(self.access, agent, **body)
            return Response(s.SnapshotSerializer(made).data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class SnapshotView(AgentView):
    """A view of one snapshot: `self.snapshot()` finds it among the agent's."""

    def snapshot(self) -> Snapshot:
        return get_snapshot(self.access, self.agent(), self.kwargs["snp"])


class OneSnapshot(SnapshotView):
    serializer_class = s.SnapshotSerializer
    needs = {"GET": "agents:read", "DELETE": "agents:write"}

    @extend_schema(operation_id="snapshots_get")
    def get(self, request: Request, org: str, agt: str, snp: str) -> Response:
        return Response(s.SnapshotSerializer(self.snapshot()).data)

    @extend_schema(operation_id="snapshots_delete", responses={204: None})
    def delete(self, request: Request, org: str, agt: str, snp: str) -> Response:
        actions.delete_snapshot(self.access, self.snapshot())
        return Response(status=status.HTTP_204_NO_CONTENT)


class SnapshotRestores(SnapshotView):
    serializer_class = s.RestoreSerializer
    needs = {"POST": "agents:write"}

    @extend_schema(
        operation_id="snapshots_restore",
        request=s.RestoreCreate,
        responses={202: s.RestoreSerializer},
    )
    def post(self, request: Request, org: str, agt: str, snp: str) -> Response:
        """Put the workspace back to this snapshot. A running agent is stopped and started for it;
        what is replaced is kept as a snapshot. With `path`, one file or folder is put back while
        the agent goes on; a program that has a file open does not notice."""
        body = self.read(request, s.RestoreCreate)
        snapshot = self.snapshot()

        def act() -> Response:
            restore = actions.restore_snapshot(self.access, snapshot, **body)
            return Response(s.RestoreSerializer(restore).data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class SnapshotForks(SnapshotView):
    serializer_class = AgentSerializer
    needs = {"POST": "agents:write"}

    @extend_schema(
        operation_id="snapshots_fork", request=s.SnapshotFork, responses={202: AgentSerializer}
    )
    def post(self, request: Request, org: str, agt: str, snp: str) -> Response:
        """A new agent that begins as this snapshot, with an identity and a token of its own."""
        body = self.read(request, s.SnapshotFork)
        snapshot = self.snapshot()
        return self.once(
            lambda: self.answer(fork(self.access, snapshot, **body), status.HTTP_202_ACCEPTED)
        )


class Plan(AgentView):
    serializer_class = s.PlanSerializer
    needs = {"GET": "agents:read", "PATCH": "agents:write"}

    @extend_schema(operation_id="snapshot_plan_get")
    def get(self, request: Request, org: str, agt: str) -> Response:
        """When its snapshots are taken by themselves; daily unless somebody chose otherwise."""
        return Response(s.PlanSerializer(plan_of(self.agent())).data)

    @extend_schema(operation_id="snapshot_plan_patch", request=s.PlanPatch)
    def patch(self, request: Request, org: str, agt: str) -> Response:
        body = self.read(request, s.PlanPatch)
        return Response(s.PlanSerializer(change_plan(self.access, self.agent(), **body)).data)


class Restores(AgentView):
    queryset: Any = Restore.objects.none()
    serializer_class = s.RestoreSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="restores_list", responses=s.RestoreSerializer(many=True))
    def get(self, request: Request, org: str, agt: str) -> Response:
        return self.page(restores_of(self.access, self.agent()), s.RestoreSerializer)


class OneRestore(AgentView):
    serializer_class = s.RestoreSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="restores_get")
    def get(self, request: Request, org: str, agt: str, rst: str) -> Response:
        return Response(s.RestoreSerializer(get_restore(self.access, self.agent(), rst)).data)

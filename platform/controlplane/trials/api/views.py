"""Trial restores of an organisation: what came of them, and one now."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.tenants.api.views import OrganisationView
from controlplane.trials.actions import start_trial
from controlplane.trials.api import serializers as s
from controlplane.trials.models import TrialRestore
from controlplane.trials.queries import get_trial, trials_of


class TrialRestores(OrganisationView):
    queryset: Any = TrialRestore.objects.none()
    serializer_class = s.TrialRestoreSerializer
    needs = {"GET": "agents:read", "POST": "agents:write"}

    @extend_schema(
        operation_id="trial_restores_list", responses=s.TrialRestoreSerializer(many=True)
    )
    def get(self, request: Request, org: str) -> Response:
        return self.page(trials_of(self.access), s.TrialRestoreSerializer)

    @extend_schema(
        operation_id="trial_restores_create",
        request=s.TrialRestoreCreate,
        responses={202: s.TrialRestoreSerializer},
    )
    def post(self, request: Request, org: str) -> Response:
        """Bring back one of the organisation's off-site snapshots, chosen at random, beside
        everything, and compare it file by file. No agent notices."""
        self.read(request, s.TrialRestoreCreate)

        def act() -> Response:
            made = start_trial(self.access)
            return Response(s.TrialRestoreSerializer(made).data, status.HTTP_202_ACCEPTED)

        return self.once(act)


class OneTrialRestore(OrganisationView):
    queryset: Any = TrialRestore.objects.none()
    serializer_class = s.TrialRestoreSerializer
    needs = {"GET": "agents:read"}

    @extend_schema(operation_id="trial_restores_get")
    def get(self, request: Request, org: str, trl: str) -> Response:
        return Response(s.TrialRestoreSerializer(get_trial(self.access, trl)).data)

from typing import Any

from rest_framework import serializers

from controlplane.api.serializers import StrictSerializer
from controlplane.jobs.models import JobStatus
from controlplane.trials.models import Outcome, TrialRestore


class TrialDifferenceSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    what = serializers.ChoiceField(choices=["added", "changed", "removed", "touched"])


class TrialRestoreSerializer(serializers.Serializer[TrialRestore]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    snapshot = serializers.CharField(source="snapshot_id")
    status = serializers.ChoiceField(choices=JobStatus.choices)
    outcome = serializers.ChoiceField(
        choices=Outcome.choices, allow_blank=True, help_text="Empty until it is over."
    )
    reason = serializers.CharField(help_text="Why it differs or was not run, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    took_ms = serializers.IntegerField(allow_null=True)
    files = serializers.IntegerField(help_text="That came back.")
    bytes = serializers.IntegerField()
    differences = TrialDifferenceSerializer(
        many=True, help_text="The first 50; `touched` is owner, mode, times or attributes alone."
    )
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class TrialRestoreCreate(StrictSerializer):
    """Nothing is chosen: which snapshot is tried is left to chance."""

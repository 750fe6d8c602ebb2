from typing import Any

from rest_framework import serializers

from controlplane.api.serializers import StrictSerializer
from controlplane.drills.actions import LONGEST_DAYS
from controlplane.drills.models import Drill, Hurt, Verdict
from controlplane.jobs.models import JobStatus


class DifferenceSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    what = serializers.ChoiceField(choices=["missing", "changed"])


class DrillSerializer(serializers.Serializer[Drill]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    kind = serializers.ChoiceField(choices=Hurt.choices)
    force = serializers.BooleanField(help_text="Run although a turn is under way.")
    status = serializers.ChoiceField(choices=JobStatus.choices)
    verdict = serializers.ChoiceField(
        choices=Verdict.choices, allow_blank=True, help_text="Empty until it is over."
    )
    reason = serializers.CharField(help_text="Why it failed or was not run, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    snapshot = serializers.CharField(
        source="snapshot_id",
        allow_null=True,
        help_text="What it compares with; a drill that passed needs it no more and removes it.",
    )
    killed_at = serializers.DateTimeField(allow_null=True)
    recovered_at = serializers.DateTimeField(
        allow_null=True, help_text="When it ran and answered again."
    )
    recovery_ms = serializers.IntegerField(allow_null=True)
    baseline_ms = serializers.IntegerField(
        allow_null=True, help_text="What a boot of its runtime usually takes."
    )
    answered = serializers.BooleanField(allow_null=True)
    conversation_reachable = serializers.BooleanField(
        allow_null=True,
        help_text="Whether the main conversation is as long as before; null where it cannot say.",
    )
    files_compared = serializers.IntegerField()
    files_equal = serializers.IntegerField()
    bytes_compared = serializers.IntegerField()
    differences = DifferenceSerializer(many=True, help_text="The first 50.")
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class DrillWithReportSerializer(DrillSerializer):
    report = serializers.DictField(
        allow_null=True, help_text="See docs/drills.md; null until done."
    )


class DrillCreate(StrictSerializer):
    kind = serializers.ChoiceField(choices=Hurt.choices)
    force = serializers.BooleanField(required=False)


class DrillPlanSerializer(serializers.Serializer[Any]):
    on = serializers.BooleanField()
    kind = serializers.ChoiceField(choices=Hurt.choices)
    every_days = serializers.IntegerField()
    next_at = serializers.DateTimeField(
        allow_null=True, help_text="The next is then, or as soon as it runs and rests."
    )
    set_by = serializers.CharField()


class DrillPlanPatch(StrictSerializer):
    on = serializers.BooleanField(required=False)
    kind = serializers.ChoiceField(choices=Hurt.choices, required=False)
    every_days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS, required=False)

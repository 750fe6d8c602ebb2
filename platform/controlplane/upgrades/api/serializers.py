from typing import Any

from rest_framework import serializers

from controlplane.agents.api.releases import ReleaseInHistorySerializer
from controlplane.api.serializers import StrictSerializer
from controlplane.jobs.models import JobStatus
from controlplane.upgrades.models import Outcome, Upgrade

FORCE_HELP = "Also in the middle of a turn, and to an image that failed for this agent before."


class LostSerializer(serializers.Serializer[Any]):
    file = serializers.CharField()
    key = serializers.CharField(help_text="Its path; empty: the whole file.")


class UpgradeSerializer(serializers.Serializer[Upgrade]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    from_version = serializers.CharField()
    from_image = serializers.CharField()
    to_version = serializers.CharField()
    to_image = serializers.CharField()
    back_to = serializers.IntegerField(
        allow_null=True, help_text="The release whose content it takes over, of a rollback."
    )
    force = serializers.BooleanField(help_text=FORCE_HELP)
    status = serializers.ChoiceField(choices=JobStatus.choices)
    outcome = serializers.ChoiceField(
        choices=Outcome.choices, allow_blank=True, help_text="Empty until it is over."
    )
    reason = serializers.CharField(help_text="Why it was not kept, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    step = serializers.CharField(help_text="What is done now.")
    was_running = serializers.BooleanField(
        source="was_up", allow_null=True, help_text="A stopped agent is moved and stays stopped."
    )
    answered_before = serializers.BooleanField(
        source="spoke_before", allow_null=True, help_text="A message; null: it was not asked."
    )
    answered_after = serializers.BooleanField(source="spoke_after", allow_null=True)
    snapshot = serializers.CharField(
        source="snapshot_id", allow_null=True, help_text="Of the workspace from before."
    )
    release = serializers.IntegerField(
        source="release_made", allow_null=True, help_text="The number of the one it made."
    )
    switched_at = serializers.DateTimeField(allow_null=True)
    healthy_at = serializers.DateTimeField(
        allow_null=True, help_text="When the new version ran and answered."
    )
    config_lost = LostSerializer(
        many=True, help_text="Keys of its configuration that went, never values; the first 50."
    )
    rolled_back_as = serializers.IntegerField(
        source="release_back", allow_null=True, help_text="The number of the release from before."
    )
    restore = serializers.CharField(
        source="restore_id", allow_null=True, help_text="By which the workspace was put back."
    )
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class UpgradeCreate(StrictSerializer):
    force = serializers.BooleanField(required=False, help_text=FORCE_HELP)


class RollbackCreate(StrictSerializer):
    release = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, help_text="The number of one of its releases."
    )
    force = serializers.BooleanField(required=False, help_text=FORCE_HELP)


class RollbackSerializer(serializers.Serializer[Any]):
    """Either of the two."""

    release = ReleaseInHistorySerializer(
        allow_null=True, help_text="The new one, where that release has the image of now."
    )
    upgrade = UpgradeSerializer(
        allow_null=True, help_text="Where it has another image: watch it until it is over."
    )

from typing import Any

from django.utils.timezone import now
from rest_framework import serializers

from controlplane.api.serializers import StrictSerializer
from controlplane.tenants.models import ApiToken, Organisation
from controlplane.tenants.permissions import PERMISSIONS


class OrganisationSerializer(serializers.ModelSerializer[Organisation]):
    class Meta:
        model = Organisation
        fields = [
            "id",
            "name",
            "slug",
            "agent_limit",
            "memory_mb_limit",
            "disk_gib_limit",
            "paused_reason",
            "created_at",
        ]
        read_only_fields = fields


class OrganisationPatch(StrictSerializer):
    name = serializers.CharField(max_length=100, required=False)


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)
    created_by = serializers.CharField(read_only=True)

    class Meta:
        model = ApiToken
        fields = [
            "id",
            "name",
            "prefix",
            "scopes",
            "created_by",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at",
        ]
        read_only_fields = fields


class NewTokenSerializer(TokenSerializer):
    token = serializers.CharField(
        read_only=True, allow_null=True, help_text="Shown once; null when this answer is a replay."
    )

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "token"]


class TokenCreate(StrictSerializer):
    name = serializers.CharField(max_length=60)
    scopes = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        max_length=len(PERMISSIONS),
        help_text=f"Some of: {', '.join(PERMISSIONS)}. Default: all you have.",
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    def validate_expires_at(self, value: Any) -> Any:
        if value is not None and value <= now():
            raise serializers.ValidationError("This moment has passed. Choose one in the future.")
        return value

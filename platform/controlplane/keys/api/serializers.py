from rest_framework import serializers

from controlplane.api.serializers import StrictSerializer
from controlplane.keys.models import Key, Provider
from controlplane.keys.rules import MAX_LENGTH


class KeySerializer(serializers.ModelSerializer[Key]):
    class Meta:
        model = Key
        fields = [
            "id",
            "name",
            "provider",
            "base_url",
            "hint",
            "version",
            "created_at",
            "rotated_at",
            "revoked_at",
        ]
        read_only_fields = fields


class KeyCreate(StrictSerializer):
    name = serializers.CharField(max_length=60)
    provider = serializers.ChoiceField(choices=Provider.choices)
    value = serializers.CharField(
        max_length=MAX_LENGTH, write_only=True, trim_whitespace=True, help_text="Never shown again."
    )
    base_url = serializers.CharField(max_length=200, required=False, allow_blank=True)


class KeyRotate(StrictSerializer):
    value = serializers.CharField(max_length=MAX_LENGTH, write_only=True)

from rest_framework import serializers

from controlplane.api.serializers import StrictSerializer
from controlplane.keys.models import Key, Kind, Provider, Secret
from controlplane.keys.rules import MAX_LENGTH, MOST_SECRET_SIZE

VALUE_HELP = "Never shown again."
SECRET_HELP = f"1 byte to {MOST_SECRET_SIZE // 1024} KiB of text, kept byte for byte."
BASE64_HELP = "Instead of `value`: any bytes, in base64."
KIND_HELP = (
    "env: the variable of that name holds the value. file: the variable of that name says in which "
    "file it lies, and it may be any bytes."
)


class ExactText(serializers.CharField):
    """Text as it was sent: blanks at its ends, NUL bytes and all. What it may be is checked by
    the rules, which say what to do instead."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options, trim_whitespace=False, allow_blank=True)  # type: ignore[arg-type]
        self.validators = []


class KeySerializer(serializers.ModelSerializer[Key]):
    checked_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When its provider took the value; null: it could not be asked.",
    )
    check_message = serializers.CharField(help_text="What the check came to, for people.")
    models = serializers.ListField(
        child=serializers.CharField(), help_text="What the key may use; empty: not known."
    )

    class Meta:
        model = Key
        fields = [
            "id",
            "name",
            "provider",
            "base_url",
            "hint",
            "version",
            "checked_at",
            "check_message",
            "models",
            "created_at",
            "rotated_at",
            "revoked_at",
        ]
        read_only_fields = fields


class KeyCreate(StrictSerializer):
    name = serializers.CharField(max_length=60)
    provider = serializers.ChoiceField(choices=Provider.choices)
    value = serializers.CharField(
        max_length=MAX_LENGTH, write_only=True, trim_whitespace=True, help_text=VALUE_HELP
    )
    base_url = serializers.CharField(max_length=200, required=False, allow_blank=True)


class SecretSerializer(serializers.ModelSerializer[Secret]):
    class Meta:
        model = Secret
        fields = [
            "id",
            "name",
            "kind",
            "size",
            "version",
            "created_at",
            "rotated_at",
            "revoked_at",
        ]
        read_only_fields = fields


class SecretCreate(StrictSerializer):
    name = serializers.CharField(
        max_length=1000, help_text="Of the environment variable, such as GRAFANA_TOKEN."
    )
    kind = serializers.ChoiceField(choices=Kind.choices, required=False, help_text=KIND_HELP)
    value = ExactText(required=False, write_only=True, help_text=SECRET_HELP)
    value_base64 = ExactText(required=False, write_only=True, help_text=BASE64_HELP)

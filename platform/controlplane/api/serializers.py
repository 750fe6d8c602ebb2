from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

TEXT = "This must be text, in quotes."
WHOLE_NUMBER = "This must be a whole number, without quotes."
TRUE_OR_FALSE = "This must be true or false, without quotes."


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know: a typo must not be taken for consent.

    Refuses a number where text belongs, and the reverse: what was sent is what is stored. Every
    refusal says what was expected.
    """

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for field in fields.values():
            field.error_messages.update(_expectations(field))
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = {name for name, field in self.fields.items() if not field.read_only}
            unknown = sorted(set(map(str, data)) - known)
            if unknown:
                allowed = ", ".join(sorted(known)) or "none"
                message = f"There is no such field here. Fields you may send: {allowed}."
                raise serializers.ValidationError({name[:64]: [message] for name in unknown[:20]})
            wrong = {name: _wrong_type(self.fields[name], value) for name, value in data.items()}
            if errors := {name: [message] for name, message in wrong.items() if message}:
                raise serializers.ValidationError(errors)
        return super().to_internal_value(data)


def _wrong_type(field: Any, value: Any) -> str:
    if isinstance(field, serializers.CharField) and isinstance(value, int | float):
        return TEXT
    if isinstance(field, serializers.IntegerField) and isinstance(value, str | float | bool):
        return WHOLE_NUMBER
    if isinstance(field, serializers.BooleanField) and not isinstance(value, bool | None):
        return TRUE_OR_FALSE
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        wrong = (_wrong_type(field.child, item) for item in value)
        return next((f"Every item: {message}" for message in wrong if message), "")
    return ""


def _expectations(field: Any) -> dict[str, str]:
    """What a field says of a value that is none of its kind. Never the value: it may be secret."""
    match field:
        case serializers.ChoiceField():
            return {"invalid_choice": f"This must be one of: {', '.join(map(str, field.choices))}."}
        case serializers.ListField():
            field.child.error_messages.update(_expectations(field.child))
            return {"not_a_list": 'This must be a list, such as ["one", "another"].'}
        case serializers.DictField():
            return {"not_a_dict": 'This must be an object, such as {"name": "value"}.'}
        case serializers.BooleanField():
            return {"invalid": TRUE_OR_FALSE}
        case serializers.IntegerField():
            return {"invalid": WHOLE_NUMBER}
        case serializers.DateTimeField():
            return {"invalid": "This must be a time, such as 2026-12-31T23:59:59Z."}
        case serializers.CharField():
            return {"invalid": TEXT}
    return {}

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know: a typo must not be taken for consent.

    Refuses a number where text belongs, and the reverse: what was sent is what is stored.
    """

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
        return "This must be text, in quotes."
    if isinstance(field, serializers.IntegerField) and isinstance(value, str | float):
        return "This must be a whole number, without quotes."
    return ""

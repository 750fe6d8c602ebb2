from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know: a typo must not be taken for consent (case T5)."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = {name for name, field in self.fields.items() if not field.read_only}
            unknown = sorted(set(map(str, data)) - known)
            if unknown:
                allowed = ", ".join(sorted(known)) or "none"
                message = f"There is no such field here. Fields you may send: {allowed}."
                raise serializers.ValidationError({name[:64]: [message] for name in unknown[:20]})
        return super().to_internal_value(data)

"""One key or secret, with the agents that use it: get, rotate, revoke, and the result by agent."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import keyring
from controlplane.api.serializers import StrictSerializer
from controlplane.keys.actions import examine_key
from controlplane.keys.api import serializers as keys
from controlplane.keys.api.views import OneKeyView, OneSecretView
from controlplane.keys.models import Key, Secret
from controlplane.keys.rules import MAX_LENGTH
from controlplane.tenants.access import Access

APPLY_HELP = (
    "now (the default): agents that run with it restart and have the new value then. next_start: "
    "they go on with the one before until their next start."
)
RESULTS = [
    *(keyring.LIVE, keyring.RESTARTING, keyring.AT_NEXT_START),
    *(keyring.FAILED, keyring.STOPPED),
]


def apply_field() -> serializers.ChoiceField:
    choices = [keyring.NOW, keyring.NEXT_START]
    return serializers.ChoiceField(choices=choices, required=False, help_text=APPLY_HELP)


class KeyRotate(StrictSerializer):
    value = serializers.CharField(max_length=MAX_LENGTH, write_only=True)
    apply = apply_field()


class SecretRotate(StrictSerializer):
    value = keys.ExactText(required=False, write_only=True, help_text=keys.SECRET_HELP)
    value_base64 = keys.ExactText(required=False, write_only=True, help_text=keys.BASE64_HELP)
    apply = apply_field()


class ResultSerializer(serializers.Serializer[Any]):
    agent = serializers.CharField(source="agent.pk", help_text="Its id.")
    name = serializers.CharField(source="agent.name")
    version_live = serializers.IntegerField(
        allow_null=True, help_text="With which it was last started."
    )
    version_wanted = serializers.IntegerField()
    result = serializers.ChoiceField(choices=RESULTS)
    message = serializers.CharField(help_text="Why and what to do, for people.")


class NamedAgentSerializer(serializers.Serializer[Any]):
    agent = serializers.CharField(source="pk", help_text="Its id.")
    name = serializers.CharField()


class ResultsSerializer(serializers.Serializer[Any]):
    items = ResultSerializer(many=True)


class RevokedSerializer(serializers.Serializer[Any]):
    stopped = NamedAgentSerializer(many=True)


def results(thing: Key | Secret) -> Response:
    return Response(ResultsSerializer({"items": keyring.results(thing)}).data)


def revoke(access: Access, thing: Key | Secret) -> Response:
    return Response(RevokedSerializer({"stopped": keyring.revoke(access, thing)}).data)


class OneKey(OneKeyView):
    needs = {"GET": "keys:read", "DELETE": "keys:write"}

    @extend_schema(operation_id="keys_get")
    def get(self, request: Request, org: str, key: str) -> Response:
        return Response(keys.KeySerializer(self.thing()).data)

    @extend_schema(operation_id="keys_revoke", responses={200: RevokedSerializer})
    def delete(self, request: Request, org: str, key: str) -> Response:
        """Destroy the value for good and stop the agents that run with it; the answer names
        them."""
        return revoke(self.access, self.thing())


class RotateKey(OneKeyView):
    needs = {"POST": "keys:write"}

    @extend_schema(
        operation_id="keys_rotate", request=KeyRotate, responses={200: keys.KeySerializer}
    )
    def post(self, request: Request, org: str, key: str) -> Response:
        """A new value, checked like a new key. `GET …/agents` tells what it came to by agent."""
        body, found = self.read(request, KeyRotate), self.thing()
        asked = {"provider": found.provider, "base_url": found.base_url, "value": body["value"]}
        body["checked"] = examine_key(self.access, **asked)
        return self.once(
            lambda: Response(keys.KeySerializer(keyring.rotate(self.access, found, **body)).data)
        )


class KeyAgents(OneKeyView):
    needs = {"GET": "keys:read"}

    @extend_schema(operation_id="keys_agents", responses={200: ResultsSerializer})
    def get(self, request: Request, org: str, key: str) -> Response:
        """The agents that use it, and whether each runs with its newest value."""
        return results(self.thing())


class OneSecret(OneSecretView):
    needs = {"GET": "keys:read", "DELETE": "keys:write"}

    @extend_schema(operation_id="secrets_get")
    def get(self, request: Request, org: str, sec: str) -> Response:
        return Response(keys.SecretSerializer(self.thing()).data)

    @extend_schema(operation_id="secrets_revoke", responses={200: RevokedSerializer})
    def delete(self, request: Request, org: str, sec: str) -> Response:
        """Destroy the value for good and stop the agents that run with it; the answer names
        them."""
        return revoke(self.access, self.thing())


class RotateSecret(OneSecretView):
    needs = {"POST": "keys:write"}

    @extend_schema(
        operation_id="secrets_rotate", request=SecretRotate, responses={200: keys.SecretSerializer}
    )
    def post(self, request: Request, org: str, sec: str) -> Response:
        """A new value of the same kind. `GET …/agents` tells what it came to by agent."""
        body, found = self.read(request, SecretRotate), self.thing()
        return self.once(
            lambda: Response(keys.SecretSerializer(keyring.rotate(self.access, found, **body)).data)
        )


class SecretAgents(OneSecretView):
    needs = {"GET": "keys:read"}

    @extend_schema(operation_id="secrets_agents", responses={200: ResultsSerializer})
    def get(self, request: Request, org: str, sec: str) -> Response:
        """The agents that use it, and whether each runs with its newest value."""
        return results(self.thing())

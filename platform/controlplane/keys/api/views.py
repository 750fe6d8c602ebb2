"""Keys and secrets: list and add. What concerns the agents that use one (rotate, revoke) is in
controlplane.agents.api.keyring."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.errors import NotFound
from controlplane.keys.actions import add_key, add_secret, examine_key
from controlplane.keys.api import serializers as s
from controlplane.keys.models import Key, Secret
from controlplane.tenants.api.views import OrganisationView


class Keys(OrganisationView):
    queryset = Key.objects.none()
    serializer_class = s.KeySerializer
    needs = {"GET": "keys:read", "POST": "keys:write"}

    @extend_schema(operation_id="keys_list", responses=s.KeySerializer(many=True))
    def get(self, request: Request, org: str) -> Response:
        return self.page(Key.objects.of(self.access.organisation), s.KeySerializer)

    @extend_schema(
        operation_id="keys_create", request=s.KeyCreate, responses={201: s.KeySerializer}
    )
    def post(self, request: Request, org: str) -> Response:
        """Add a key. Its provider is asked first: a key it does not take is refused (422,
        `key_refused`). The value goes into the vault and is never shown again."""
        body = self.read(request, s.KeyCreate)
        # Before the transaction: nobody's database waits for somebody's provider.
        asked = {name: value for name, value in body.items() if name != "name"}
        checked = examine_key(self.access, **asked)
        return self.once(
            lambda: Response(
                s.KeySerializer(add_key(self.access, **body, checked=checked)).data,
                status=status.HTTP_201_CREATED,
            )
        )


class OneKeyView(OrganisationView):
    queryset = Key.objects.none()
    serializer_class = s.KeySerializer

    def thing(self) -> Key:
        found = Key.objects.of(self.access.organisation).filter(pk=self.kwargs["key"]).first()
        if found is None:
            raise NotFound("This key")
        return found


class Secrets(OrganisationView):
    queryset = Secret.objects.none()
    serializer_class = s.SecretSerializer
    needs = {"GET": "keys:read", "POST": "keys:write"}

    @extend_schema(operation_id="secrets_list", responses=s.SecretSerializer(many=True))
    def get(self, request: Request, org: str) -> Response:
        return self.page(Secret.objects.of(self.access.organisation), s.SecretSerializer)

    @extend_schema(
        operation_id="secrets_create", request=s.SecretCreate, responses={201: s.SecretSerializer}
    )
    def post(self, request: Request, org: str) -> Response:
        """Add a secret: any other value that agents are given, under the name of an environment
        variable. Its value goes into the vault and is never shown again."""
        body = self.read(request, s.SecretCreate)
        return self.once(
            lambda: Response(
                s.SecretSerializer(add_secret(self.access, **body)).data,
                status=status.HTTP_201_CREATED,
            )
        )


class OneSecretView(OrganisationView):
    queryset = Secret.objects.none()
    serializer_class = s.SecretSerializer

    def thing(self) -> Secret:
        found = Secret.objects.of(self.access.organisation).filter(pk=self.kwargs["sec"]).first()
        if found is None:
            raise NotFound("This secret")
        return found

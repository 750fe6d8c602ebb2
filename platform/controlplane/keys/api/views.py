from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.errors import NotFound
from controlplane.keys.actions import add_key, revoke_key, rotate_key
from controlplane.keys.api import serializers as s
from controlplane.keys.models import Key
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
        """Add a key. Its value goes into the vault and is never shown again."""
        body = self.read(request, s.KeyCreate)
        return self.once(
            lambda: Response(
                s.KeySerializer(add_key(self.access, **body)).data, status=status.HTTP_201_CREATED
            )
        )


class OneKey(OrganisationView):
    serializer_class = s.KeySerializer
    needs = {"GET": "keys:read", "DELETE": "keys:write"}

    def key(self, key: str) -> Key:
        found = Key.objects.of(self.access.organisation).filter(pk=key).first()
        if found is None:
            raise NotFound("This key")
        return found

    @extend_schema(operation_id="keys_get")
    def get(self, request: Request, org: str, key: str) -> Response:
        return Response(s.KeySerializer(self.key(key)).data)

    @extend_schema(operation_id="keys_revoke", responses={204: None})
    def delete(self, request: Request, org: str, key: str) -> Response:
        """Forget the value for good."""
        revoke_key(self.access, self.key(key))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RotateKey(OneKey):
    needs = {"POST": "keys:write"}
    http_method_names = ["post"]

    @extend_schema(
        operation_id="keys_rotate", request=s.KeyRotate, responses={200: s.KeySerializer}
    )
    def post(self, request: Request, org: str, key: str) -> Response:
        """Store a new version. Agents have it from their next start."""
        body = self.read(request, s.KeyRotate)
        found = self.key(key)
        return self.once(
            lambda: Response(s.KeySerializer(rotate_key(self.access, found, **body)).data)
        )

"""The base of every view below an organisation, and the views of organisations and tokens."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from controlplane.api.idempotency import once
from controlplane.api.pagination import PAGES
from controlplane.errors import Invalid, NotFound
from controlplane.tenants.access import Access, of_token
from controlplane.tenants.actions import issue_token, rename_organisation, revoke_token
from controlplane.tenants.api import serializers as s
from controlplane.tenants.models import ApiToken, Organisation

FORMAT = str(api_settings.URL_FORMAT_OVERRIDE)  # read before a view is reached


def token_of(request: Request) -> ApiToken:
    """What TokenAuthentication found; nothing gets past it without."""
    assert isinstance(request.auth, ApiToken)  # noqa: S101
    return request.auth


class ApiView(GenericAPIView[Any]):
    """The base of every endpoint. HEAD is a GET without its body; there is no OPTIONS."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    query: tuple[str, ...] = PAGES  # the parameters that a GET takes; the other methods take none

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        for name, values in request.query_params.lists():
            if "\x00" in name or any("\x00" in value for value in values):
                raise Invalid(name.replace("\x00", ""), "A NUL byte means nothing here. Remove it.")
        self._refuse_unknown_query(request)

    def _refuse_unknown_query(self, request: Request) -> None:
        """What is not heard must not look as if it were."""
        reads = request.method in {"GET", "HEAD"}
        known = {*(self.query if reads else ()), FORMAT}
        for name in request.query_params:
            if name not in known:
                where = (
                    f"Those you may send: {', '.join(self.query) or 'none'}."
                    if reads
                    else f"A {request.method} takes none: send its fields in the body."
                )
                raise Invalid(name[:64], f"There is no such query parameter here. {where}")

    def enter(self, request: Request, organisation_id: str, permission: str | None) -> Access:
        """The caller in this organisation. Raises NotFound, Forbidden."""
        ip = request.META.get("REMOTE_ADDR")
        access = of_token(token_of(request), organisation_id, ip=ip)
        if permission is not None:
            access.require(permission)
        return access


class OrganisationView(ApiView):
    """A view below /orgs/{org}. `self.access` is the caller; `needs` is what it takes by method."""

    needs: dict[str, str] = {}
    access: Access

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = "GET" if request.method == "HEAD" else str(request.method)
        # None is a method that the view does not have: 405 follows.
        self.access = self.enter(request, kwargs["org"], self.needs.get(method))

    def read(self, request: Request, serializer: type[Any], **context: Any) -> dict[str, Any]:
        """The validated body. Raises ValidationError (422), ParseError (400)."""
        body = serializer(data=request.data, context=context)
        body.is_valid(raise_exception=True)
        validated: dict[str, Any] = body.validated_data
        return validated

    def page(self, rows: Any, serializer: type[Any]) -> Response:
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(serializer(page, many=True).data)

    def once(self, act: Any, redact: tuple[str, ...] = ()) -> Response:
        return once(self.request, token_of(self.request).pk, act, redact)


class Organisations(ApiView):
    queryset = Organisation.objects.all()
    serializer_class = s.OrganisationSerializer

    @extend_schema(operation_id="organisations_list", responses=s.OrganisationSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The organisations this token can reach: its own."""
        access = self.enter(request, token_of(request).organisation_id, "org:read")
        rows = Organisation.objects.filter(pk=access.organisation.pk)
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(s.OrganisationSerializer(page, many=True).data)


class OneOrganisation(OrganisationView):
    serializer_class = s.OrganisationSerializer
    needs = {"GET": "org:read", "PATCH": "org:write"}

    def answer(self, organisation: Organisation) -> Response:
        data = s.OrganisationSerializer(organisation).data
        return Response(data, headers={"ETag": organisation.etag})

    @extend_schema(operation_id="organisations_get")
    def get(self, request: Request, org: str) -> Response:
        return self.answer(self.access.organisation)

    @extend_schema(operation_id="organisations_patch", request=s.OrganisationPatch)
    def patch(self, request: Request, org: str) -> Response:
        body = self.read(request, s.OrganisationPatch)
        name = body.get("name", self.access.organisation.name)
        if_match = request.headers.get("If-Match")
        return self.answer(rename_organisation(self.access, name=name, if_match=if_match))


class Tokens(OrganisationView):
    queryset = ApiToken.objects.none()
    serializer_class = s.TokenSerializer
    needs = {"GET": "tokens:read", "POST": "tokens:write"}

    @extend_schema(operation_id="tokens_list", responses=s.TokenSerializer(many=True))
    def get(self, request: Request, org: str) -> Response:
        return self.page(ApiToken.objects.of(self.access.organisation), s.TokenSerializer)

    @extend_schema(
        operation_id="tokens_create", request=s.TokenCreate, responses={201: s.NewTokenSerializer}
    )
    def post(self, request: Request, org: str) -> Response:
        """Make a token. Its text is in this answer and nowhere else, not even in a replay."""
        body = self.read(request, s.TokenCreate)

        def act() -> Response:
            token, text = issue_token(self.access, **body)
            data = s.TokenSerializer(token).data | {"token": text}
            return Response(data, status=status.HTTP_201_CREATED)

        return self.once(act, redact=("token",))


class OneToken(OrganisationView):
    serializer_class = s.TokenSerializer
    needs = {"GET": "tokens:read", "DELETE": "tokens:write"}

    def token(self, tok: str) -> ApiToken:
        token = ApiToken.objects.of(self.access.organisation).filter(pk=tok).first()
        if token is None:
            raise NotFound("This token")
        return token

    @extend_schema(operation_id="tokens_get")
    def get(self, request: Request, org: str, tok: str) -> Response:
        return Response(s.TokenSerializer(self.token(tok)).data)

    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, org: str, tok: str) -> Response:
        revoke_token(self.access, self.token(tok))
        return Response(status=status.HTTP_204_NO_CONTENT)

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from controlplane.tenants.models import ApiToken


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer rst_...`; sets request.auth to the ApiToken."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = (
            ApiToken.objects.live()
            .filter(digest=ApiToken.digest_of(text.strip()), created_by__is_active=True)
            .select_related("organisation", "created_by")
            .first()
        )
        if token is None:
            raise AuthenticationFailed(
                "This token is unknown, expired or revoked. Make a new one in the dashboard."
            )
        token.seen()
        return token.created_by, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="Roost"'

"""What lies below /api and is no endpoint: programs get a problem, never a page."""

from typing import Any

from django.http import Http404
from rest_framework.permissions import AllowAny
from rest_framework.views import APIView


class Nowhere(APIView):
    authentication_classes = []
    permission_classes = [AllowAny]
    schema = None  # no operation: leaves it out of the OpenAPI text

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        raise Http404

"""Headers of every answer: nothing from elsewhere, nothing inline, in nobody's frame."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase


def policy(*forms_to: str) -> str:
    """`forms_to` are the origins that forms of a page may be sent to; only our own by itself."""
    forms = " ".join(forms_to or ["'self'"])
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            f"form-action {forms}",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )


# What Django's own middleware does not set: nosniff, referrer, opener and framing are its business.
HEADERS = {
    "Content-Security-Policy": policy(),
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ContentSecurityPolicyMiddleware:
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if iscoroutinefunction(self.get_response):
            return self._answer_async(request)
        return self._guard(self.get_response(request))

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await self.get_response(request)  # type: ignore[misc]
        return self._guard(response)

    def _guard(self, response: HttpResponseBase) -> HttpResponseBase:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

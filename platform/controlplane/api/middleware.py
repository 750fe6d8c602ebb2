"""Every answer names its request, so that a person can quote it and an operator find it."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse

from controlplane.ids import new_id


class RequestIdMiddleware:
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        request.request_id = new_id("req")  # type: ignore[attr-defined]
        if iscoroutinefunction(self.get_response):
            return self._answer_async(request)
        return self._name(request, self.get_response(request))

    async def _answer_async(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = await self.get_response(request)  # type: ignore[misc]
        return self._name(request, response)

    def _name(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        return response

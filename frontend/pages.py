"""How a page of an organisation is reached: signed in, a member, allowed; and how it is refused.

A view gets the Access and never looks an organisation up by itself: no check can be forgotten.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db import OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django_htmx.middleware import HtmxDetails

from controlplane.errors import Forbidden, NotFound, Unavailable
from controlplane.tenants.access import Access, of_member
from controlplane.tenants.models import User
from frontend.context import VERSION, theme_of

View = Callable[..., HttpResponseBase]
P = ParamSpec("P")
R = TypeVar("R")
AsyncView = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def page(permission: str) -> Callable[[View], View]:
    """For views `(request, access, …)` below `/<organisation>/`."""

    def wrap(view: View) -> View:
        @wraps(view)
        def run(request: HttpRequest, org: str, **rest: Any) -> HttpResponseBase:
            try:
                access = _enter(request, org, permission)
                return view(request, access, **rest) if access else sign_in(request)
            except Exception as error:
                return answer(request, error)

        return run

    return wrap


def async_page(permission: str) -> Callable[[AsyncView], AsyncView]:
    """The same for `async def` views: streams, and pages that ask the gateway."""

    def wrap(view: AsyncView) -> AsyncView:
        @wraps(view)
        async def run(request: HttpRequest, org: str, **rest: Any) -> HttpResponseBase:
            try:
                access = await briefly(_enter, request, org, permission)
                return await view(request, access, **rest) if access else sign_in(request)
            except Exception as error:
                return await sync_to_async(answer)(request, error)

        return run

    return wrap


async def briefly(read: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A read of the database in an async view. Streams live for minutes and gateways may be slow:
    nothing is held while they are waited for."""

    def run() -> R:
        try:
            return read(*args, **kwargs)
        finally:
            if not connection.in_atomic_block:
                connection.close()

    return await sync_to_async(run)()


def _enter(request: HttpRequest, slug: str, permission: str) -> Access | None:
    """None for nobody signed in."""
    if not isinstance(request.user, User):
        return None
    access = of_member(request.user, slug=slug, ip=request.META.get("REMOTE_ADDR"))
    request.access = access  # type: ignore[attr-defined]
    access.require(permission)
    return access


def sign_in(request: HttpRequest) -> HttpResponse:
    response = redirect_to_login(request.get_full_path())
    if not is_fragment(request):
        return response
    # A page that swaps parts must not swap the sign-in page into one of them.
    return HttpResponse(status=204, headers={"HX-Redirect": response.url})


def answer(request: HttpRequest, error: Exception) -> HttpResponse:
    """Refusals and outages as pages, or as toasts where only a part of a page was asked for."""
    if isinstance(error, NotFound):
        raise Http404(str(error)) from error
    if isinstance(error, Forbidden):
        return _refused(request, error, 403)
    if isinstance(error, Unavailable):
        return _refused(request, error, 503)
    if isinstance(error, OperationalError):
        return away(request, "The database does not answer.")
    raise error


def _refused(request: HttpRequest, error: Forbidden | Unavailable, status: int) -> HttpResponse:
    if is_fragment(request):
        return toast(request, str(error), status)
    if status == 503:
        return away(request, str(error))
    access: Access | None = getattr(request, "access", None)
    role = access.role if access else ""
    context = {"why": str(error), "role": role, "error_code": error.code, "back": _back(request)}
    return render(request, "403.html", context, status=403)


def away(request: HttpRequest, why: str) -> HttpResponse:
    """Needs nothing but the request: drawn while the database is gone."""
    context = {
        "theme": theme_of(request),
        "version": VERSION,
        "why": why,
        # Only a GET may be asked again by itself.
        "look_again": request.method == "GET",
        "back": request.get_full_path() if request.method == "GET" else "/",
        "request": request,
    }
    return HttpResponse(render_to_string("503.html", context), status=503)


def _back(request: HttpRequest) -> str:
    return request.path.rsplit("/", 1)[0] if request.method == "POST" else "/"


def show(
    request: HttpRequest,
    access: Access,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    response = render(request, template, {"access": access, **(context or {})}, status=status)
    # One address answers with a page or with a part of it.
    response["Vary"] = "HX-Request, Cookie"
    response["Cache-Control"] = "no-store"
    return response


def toast(request: HttpRequest, text: str, status: int = 200) -> HttpResponse:
    """A sentence over the page; nothing on it changes."""
    messages.error(request, text) if status >= 400 else messages.success(request, text)
    response = render(request, "frontend/parts/toasts_oob.html", status=status)
    response["HX-Reswap"] = "none"
    return response


def is_fragment(request: HttpRequest) -> bool:
    """Asked by htmx for a part; a restored history entry wants the whole page."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.history_restore_request and not htmx.boosted


def go(request: HttpRequest, address: str) -> HttpResponse:
    """To another page after a POST, with or without a script."""
    if is_fragment(request):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address, status=303)

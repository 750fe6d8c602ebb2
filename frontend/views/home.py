from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from controlplane.tenants.models import Organisation, User
from frontend.pages import answer, sign_in


def home(request: HttpRequest) -> HttpResponse:
    """The first of somebody's organisations."""
    try:
        return _first(request)
    except OperationalError as error:
        return answer(request, error)


def _first(request: HttpRequest) -> HttpResponse:
    if not isinstance(request.user, User):
        return sign_in(request)
    first = Organisation.objects.of(request.user).order_by("name").first()
    if first is None:
        return render(request, "frontend/nowhere.html")
    return redirect("frontend:agents", first.slug)

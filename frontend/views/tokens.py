"""The API tokens of an organisation. A token's text is on the answer that made it, and nowhere
else."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from controlplane.errors import NotFound, Refusal
from controlplane.tenants.access import Access
from controlplane.tenants.actions import issue_token, revoke_token
from controlplane.tenants.models import ApiToken
from frontend.asking import Question, ask
from frontend.forms.base import Form
from frontend.forms.tokens import READ_ONLY, IssueTokenForm
from frontend.pages import go, is_fragment, page, show


@page("tokens:read")
def tokens(request: HttpRequest, access: Access) -> HttpResponse:
    live = ApiToken.objects.of(access.organisation).live().select_related("created_by")
    context = {
        "section": "tokens",
        "tokens": live.order_by("-created_at"),
        "may_write": access.may("tokens:write"),
    }
    return show(request, access, "frontend/tokens/index.html", context)


@page("tokens:write")
def issue(request: HttpRequest, access: Access) -> HttpResponse:
    form = IssueTokenForm(request.POST or None)
    if form.is_valid():
        try:
            token, text = _issued(access, form)
        except Refusal as error:
            form.refuse(error, other="name")
        else:
            return _once(request, access, token, text)
    question = Question(
        title="Make a token",
        why="For programs that speak to the API in your place, in this organisation alone.",
        submit="Make it",
        action=request.path,
        back=_home(access),
        section="tokens",
    )
    return ask(request, access, question, form)


def _issued(access: Access, form: IssueTokenForm) -> tuple[ApiToken, str]:
    reads = sorted(scope for scope in access.scopes if scope.endswith(":read"))
    scopes = reads if form.cleaned_data["reach"] == READ_ONLY else None
    return issue_token(
        access, name=form.cleaned_data["name"], scopes=scopes, expires_at=form.expires_at()
    )


def _once(request: HttpRequest, access: Access, token: ApiToken, text: str) -> HttpResponse:
    template = "_issued" if is_fragment(request) else "issued"
    context = {"section": "tokens", "token": token, "text": text, "back": _home(access)}
    return show(request, access, f"frontend/tokens/{template}.html", context)


@page("tokens:write")
def revoke(request: HttpRequest, access: Access, token: str) -> HttpResponse:
    found = ApiToken.objects.of(access.organisation).live().filter(pk=token).first()
    if found is None:
        raise NotFound("This token")
    if request.method == "POST":
        revoke_token(access, found)
        messages.success(request, f"{found.name} is revoked. Who still uses it is refused.")
        return go(request, _home(access))
    question = Question(
        title=f"Revoke {found.name}?",
        why="Programs that use it are refused from now on. It cannot be brought back.",
        submit="Revoke the token",
        action=request.path,
        back=_home(access),
        section="tokens",
        destroys=True,
    )
    return ask(request, access, question, Form())


def _home(access: Access) -> str:
    return reverse("frontend:tokens", args=[access.organisation.slug])

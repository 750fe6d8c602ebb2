"""One question: a dialog over the page where there is a script, a page of its own where not."""

from dataclasses import asdict, dataclass

from django.forms import Form
from django.http import HttpRequest, HttpResponse

from controlplane.tenants.access import Access
from frontend.pages import is_fragment, show


@dataclass(frozen=True)
class Question:
    title: str
    why: str
    submit: str
    action: str  # where the answer is posted
    back: str  # where "Cancel" leads without a script
    section: str
    destroys: bool = False


def ask(
    request: HttpRequest, access: Access, question: Question, form: Form | None = None
) -> HttpResponse:
    part = is_fragment(request)
    if part and request.method == "POST":
        template = "frontend/asking/_form.html"
    else:
        template = "frontend/asking/_dialog.html" if part else "frontend/asking/page.html"
    status = 422 if form is not None and form.errors else 200
    context = {**asdict(question), "form": form, "part": part}
    return show(request, access, template, context, status=status)

"""The form for a fork: a name, and the secrets that it is given anew."""

from typing import Any

from django import forms

from controlplane.agents.models import Agent
from controlplane.tenants.access import Access
from frontend.forms.base import Form
from frontend.forms.giving import fitting_secrets
from frontend.forms.spec import Card
from runtimes.catalog import CATALOG

LONGEST_NAME = 63
SUFFIX = "-fork"


class ForkForm(Form):
    name = forms.CharField(
        max_length=LONGEST_NAME,
        error_messages={"required": "Give it a name. It becomes part of its address."},
        help_text="Of the new agent. Lower-case letters, digits and hyphens.",
        widget=forms.TextInput(attrs={"autocapitalize": "off"}),
    )
    secrets = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, access: Access, source: Agent, data: Any = None) -> None:
        super().__init__(data, initial={"name": usual_name(source.name)})
        self.secret_cards = _cards(access, source)
        field = self.fields["secrets"]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101  declared above
        field.choices = [(card.value, card.title) for card in self.secret_cards]

    def chosen_secrets(self) -> list[str]:
        return list(self["secrets"].value() or [])


def usual_name(source: str) -> str:
    return source[: LONGEST_NAME - len(SUFFIX)].rstrip("-") + SUFFIX


def _cards(access: Access, source: Agent) -> list[Card]:
    """Each says whether the agent that is forked has it: then both would use one value."""
    has = {one.pk for one in source.release.secrets.all()} if source.release else set()
    return [
        Card(
            secret.pk,
            secret.name,
            secret.get_kind_display() + (f" · {source.name} has it" if secret.pk in has else ""),
        )
        for secret, _ in fitting_secrets(access, [CATALOG[source.runtime]])
    ]

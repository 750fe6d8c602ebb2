"""Fields of an agent's spec that stand on both pages: size, reach, secrets, what else it may."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings

from controlplane.agents.models import Egress, Isolation
from controlplane.agents.rules import default_size
from controlplane.agents.sizes import SIZES
from controlplane.keys.models import Provider
from controlplane.tenants.access import Access
from frontend.forms.choosing import NONE, ChoosingForm
from frontend.forms.giving import fitting_secrets
from provisioner.models import Node
from runtimes.catalog import Runtime

# What the control plane is told of an agent besides its name.
SPEC = (
    *("key", "model", "size", "egress", "egress_hosts"),
    *("secrets", "background", "isolation"),
)
MOST_TYPED = 20_000  # characters: 50 hosts fit many times over
EGRESS = {
    Egress.OPEN: "The whole internet. Private networks stay out of reach.",
    Egress.LIST: "Its model's own address, and the hosts you list.",
    Egress.NONE: "Only the stand-in model. No web search, no webhooks.",
}
ISOLATION = {
    Isolation.DEFAULT: (
        "Hardened container",
        "No privileges, read-only system, own user. Right for almost everything.",
    ),
    Isolation.GVISOR: (
        "gVisor",
        "A second kernel in between. Starts a little later; heavy disk work is slower.",
    ),
}


@dataclass(frozen=True)
class Card:
    """One radio or checkbox: its value, words and the rule of reveal.js."""

    value: str
    title: str
    why: str
    when: str = ""
    memory_mb: int = 0
    cpu_millis: int = 0


class HostsField(forms.CharField):
    """One host a line; commas will do."""

    widget = forms.Textarea(attrs={"class": "input mono", "rows": 4, "autocapitalize": "off"})

    def clean(self, value: Any) -> list[str]:
        return str(super().clean(value)).replace(",", " ").split()

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value


class SpecForm(ChoosingForm):
    shown_when = {**ChoosingForm.shown_when, "egress_hosts": f"egress={Egress.LIST}"}

    size = forms.ChoiceField(required=False, widget=forms.RadioSelect)
    egress = forms.ChoiceField(label="Reach", choices=Egress.choices, widget=forms.RadioSelect)
    egress_hosts = HostsField(
        label="Hosts",
        required=False,
        max_length=MOST_TYPED,
        help_text="One a line: api.github.com, or *.example.com for every name below it, or "
        "db.example.com:5432 for that port alone; without a port it is 80 and 443. The model's own "
        "address is always in the list.",
    )
    secrets = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    background = forms.BooleanField(label="Work unasked", required=False)
    isolation = forms.ChoiceField(required=False, widget=forms.RadioSelect)

    def __init__(
        self,
        access: Access,
        runtimes: Iterable[Runtime],
        node: str,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(access, runtimes, *args, **kwargs)
        self.secret_cards = self._secrets()
        self.size_cards = self._sizes()
        self.isolation_cards = self._isolations(node)
        offers = {
            "secrets": self.secret_cards,
            "size": self.size_cards,
            "isolation": self.isolation_cards,
        }
        for name, cards in offers.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101  declared above
            field.choices = [(card.value, card.title) for card in cards]

    def _sizes(self) -> list[Card]:
        return [
            Card(
                size.slug,
                size.title,
                _enough_for(size.slug, self.runtimes) or size.why,
                memory_mb=size.memory_mb,
                cpu_millis=size.cpu_millis,
            )
            for size in SIZES.values()
        ]

    def _secrets(self) -> list[Card]:
        """Those that an agent of one of the runtimes can be given."""
        return [
            Card(secret.pk, secret.name, secret.get_kind_display(), self.only_for(runtimes))
            for secret, runtimes in fitting_secrets(self.access, self.runtimes)
        ]

    def _isolations(self, node: str) -> list[Card]:
        """What the node offers; more than one of them is a choice."""
        row = Node.objects.filter(name=node).first()
        offered = {Isolation.DEFAULT, *getattr(row, "isolations", [])}
        return [
            Card(slug, title, why if slug in offered else "Its node does not offer it now.")
            for slug, (title, why) in ISOLATION.items()
            if slug in offered or slug == self.initial["isolation"]
        ]

    @property
    def reaches(self) -> list[Card]:
        """Only what this installation can do. A provider out there cannot be reached closed."""
        standin = settings.ROOST_STANDIN_URL
        through_key = any(key.base_url == standin for key in self.keys.values())
        closed = f"provider={NONE}" + (f"|{Provider.CUSTOM}" if through_key else "")
        return [
            Card(slug, Egress(slug).label, why, closed if slug == Egress.NONE else "")
            for slug, why in EGRESS.items()
            if slug != Egress.NONE or standin
        ]

    @property
    def short_of(self) -> list[Runtime]:
        """Runtimes for which some size is too small: the page says why."""
        smallest = min(size.memory_mb for size in SIZES.values())
        return [one for one in self.runtimes if one.min_memory_mb > smallest]

    @property
    def working_unasked(self) -> list[Runtime]:
        return [runtime for runtime in self.runtimes if runtime.background]

    @property
    def unasked_when(self) -> str:
        return self.only_for(self.working_unasked)

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("egress") != Egress.LIST:  # typed, and hidden again by another choice
            data["egress_hosts"] = []
        return data

    def clean_isolation(self) -> str:
        return str(self.cleaned_data["isolation"] or self.initial["isolation"])

    def chosen_secrets(self) -> list[str]:
        return list(self["secrets"].value() or [])


def _enough_for(size: str, runtimes: list[Runtime]) -> str:
    titles = [runtime.title for runtime in runtimes if default_size(runtime).slug == size]
    return f"Enough for {', '.join(titles)}" if titles else ""

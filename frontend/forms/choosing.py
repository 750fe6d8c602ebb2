"""Fields that choose how an agent thinks: provider, key, model. For creating and for changing.

What can be chosen follows from what was chosen before it: the runtime knows its providers, a
provider has keys, and a key may know the models it can use.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings

from controlplane.errors import Invalid, Refusal
from controlplane.keys.models import Key, Provider
from controlplane.tenants.access import Access
from frontend.forms.base import Form
from frontend.forms.offering import Offer, offered_models
from runtimes.catalog import Runtime

NONE = "none"  # no key: the stand-in model that a local installation brings along
OTHER = "other"  # a model that is not in the list
NEW = "new"  # a key that is typed here
WITH_KEY = "provider=" + "|".join(Provider.values)


class WhenSelect(forms.Select):
    """Options that reveal.js shows only while other fields hold certain values, and that
    summary.js tells in words of their own."""

    whens: Mapping[str, str] = {}
    says: Mapping[str, str] = {}

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if rule := self.whens.get(str(value)):
            option["attrs"]["data-when"] = rule
        if said := self.says.get(str(value)):
            option["attrs"]["data-say"] = said
        return option


class ChoosingForm(Form):
    shown_when = {
        "model": WITH_KEY,
        "key": WITH_KEY,
        "model_other": f"{WITH_KEY} model={OTHER}",
    }

    provider = forms.ChoiceField(label="Model provider", widget=WhenSelect)
    key = forms.ChoiceField(
        required=False,
        widget=WhenSelect,
        help_text="Kept in the vault and handed over in memory at start. It never lies on a disk.",
    )
    model = forms.ChoiceField(required=False, widget=WhenSelect)
    model_other = forms.CharField(
        label="Its name",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input mono", "autocapitalize": "off"}),
        help_text="As the provider writes it.",
    )

    def __init__(
        self, access: Access, runtimes: Iterable[Runtime], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.access = access
        self.runtimes = list(runtimes)
        live = Key.objects.of(access.organisation).live().order_by("name")
        self.keys = {key.pk: key for key in live}
        self._offer_providers()
        self._offer_keys()
        self._offer_models()

    def only_for(self, runtimes: Sequence[Runtime]) -> str:
        """The rule that holds while one of these is chosen; empty where there is no choice."""
        if len(runtimes) == len(self.runtimes):
            return ""
        return "runtime=" + ("|".join(runtime.slug for runtime in runtimes) or "-")

    def _with(self, provider: str) -> list[Runtime]:
        return [runtime for runtime in self.runtimes if provider in runtime.providers]

    def _offer_providers(self) -> None:
        choices = [(slug, label) for slug, label in Provider.choices if self._with(slug)]
        whens = {slug: self.only_for(self._with(slug)) for slug, _ in choices}
        says = {slug: "Its key is read from the vault" for slug, _ in choices}
        if settings.ROOST_STANDIN_URL and self._with(Provider.CUSTOM):
            choices.append((NONE, "None: the stand-in model of this installation"))
            whens[NONE] = self.only_for(self._with(Provider.CUSTOM))
            says[NONE] = "Its own token is read from the vault"
        _choices(self, "provider", choices, whens, says)

    def _offer_keys(self) -> None:
        choices = [(key.pk, _titled(key)) for key in self.keys.values()]
        whens = {key.pk: f"provider={key.provider}" for key in self.keys.values()}
        _choices(self, "key", [*choices, *self.more_keys()], whens)

    def _offer_models(self) -> None:
        offers = offered_models(self.runtimes, self.keys.values())
        whens = {model: self._rule(offer) for model, offer in offers.items()}
        self.models = frozenset(whens)
        choices = [*((model, model) for model in offers), (OTHER, "Another model…")]
        _choices(self, "model", choices, whens)

    def _rule(self, offer: Offer) -> str:
        keys = {key.pk for key in self.keys.values() if key.provider in offer.providers}
        usable = [*sorted(offer.keys), *([NEW] if offer.known else [])]
        rules = (
            "provider=" + "|".join(sorted(offer.providers)),
            "" if offer.known and keys == offer.keys else "key=" + "|".join(usable),
            self.only_for([one for one in self.runtimes if one.slug in offer.runtimes]),
        )
        return " ".join(filter(None, rules))

    def more_keys(self) -> list[tuple[str, str]]:
        return []

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        provider = data.get("provider")
        if provider == NONE:
            return data | {"key": "", "model": ""}
        if data.get("model") == OTHER:
            data["model"] = data.get("model_other", "")
            if not data["model"] and "model_other" not in self.errors:
                self.add_error("model_other", "Name the model as its provider does.")
        key = self.keys.get(data.get("key", ""))
        if key and provider and key.provider != provider:
            self.add_error("key", f"{key.name} is a key for {key.get_provider_display()}.")
        elif not data.get("key") and "key" not in self.errors:
            self.add_error("key", "Choose a key, or add one on the page Keys.")
        return data

    def refuse(self, error: Refusal, other: str | None = None) -> None:
        """At the field that people see: what they did not choose is not shown."""
        if isinstance(error, Invalid):
            if error.field == "model" and self["model"].value() == OTHER:
                return self.add_error("model_other", str(error))
            if error.field == "key" and self["provider"].value() == NONE:
                return self.add_error("provider", str(error))
        return super().refuse(error, other)


def _titled(key: Key) -> str:
    return f"{key.name} · ends in {key.hint}" if key.hint else key.name


def _choices(
    form: Form,
    name: str,
    choices: list[tuple[str, str]],
    whens: Mapping[str, str],
    says: Mapping[str, str] | None = None,
) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101  one of the fields above
    assert isinstance(field.widget, WhenSelect)  # noqa: S101
    field.choices = choices
    field.widget.whens, field.widget.says = whens, says or {}

"""Fields that choose how an agent thinks: provider, model, key. For creating and for changing."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings

from controlplane.keys.models import Key, Provider
from controlplane.tenants.access import Access
from frontend.forms.base import Form
from runtimes.catalog import Runtime

NONE = "none"  # no key: the stand-in model that a local installation brings along
OTHER = "other"  # a model that is not in the list
NEW = "new"  # a key that is typed here
WITH_KEY = "provider=" + "|".join(Provider.values)


class WhenSelect(forms.Select):
    """Options that reveal.js shows only while other fields hold certain values."""

    whens: dict[str, str] = {}

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if rule := self.whens.get(str(value)):
            option["attrs"]["data-when"] = rule
        return option


class ChoosingForm(Form):
    shown_when = {
        "model": WITH_KEY,
        "key": WITH_KEY,
        "model_other": f"{WITH_KEY} model={OTHER}",
    }

    provider = forms.ChoiceField(label="Model provider")
    model = forms.ChoiceField(required=False, widget=WhenSelect)
    model_other = forms.CharField(
        label="Its name",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input mono", "autocapitalize": "off"}),
        help_text="As the provider writes it.",
    )
    key = forms.ChoiceField(
        required=False,
        widget=WhenSelect,
        help_text="Kept in the vault and handed over in memory at start. It never lies on a disk.",
    )

    def __init__(
        self, access: Access, runtimes: Iterable[Runtime], *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.access = access
        self.keys = {key.pk: key for key in Key.objects.of(access.organisation).live()}
        self._offer_providers(list(runtimes))
        self._offer_models(list(runtimes))
        self._offer_keys()

    def _offer_providers(self, runtimes: list[Runtime]) -> None:
        usable = {slug for runtime in runtimes for slug in runtime.providers}
        choices = [(slug, label) for slug, label in Provider.choices if slug in usable]
        if settings.ROOST_STANDIN_URL:
            choices.append((NONE, "None: the stand-in model of this installation"))
        _choices(self, "provider", choices)

    def _offer_models(self, runtimes: list[Runtime]) -> None:
        whens: dict[str, str] = {}
        choices = []
        for runtime in runtimes:
            for slug, provider in runtime.providers.items():
                for model in provider.models:
                    if model not in whens:
                        choices.append((model, model))
                    whens[model] = f"provider={slug}"
        self.models = frozenset(whens)
        _choices(self, "model", [*choices, (OTHER, "Another model…")], whens)

    def _offer_keys(self) -> None:
        keys = sorted(self.keys.values(), key=lambda key: key.name)
        choices = [(key.pk, _titled(key)) for key in keys]
        whens = {key.pk: f"provider={key.provider}" for key in keys}
        _choices(self, "key", [*choices, *self.more_keys()], whens)

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


def _titled(key: Key) -> str:
    return f"{key.name} · ends in {key.hint}" if key.hint else key.name


def _choices(
    form: Form, name: str, choices: list[tuple[str, str]], whens: dict[str, str] | None = None
) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101  one of the fields above
    field.choices = choices
    if isinstance(field.widget, WhenSelect):
        field.widget.whens = whens or {}

"""The form for a new agent. It checks what it can say better; the control plane checks all."""

from typing import Any

from django import forms
from django.conf import settings

from controlplane.agents.sizes import DEFAULT_DISK_GIB, DISK_GIB, SIZES
from controlplane.keys.models import Provider
from controlplane.tenants.access import Access
from frontend.forms.choosing import NEW, NONE, WITH_KEY, ChoosingForm
from frontend.forms.keys import SecretField
from runtimes.catalog import CATALOG

NEW_KEY = f"{WITH_KEY} key={NEW}"
# Title, what it means, and the rule of reveal.js: a provider out there cannot be reached closed.
EGRESS = {
    "open": ("Open", "The whole internet. Private networks stay out of reach.", ""),
    "none": ("Closed", "Only the stand-in model. No web search, no webhooks.", f"provider={NONE}"),
}


class CreateForm(ChoosingForm):
    shown_when = {
        **ChoosingForm.shown_when,
        "key_name": NEW_KEY,
        "key_value": NEW_KEY,
        "key_base_url": f"provider={Provider.CUSTOM} key={NEW}",
    }

    runtime = forms.ChoiceField(
        choices=[(runtime.slug, runtime.title) for runtime in CATALOG.values()],
        widget=forms.RadioSelect,
    )
    name = forms.CharField(
        max_length=63,
        error_messages={"required": "Give it a name. It becomes part of its address."},
        help_text="Lower-case letters, digits and hyphens.",
        widget=forms.TextInput(attrs={"autocapitalize": "off"}),
    )
    size = forms.ChoiceField(
        choices=[(size.slug, size.title) for size in SIZES.values()], widget=forms.RadioSelect
    )
    disk_gib = forms.TypedChoiceField(
        label="Workspace",
        coerce=int,
        choices=[(gib, f"{gib} GiB") for gib in DISK_GIB],
        initial=DEFAULT_DISK_GIB,
        help_text="What it may write below /workspace. It is kept when the agent is stopped.",
    )
    egress = forms.ChoiceField(
        choices=[(slug, title) for slug, (title, *_) in EGRESS.items()], widget=forms.RadioSelect
    )
    key_name = forms.CharField(
        label="Name of the key",
        required=False,
        max_length=60,
        help_text="Seen by everyone in the organisation.",
    )
    key_base_url = forms.CharField(
        label="Address",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "https://host/v1", "inputmode": "url"}),
    )
    key_value = SecretField("New key", required=False)

    def __init__(self, access: Access, *args: Any, **kwargs: Any) -> None:
        initial = {"runtime": next(iter(CATALOG)), "size": "small", "egress": "open"}
        initial |= kwargs.pop("initial", {})
        super().__init__(access, CATALOG.values(), *args, initial=initial, **kwargs)
        if settings.ROOST_STANDIN_URL and not self.keys:
            # Nothing to choose yet, and one choice that works at once.
            self.initial = {**self.initial, "provider": NONE, "egress": "none"}

    def more_keys(self) -> list[tuple[str, str]]:
        return [(NEW, "Add a new key…")] if self.access.may("keys:write") else []

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("key") == NEW:
            if not data.get("key_name") and "key_name" not in self.errors:
                self.add_error("key_name", "Give it a name, so that people know which one it is.")
            if not data.get("key_value") and "key_value" not in self.errors:
                self.add_error("key_value", "Paste the key here.")
        return data

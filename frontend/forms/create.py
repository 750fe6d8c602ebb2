"""The form for a new agent. It checks what it can say better; the control plane checks all."""

from typing import Any

from django import forms
from django.conf import settings

from controlplane.agents.models import Egress, Isolation
from controlplane.agents.rules import default_size
from controlplane.agents.sizes import DEFAULT_DISK_GIB, DISK_GIB
from controlplane.keys.models import Provider
from controlplane.tenants.access import Access
from frontend.forms.choosing import NEW, NONE, WITH_KEY
from frontend.forms.keys import SecretField
from frontend.forms.spec import SpecForm
from runtimes.catalog import CATALOG

NEW_KEY = f"{WITH_KEY} key={NEW}"


class CreateForm(SpecForm):
    shown_when = {
        **SpecForm.shown_when,
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
    disk_gib = forms.TypedChoiceField(
        label="Workspace",
        coerce=int,
        choices=[(gib, f"{gib} GiB") for gib in DISK_GIB],
        initial=DEFAULT_DISK_GIB,
        help_text="What it may write below /workspace. It is kept when the agent is stopped.",
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
        runtime = next(iter(CATALOG.values()))
        initial = {
            "runtime": runtime.slug,
            "size": default_size(runtime).slug,
            "egress": Egress.OPEN,
            "isolation": Isolation.DEFAULT,
        }
        runtimes, node = CATALOG.values(), settings.ROOST_NODE
        super().__init__(access, runtimes, node, *args, initial=initial, **kwargs)
        if self.keys:
            key = next(iter(self.keys.values()))
            self.initial.update(provider=key.provider, key=key.pk)
        elif settings.ROOST_STANDIN_URL:
            # Nothing to choose yet, and one choice that works at once.
            self.initial.update(provider=NONE, egress=Egress.NONE)

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

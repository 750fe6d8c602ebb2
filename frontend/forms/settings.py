"""The forms that change an agent and that delete it."""

from typing import Any

from django import forms

from controlplane.agents.models import Agent
from controlplane.agents.sizes import SIZES
from controlplane.tenants.access import Access
from frontend.forms.base import Form
from frontend.forms.choosing import NONE, OTHER, ChoosingForm, WhenSelect
from frontend.forms.create import EGRESS
from frontend.templatetags.roost import memory
from runtimes.catalog import CATALOG


class SettingsForm(ChoosingForm):
    name = forms.CharField(
        max_length=63,
        error_messages={"required": "It needs a name."},
        widget=forms.TextInput(attrs={"autocapitalize": "off"}),
    )
    size = forms.ChoiceField(required=False)
    egress = forms.ChoiceField(
        label="Reach",
        choices=[(slug, f"{title}: {why}") for slug, (title, why, _) in EGRESS.items()],
        widget=WhenSelect,
    )
    etag = forms.CharField(widget=forms.HiddenInput, max_length=80)

    def __init__(self, access: Access, agent: Agent, data: Any = None) -> None:
        runtime = CATALOG[agent.runtime]
        super().__init__(access, [runtime], data, initial=_initial(agent))
        egress = self.fields["egress"].widget
        assert isinstance(egress, WhenSelect)  # noqa: S101  declared above
        egress.whens = {slug: when for slug, (_, _, when) in EGRESS.items()}
        sizes = [size for size in SIZES.values() if size.memory_mb >= runtime.min_memory_mb]
        titled = [(size.slug, f"{size.title}, {memory(size.memory_mb)}") for size in sizes]
        if self.initial["size"] not in SIZES and agent.release:
            titled.insert(0, ("", f"As it is, {memory(agent.release.memory_mb)}"))
        size = self.fields["size"]
        assert isinstance(size, forms.ChoiceField)  # noqa: S101  declared above
        size.choices = titled
        model = self.initial["model"]
        if model and model not in self.models:
            self.initial = {**self.initial, "model": OTHER, "model_other": model}


def _initial(agent: Agent) -> dict[str, Any]:
    release = agent.release
    assert release is not None  # noqa: S101  set in the transaction that made the agent
    return {
        "name": agent.name,
        "provider": release.provider if release.key_id else NONE,
        "model": release.model,
        "key": release.key_id or "",
        "size": release.size,
        "egress": release.egress,
        "etag": agent.etag,
    }


class DeleteForm(Form):
    confirm = forms.CharField(
        required=False,
        max_length=63,
        widget=forms.TextInput(attrs={"autocapitalize": "off"}),
    )

    def __init__(self, agent: Agent, data: Any = None) -> None:
        super().__init__(data)
        self.agent = agent
        self.fields["confirm"].label = f"Type {agent.name} to go on"
        self.fields["confirm"].widget.attrs["data-confirm"] = agent.name

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"]
        if typed != self.agent.name:
            raise forms.ValidationError(
                f"That is not the name of this agent. Type {self.agent.name}, or keep it."
            )
        return typed

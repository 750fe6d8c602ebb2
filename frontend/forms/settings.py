"""The form that changes an agent."""

from typing import Any

from django import forms

from controlplane.agents.models import Agent, Release
from controlplane.agents.sizes import DISK_GIB, SIZES
from controlplane.tenants.access import Access
from frontend.forms.choosing import NONE, OTHER
from frontend.forms.spec import Card, SpecForm
from runtimes.catalog import CATALOG


class SettingsForm(SpecForm):
    name = forms.CharField(
        max_length=63,
        error_messages={"required": "It needs a name."},
        widget=forms.TextInput(attrs={"autocapitalize": "off"}),
    )
    disk_gib = forms.TypedChoiceField(
        label="Workspace",
        coerce=int,
        required=False,
        empty_value=None,
        help_text="It can only grow, and what is in it stays.",
    )
    etag = forms.CharField(widget=forms.HiddenInput, max_length=80)

    def __init__(self, access: Access, agent: Agent, data: Any = None) -> None:
        self.release = _release(agent)
        runtime, initial = CATALOG[agent.runtime], _initial(agent, self.release)
        super().__init__(access, [runtime], agent.node, data, initial=initial)
        field, has = self.fields["disk_gib"], self.release.disk_gib
        assert isinstance(field, forms.TypedChoiceField)  # noqa: S101  declared above
        field.choices = [(gib, f"{gib} GiB") for gib in sorted({has, *DISK_GIB}) if gib >= has]
        model = self.initial["model"]
        if model and model not in self.models:
            self.initial.update(model=OTHER, model_other=model)

    def _sizes(self) -> list[Card]:
        """Those it fits in, and the one it has where that has no name any more."""
        least = self.runtimes[0].min_memory_mb
        named = [card for card in super()._sizes() if card.memory_mb >= least]
        if self.release.size in SIZES:
            return named
        has = self.release.memory_mb, self.release.cpu_millis
        return [Card("", "As it is", "As it was made", "", *has), *named]

    @property
    def lost_secrets(self) -> list[str]:
        """Names of what it was given once and cannot be given again."""
        return [one.name for one in self.release.secrets.all() if one.revoked_at]


def _release(agent: Agent) -> Release:
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    return agent.release


def _initial(agent: Agent, release: Release) -> dict[str, Any]:
    return {
        "name": agent.name,
        "provider": release.provider if release.key_id else NONE,
        "model": release.model,
        "key": release.key_id or "",
        "size": release.size if release.size in SIZES else "",
        "disk_gib": release.disk_gib,
        "egress": release.egress,
        "egress_hosts": release.egress_hosts,
        "isolation": release.isolation,
        "background": release.background,
        "secrets": [secret.pk for secret in release.secrets.all()],
        "etag": agent.etag,
    }

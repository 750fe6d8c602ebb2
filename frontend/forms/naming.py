"""Typing a name before something that cannot be taken back lightly."""

from typing import Any

from django import forms

from controlplane.agents.models import Agent
from frontend.forms.base import Form


class NameForm(Form):
    """Asks for the agent's name, so that nobody does to one what was meant for another."""

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

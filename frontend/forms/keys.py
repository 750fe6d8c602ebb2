from django import forms

from controlplane.keys.models import Provider
from controlplane.keys.rules import MAX_LENGTH
from frontend.forms.base import Form


class SecretField(forms.CharField):
    """Never rendered back: what was typed is sent once and forgotten."""

    def __init__(self, label: str, *, required: bool = True) -> None:
        super().__init__(
            label=label,
            required=required,
            max_length=MAX_LENGTH,
            widget=forms.PasswordInput(
                render_value=False, attrs={"autocomplete": "new-password", "autocapitalize": "off"}
            ),
            error_messages={"required": "Paste the key here."},
            help_text="Goes straight into the vault. Nobody can read it back here, you included.",
        )


class AddKeyForm(Form):
    shown_when = {"base_url": "provider=custom"}

    provider = forms.ChoiceField(choices=Provider.choices)
    name = forms.CharField(
        max_length=60,
        error_messages={"required": "Give it a name, so that people know which one it is."},
        help_text="Seen by everyone in the organisation.",
    )
    base_url = forms.CharField(
        label="Address",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "https://host/v1", "inputmode": "url"}),
    )
    value = SecretField("Value")


class RotateKeyForm(Form):
    value = SecretField("New value")

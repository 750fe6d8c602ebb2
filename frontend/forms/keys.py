"""Keys and secrets: what is typed is sent once and forgotten."""

import base64
from typing import Any, ClassVar

from django import forms

from controlplane.agents.keyring import NEXT_START, NOW
from controlplane.keys.models import Key, Kind, Provider, Secret
from controlplane.keys.rules import MAX_LENGTH, MOST_SECRET_SIZE
from frontend.forms.base import Form

UNREADABLE = "Goes straight into the vault. Nobody can read it back here, you included."
CHECKED = f"Its provider is asked whether it works before it is stored. {UNREADABLE}"
LATER = "At their next start, whenever that is"
MOST_TYPED = 4 * MOST_SECRET_SIZE  # characters; the rules say what is too much, and why
TOO_LARGE = f"Choose a file of at most {MOST_SECRET_SIZE // 1024} KiB; a larger one was not taken."


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
            help_text=CHECKED,
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


def restarting(number: int) -> str:
    """What "now" means while that many agents run with it."""
    return f"Now: {number} agent{'' if number == 1 else 's'} restart{'s' if number == 1 else ''}"


class RotationForm(Form):
    """When agents get a new value; not asked where none runs with it."""

    apply = forms.ChoiceField(
        label="Agents have it",
        required=False,
        choices=[(NOW, "Now"), (NEXT_START, LATER)],
        help_text="An agent that is answering somebody is cut off by a restart.",
    )

    def __init__(self, running: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choosing = self.fields.pop("apply")
        if running:
            assert isinstance(choosing, forms.ChoiceField)  # noqa: S101  declared above
            choosing.choices = [(NOW, restarting(running)), (NEXT_START, LATER)]
            self.fields["apply"] = choosing  # last

    def when(self) -> str:
        return self.cleaned_data.get("apply") or NOW


class RotateKeyForm(RotationForm):
    value = SecretField("New value")


class ForgetfulTextarea(forms.Textarea):
    def format_value(self, value: Any) -> str:
        return ""


class SecretValueForm(Form):
    """A value as text, or as a file where the secret is one."""

    value = forms.CharField(
        required=False,
        strip=False,
        max_length=MOST_TYPED,
        widget=ForgetfulTextarea(attrs={"class": "input mono", "rows": 3, "autocapitalize": "off"}),
        help_text=f"1 byte to 32 KiB, kept as typed. {UNREADABLE}",
    )
    upload = forms.FileField(
        label="Or a file",
        required=False,
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"class": "input"}),
        help_text="Taken byte for byte, whatever it holds.",
    )

    def given(self) -> dict[str, str]:
        """What add_secret and rotate_secret take."""
        upload = self.cleaned_data.get("upload")
        if upload is not None:
            return {"value_base64": base64.b64encode(upload.read()).decode()}
        # A browser sends the ends of lines in its own way.
        return {"value": self.cleaned_data["value"].replace("\r\n", "\n")}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("upload") is not None and data.get("value"):
            self.add_error("upload", "Give the value once: typed above, or as a file.")
        elif data.get("upload") is None and not data.get("value") and "value" not in self.errors:
            self.add_error("value", f"Type the value here. {self._or_a_file()}".strip())
        return data

    def _or_a_file(self) -> str:
        return TOO_LARGE if "upload" in self.fields else ""


class AddSecretForm(SecretValueForm):
    shown_when: ClassVar[dict[str, str]] = {"upload": f"kind={Kind.FILE}"}
    field_order = ["name", "kind", "value", "upload"]

    name = forms.CharField(
        max_length=1000,
        widget=forms.TextInput(attrs={"class": "input mono", "autocapitalize": "characters"}),
        error_messages={"required": "Name it as the agent's programs call it."},
        help_text="Of the environment variable, such as GRAFANA_TOKEN. Seen by everyone.",
    )
    kind = forms.ChoiceField(
        label="The agent gets",
        choices=[
            (Kind.ENV, "A variable that holds the value"),
            (Kind.FILE, "A file, and a variable that says where it lies"),
        ],
    )


class RotateSecretForm(RotationForm, SecretValueForm):
    field_order = ["value", "upload", "apply"]

    def __init__(self, kind: str, running: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(running, *args, **kwargs)
        self.fields["value"].label = "New value"
        if kind != Kind.FILE:
            del self.fields["upload"]


class RevokeForm(Form):
    """Asks for the name only where agents stop."""

    confirm = forms.CharField(
        required=False, max_length=64, widget=forms.TextInput(attrs={"autocapitalize": "off"})
    )

    def __init__(self, thing: Key | Secret, running: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = thing.name
        if not running:
            del self.fields["confirm"]
            return
        self.fields["confirm"].label = f"Type {self.name} to go on"
        self.fields["confirm"].widget.attrs["data-confirm"] = self.name

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"]
        if typed != self.name:
            raise forms.ValidationError(f"That is not its name. Type {self.name}, or keep it.")
        return typed

"""What all our forms share: our clothes, and refusals of the control plane put at their field."""

from typing import Any, ClassVar

from django import forms

from controlplane.errors import Invalid, Refusal

PLAIN = (forms.TextInput, forms.PasswordInput, forms.Textarea)


class Form(forms.Form):
    use_required_attribute = False  # the server's sentence says more than the browser's bubble
    # Field name → rule of reveal.js: shown while other fields hold those values.
    shown_when: ClassVar[dict[str, str]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.when = self.shown_when.get(name, "")  # type: ignore[attr-defined]
            _dress(field.widget)

    def refuse(self, error: Refusal, other: str | None = None) -> None:
        """Put a refusal at the field it names, or at `other`, or above the form."""
        field = error.field if isinstance(error, Invalid) else other
        self.add_error(field if field in self.fields else None, str(error))


def _dress(widget: forms.Widget) -> None:
    if isinstance(widget, forms.RadioSelect):
        return
    if isinstance(widget, (*PLAIN, forms.Select)):
        secret = isinstance(widget, forms.PasswordInput)
        widget.attrs.setdefault("class", "input mono" if secret else "input")
    if isinstance(widget, PLAIN):
        widget.attrs.setdefault("autocomplete", "off")
        widget.attrs.setdefault("spellcheck", "false")

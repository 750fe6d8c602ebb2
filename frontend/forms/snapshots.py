from django import forms

from controlplane.snapshots.actions import LONGEST_NOTE
from frontend.forms.base import Form


class TakeForm(Form):
    note = forms.CharField(
        required=False,
        max_length=LONGEST_NOTE,
        help_text="Optional: what it is for, such as “before the new templates”.",
    )

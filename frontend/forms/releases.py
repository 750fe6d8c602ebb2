from django import forms

from frontend.forms.base import Form


class RollbackForm(Form):
    force = forms.BooleanField(
        required=False,
        label="Also in the middle of an answer, and to a version that failed before",
    )

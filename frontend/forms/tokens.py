from datetime import datetime, timedelta

from django import forms
from django.utils.timezone import now

from frontend.forms.base import Form

READ_ONLY = "read"
DAYS = {"30": "30 days", "90": "90 days", "365": "A year", "": "No end date"}


class IssueTokenForm(Form):
    name = forms.CharField(
        max_length=60,
        error_messages={"required": "Give it a name, so that people know what it is for."},
        help_text="Such as the program that will use it.",
    )
    reach = forms.ChoiceField(
        label="May",
        choices=[("all", "Do everything you may do"), (READ_ONLY, "Read, and change nothing")],
    )
    days = forms.ChoiceField(
        label="Valid for", required=False, choices=list(DAYS.items()), initial="90"
    )

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return now() + timedelta(days=int(days)) if days else None

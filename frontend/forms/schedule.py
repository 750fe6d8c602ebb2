"""The form behind the schedule of snapshots: people choose a time, the plan has cron."""

from typing import Any

from django import forms

from controlplane.errors import Invalid, Refusal
from controlplane.snapshots.models import SnapshotPlan
from controlplane.snapshots.plans import KEPT, MOST_KEPT
from frontend.forms.base import Form
from frontend.schedules import CUSTOM, DAILY, WEEKDAYS, WEEKLY, Rhythm, cron_of, rhythm_of

MONDAY_FIRST = [(str(number % 7), WEEKDAYS[number % 7]) for number in range(1, 8)]


def _kept(label: str, help_text: str) -> forms.IntegerField:
    attrs = {"class": "input", "min": 0, "max": MOST_KEPT, "inputmode": "numeric"}
    said = f"Write a number between 0 and {MOST_KEPT}."
    return forms.IntegerField(
        label=label,
        help_text=help_text,
        widget=forms.NumberInput(attrs=attrs),
        error_messages={"required": said, "invalid": said},
    )


class ScheduleForm(Form):
    shown_when = {
        "weekday": f"rhythm={WEEKLY}",
        "at": f"rhythm={DAILY}|{WEEKLY}",
        "cron": f"rhythm={CUSTOM}",
    }

    on = forms.BooleanField(required=False)
    rhythm = forms.ChoiceField(
        label="How often",
        choices=[(DAILY, "Every day"), (WEEKLY, "Every week"), (CUSTOM, "By a cron expression")],
    )
    weekday = forms.ChoiceField(label="On", choices=MONDAY_FIRST, required=False)
    at = forms.TimeField(
        label="At",
        required=False,
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": "Write a time of day, such as 02:30."},
    )
    cron = forms.CharField(
        label="Cron expression",
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs={"class": "input mono", "autocapitalize": "off"}),
        help_text="Minute, hour, day, month, weekday: 30 2 * * 1-5 is 02:30 from Monday to Friday.",
    )
    timezone = forms.CharField(
        label="Time zone",
        max_length=60,
        widget=forms.TextInput(attrs={"list": "time-zones"}),
        error_messages={"required": "Write a time zone, such as Europe/Berlin."},
        help_text="Nights on which clocks change are taken into account.",
    )
    keep_last = _kept("The last", "Whenever they were taken.")
    keep_daily = _kept("Daily", "The newest of each day, for so many days with one.")
    keep_weekly = _kept("Weekly", "The newest of each week, for so many weeks with one.")

    def __init__(self, plan: SnapshotPlan, data: Any = None) -> None:
        super().__init__(data, initial=_initial(plan))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        kind, at = data.get("rhythm"), data.get("at")
        if kind in (DAILY, WEEKLY) and at is None and "at" not in self.errors:
            self.add_error("at", "Write a time of day, such as 02:30.")
        if kind == WEEKLY and not data.get("weekday") and "weekday" not in self.errors:
            self.add_error("weekday", "Choose a day.")
        return data

    def changes(self) -> dict[str, Any]:
        """In the words of controlplane.snapshots.plans; of a form that is valid."""
        data = self.cleaned_data
        rhythm = Rhythm(data["rhythm"], data["at"], data["weekday"], data["cron"])
        plain = {name: data[name] for name in ("on", "timezone", *KEPT)}
        return plain | {"cron": cron_of(rhythm)}

    def refuse(self, error: Refusal, other: str | None = None) -> None:
        """At the field that people see: a time is not shown as cron."""
        if isinstance(error, Invalid) and error.field == "cron":
            return self.add_error("cron" if self["rhythm"].value() == CUSTOM else "at", str(error))
        return super().refuse(error, other)


def _initial(plan: SnapshotPlan) -> dict[str, Any]:
    rhythm = rhythm_of(plan.cron)
    return {
        "on": plan.on,
        "rhythm": rhythm.kind,
        "weekday": rhythm.weekday or "0",
        "at": rhythm.at,
        "cron": plan.cron,
        "timezone": plan.timezone,
        **{name: getattr(plan, name) for name in KEPT},
    }

"""What is found in shared places is for operators alone.

Reports of before named rows, files and blocks of others. They are taken back; an alarm that one of
them rang stays until the next search, and no longer says where.
"""

from typing import Any

import django.utils.timezone
from django.db import migrations, models

TAKEN_BACK = (
    "An earlier search found a credential of this agent. Its report was taken back, because it "
    "also told of places that are not this agent's. Scan again."
)


def take_back(apps: Any, schema_editor: Any) -> None:
    apps.get_model("scans", "Scan").objects.filter(status="done").delete()
    apps.get_model("agents", "Condition").objects.filter(
        type="Credentials", reason="credential_found"
    ).update(message=TAKEN_BACK)
    apps.get_model("agents", "Event").objects.filter(kind="scan.credential_found").update(
        detail=TAKEN_BACK
    )


class Migration(migrations.Migration):
    dependencies = [("scans", "0001_scan")]

    operations = [
        migrations.CreateModel(
            name="OperatorReport",
            fields=[
                ("id", models.CharField(max_length=24, primary_key=True, serialize=False)),
                ("agent", models.CharField(max_length=24)),
                ("findings", models.PositiveIntegerField(default=0)),
                ("unseen", models.PositiveSmallIntegerField(default=0)),
                ("report", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["agent", "-created_at"], name="operator_report_newest")
                ],
            },
        ),
        migrations.RunPython(take_back, migrations.RunPython.noop),
    ]

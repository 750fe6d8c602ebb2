from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('provisioner', '0002_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='node',
            name='isolations',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='node',
            name='guard_restored_at',
            field=models.DateTimeField(null=True),
        ),
    ]

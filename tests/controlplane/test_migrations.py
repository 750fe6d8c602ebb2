from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_models_and_migrations_say_the_same():
    said = StringIO()

    call_command("makemigrations", "--check", "--dry-run", stdout=said)

    assert "No changes detected" in said.getvalue()

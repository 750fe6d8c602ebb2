from typing import Any

from django.core.management.base import BaseCommand, CommandError

from provisioner.backend import get_backend
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.shutdown import clean


class Command(BaseCommand):
    help = clean.__doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            clean(get_backend(), self.stdout.write)
        except (EngineUnavailable, EngineRefused) as error:
            raise CommandError(f"The engine could not do it: {error}") from error

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from provisioner.backend import get_backend
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.images import ensure_images
from runtimes.debian import ImageBuildError


class Command(BaseCommand):
    help = "Build the images that this node lacks."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            built = ensure_images(get_backend().engine, self.stdout.write)
        except (ImageBuildError, EngineRefused, EngineUnavailable) as error:
            raise CommandError(f"The images could not be built: {error}") from error
        self.stdout.write(f"{len(built)} images built" if built else "all images are there")

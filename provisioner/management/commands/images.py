from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from provisioner.backend import get_backend
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.images import ensure_images
from runtimes.catalog import CATALOG
from runtimes.debian import ImageBuildError


class Command(BaseCommand):
    help = "Build the images that this node lacks."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runtimes", nargs="*", choices=[*CATALOG, []], help="Default: all.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chosen = [CATALOG[slug] for slug in options["runtimes"]] or None
            built = ensure_images(get_backend().engine, self.stdout.write, chosen)
        except (ImageBuildError, EngineRefused, EngineUnavailable) as error:
            raise CommandError(f"The images could not be built: {error}") from error
        self.stdout.write(f"{len(built)} images built" if built else "all images are there")

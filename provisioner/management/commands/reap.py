import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.errors import Refusal
from provisioner.backend import get_backend
from provisioner.strays import reaping, recording
from provisioner.strays.models import Kind
from provisioner.strays.telling import SHELL


class Command(BaseCommand):
    help = (
        "Remove what no row speaks of. Without --plan a dry run: lists what would go, and the id "
        "of that plan. See docs/operate.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--plan", metavar="ID", help="of a dry run of the last hour: do it")
        parser.add_argument(
            "--the-database-is-right",
            default="",
            metavar="INSTALLATION",
            help="although it looks as if it was restored; the name of this installation",
        )
        parser.add_argument("-o", "--output", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        backend = get_backend()
        try:
            if options["plan"]:
                right = options["the_database_is_right"]
                agreed = reaping.agree(SHELL, options["plan"], database_is_right=right)
                gone = reaping.carry_out(backend, self.stdout.write)
                self.stdout.write(f"{gone} of {len(agreed)} removed; the node goes on with others.")
                return
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        recording.note(backend)
        self._show(options["output"])

    def _show(self, output: str) -> None:
        made, doubts = reaping.plan(SHELL), reaping.doubts()
        if output == "json":
            told = {"plan": made.pk, "items": made.items, "doubts": doubts}
            self.stdout.write(json.dumps(told, indent=2))
            return
        for item in made.items:
            size = f", {item['bytes']} bytes" if item["bytes"] is not None else ""
            self.stdout.write(f"would remove {Kind(item['kind']).label}: {item['name']}{size}")
        if doubts:
            self.stdout.write(f"It will be refused, because the database looks restored: {doubts}.")
        if made.items:
            self.stdout.write(f"Nothing was removed. To do it within the hour: --plan {made.pk}")
        else:
            self.stdout.write("There is nothing to remove.")

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from controlplane.jobs.claim import Claim
from provisioner.jobs.kinds import KINDS
from provisioner.jobs.launch import main


class Command(BaseCommand):
    help = "Carry out one job that the node has claimed. Started by the node, not by people."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=sorted(KINDS))
        parser.add_argument("job")
        parser.add_argument("fence", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        main(Claim(KINDS[options["kind"]].model, options["job"], options["fence"]))

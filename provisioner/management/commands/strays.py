import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.agents.models import Condition
from controlplane.errors import Refusal
from provisioner import memory
from provisioner.backend import get_backend
from provisioner.conditions import CURRENT
from provisioner.strays import deciding, recording
from provisioner.strays.adopting import adopt
from provisioner.strays.models import Stray
from provisioner.strays.telling import SHELL, line, shown


class Command(BaseCommand):
    help = (
        "What is on this node and no row speaks of, after a database was restored for one. Shows "
        "it; with an option, does something about it. See docs/operate.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
        parser.add_argument("--look", action="store_true", help="look now, not as of a round ago")
        parser.add_argument("--adopt", metavar="AGENT", help="make it an agent again, stopped")
        parser.add_argument("--organisation", default="", help="whose it is, where no label says")
        parser.add_argument("--name", default="", help="of the agent that is adopted")
        parser.add_argument("--runtime", default="", help="which it was, where no container says")
        parser.add_argument("--ignore", metavar="STRAY", help="leave it alone for good")
        parser.add_argument("--heed", metavar="STRAY", help="no longer ignore or remove it")
        parser.add_argument(
            "--trust-database", action="store_true", help="it was restored, and is right"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._act(options)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal

    def _act(self, options: dict[str, Any]) -> None:
        if options["adopt"]:
            chosen = {name: options[name] for name in ("organisation", "name", "runtime")}
            agent = adopt(SHELL, options["adopt"], **chosen)
            self.stdout.write(f"{agent.pk} is {agent.name} of {agent.organisation}, stopped.")
        elif options["ignore"]:
            deciding.ignore(SHELL, options["ignore"])
        elif options["heed"]:
            deciding.heed(SHELL, options["heed"])
        elif options["trust_database"]:
            if not memory.trust(SHELL, settings.ROOST_NODE):
                self.stdout.write("Nobody doubted it.")
        else:
            if options["look"]:
                recording.note(get_backend())
            self._show(options["output"])

    def _show(self, output: str) -> None:
        strays = list(Stray.objects.open().at(settings.ROOST_NODE).order_by("agent", "kind", "pk"))
        doubted = Condition.objects.filter(
            type=CURRENT, status=False, agent__node=settings.ROOST_NODE
        ).exclude(message="")  # somebody has decided, and it is under way
        doubted = doubted.select_related("agent")
        since = memory.older_since()
        if output == "json":
            told = {
                "database_older_since": since.isoformat() if since else None,
                "strays": [shown(one) for one in strays],
                "doubted_agents": [
                    {"agent": row.agent_id, "reason": row.reason, "message": row.message}
                    for row in doubted
                ],
            }
            self.stdout.write(json.dumps(told, indent=2))
            return
        if since:
            self.stdout.write(f"The database went back in time; noticed at {since:%F %T} UTC.")
        for one in strays:
            self.stdout.write(line(one))
        for row in doubted:
            self.stdout.write(f"{row.agent_id} {row.agent.name}: {row.message}")
        if not strays and not doubted:
            self.stdout.write("A row speaks of everything there is.")

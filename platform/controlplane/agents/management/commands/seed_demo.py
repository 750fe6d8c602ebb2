import json
from typing import Any

import environ
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from controlplane.agents.actions import create_agent
from controlplane.agents.models import Agent
from controlplane.audit.actor import SYSTEM
from controlplane.errors import Refusal
from controlplane.tenants.access import Access, of_member
from controlplane.tenants.actions import create_organisation, issue_token
from controlplane.tenants.models import Organisation, User

ORGANISATION, SLUG, AGENT = "Demo", "demo", "hermes"


class Command(BaseCommand):
    help = "Make the demo organisation with one agent on the stand-in model; prints JSON."

    def handle(self, *args: Any, **options: Any) -> None:
        env = environ.Env()
        try:
            with transaction.atomic():
                user = self._operator(env.str("ROOST_ADMIN_EMAIL"), env.str("ROOST_ADMIN_PASSWORD"))
                access = self._organisation(user)
                agent = self._agent(access)
                _, token = issue_token(access, name="local")
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        told = {"org": access.organisation.pk, "token": token, "agent": agent.pk}
        self.stdout.write(json.dumps(told))

    def _operator(self, email: str, password: str) -> User:
        user = User.objects.filter(email=email).first()
        if user is None:
            return User.objects.create_superuser(email, password, name="Operator")
        user.set_password(password)
        user.save(update_fields=["password"])
        return user

    def _organisation(self, user: User) -> Access:
        if not Organisation.objects.filter(slug=SLUG).exists():
            create_organisation(name=ORGANISATION, slug=SLUG, owner=user, by=SYSTEM)
        return of_member(user, slug=SLUG)

    def _agent(self, access: Access) -> Agent:
        agent = Agent.objects.of(access.organisation).filter(name=AGENT).first()
        return agent or create_agent(
            access, name=AGENT, runtime="hermes", size="small", disk_gib=1, egress="none"
        )

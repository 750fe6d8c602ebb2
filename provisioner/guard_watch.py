"""Putting the guard back within seconds when somebody flushes or removes its rules.

A firewall that reloads (`nft flush ruleset`) would otherwise open every agent's way to the host
until the next house-keeping. Operators are told: see rounds.beat.
"""

import logging

from django.conf import settings
from django.utils.timezone import now

from provisioner import guard, host, reach
from provisioner.grants import Grants
from provisioner.models import Node

log = logging.getLogger(__name__)


class GuardWatch:
    def __init__(self, grants: Grants) -> None:
        self.grants = grants
        self._seen = ""

    def look(self) -> bool:
        """Whether the rules had been changed by somebody else and were put back."""
        host.ensure_bridges_filtered()
        installation = settings.ROOST_INSTALLATION
        found = guard.fingerprint(installation)
        if found and found == self._seen:
            return False
        reach.refresh()
        self.grants.give_again()
        before, self._seen = self._seen, guard.fingerprint(installation)
        if not before:
            return False
        log.warning("the network guard was changed or removed by somebody else; it was put back")
        Node.objects.filter(pk=settings.ROOST_NODE).update(guard_restored_at=now())
        return True

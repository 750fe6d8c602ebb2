"""The node's DNS for agents: it answers at once, also where the answer is no.

With the engine's own resolver an agent that may not reach the internet waits 20 seconds for
its first turn; a prompt, authoritative "no such name" costs nothing. Open agents are passed
on to the host's resolvers. Those with a list are told the public addresses of listed names,
which the guard lets them connect to before they know; nothing else they ask goes anywhere.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from dnslib import RCODE, DNSRecord
from dnslib.server import BaseResolver

from controlplane.agents.models import Egress
from provisioner import answers, dns_server
from provisioner.backend import Backend
from provisioner.grants import Grants, TooMany
from provisioner.guard import GuardError
from provisioner.reach import Reach, reaches
from provisioner.upstream import Upstreams, host_upstreams

log = logging.getLogger(__name__)

TTL = 2.0  # seconds the list of agents is kept
STRANGER_TTL = 0.2  # where the asker is not in it: perhaps it was born since


class AgentResolver(BaseResolver):  # type: ignore[misc]
    """`agents` reads what each agent may reach, as the database wants it now."""

    def __init__(
        self,
        upstreams: list[str],
        grants: Grants | None = None,
        agents: Callable[[], list[Reach]] = reaches,
    ) -> None:
        self.upstreams = Upstreams(upstreams)
        self.grants = grants or Grants()
        self._read = agents
        self._agents: dict[str, Reach] = {}
        self._read_at = float("-inf")
        self._refreshing = threading.Lock()

    def resolve(self, request: DNSRecord, handler: object) -> DNSRecord:
        asker = handler.client_address[0]  # type: ignore[attr-defined]
        agent = self.agent_at(asker)
        if agent is None or len(request.questions) != 1:
            return answers.refusal(request)
        if agent.egress == Egress.OPEN:
            tcp = getattr(handler, "protocol", "udp") == "tcp"
            return self.upstreams.ask(asker, request, tcp=tcp) or answers.failure(request)
        if agent.egress == Egress.LIST:
            return self._listed(agent, request)
        return answers.refusal(request)

    def _listed(self, agent: Reach, request: DNSRecord) -> DNSRecord:
        ports = agent.hosts.ports(str(request.q.qname))
        if not ports:
            return answers.refusal(request)
        if not answers.asks_for_address(request):
            return answers.refusal(request, RCODE.NOERROR)  # the name is there, this of it is not
        question = answers.plain_question(request)
        answer = self.upstreams.ask(agent.address, question)
        if answer is not None and answer.header.tc:
            answer = self.upstreams.ask(agent.address, question, tcp=True)
        if answer is None:
            return answers.failure(request)
        told = answers.without_private(request, answer)
        try:
            targets = [(address, port) for address in told.addresses for port in ports]
            self.grants.give(agent, targets, told.seconds)
        except (GuardError, TooMany) as error:
            log.warning("%s is not told the way to %s: %s", agent.agent_id, request.q.qname, error)
            return answers.failure(request)
        finally:
            connection.close()
        return told.reply

    def agent_at(self, address: str) -> Reach | None:
        """One asker reads the list anew; the others go by the old one and wait for nobody."""
        age = time.monotonic() - self._read_at
        due = age > (TTL if address in self._agents else STRANGER_TTL)
        if due and self._refreshing.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._refreshing.release()
        return self._agents.get(address)

    def _refresh(self) -> None:
        try:
            found = {agent.address: agent for agent in self._read()}
            self.grants.keep_only(found.values())
            self._agents = found
        except DatabaseError:
            log.warning("database away: what agents may reach stays as it was")
        finally:
            connection.close()  # this thread lives for one question
        self._read_at = time.monotonic()


@contextlib.contextmanager
def serving(backend: Backend, grants: Grants | None = None, *, poll: float = 0.5) -> Iterator[None]:
    """Answers on the service address while the block runs, and takes up to `poll` seconds to stop;
    without a guard there is none."""
    if not backend.guarded:
        yield
        return
    resolver = AgentResolver(host_upstreams(), grants)
    with dns_server.answering(resolver, settings.ROOST_SERVICE_ADDRESS, poll=poll):
        yield

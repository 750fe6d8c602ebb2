"""Where an agent's own web UI is: a host name of its own, below the installation's domain.

    agt_abc  <->  https://agt-abc.agents.example.com

A host of its own keeps one agent's pages apart from every other's and from the dashboard: cookies,
storage and scripts are not shared.
"""

import re

from django.conf import settings

LABEL = re.compile(r"agt-[a-z0-9]{1,60}")


def web_origin(agent_id: str) -> str:
    return f"{settings.ROOST_AGENTS_SCHEME}://{web_host(agent_id)}"


def web_host(agent_id: str) -> str:
    """With a port where it is not the usual. Ids have an underscore, which host names may not."""
    return f"{agent_id.replace('_', '-', 1)}.{settings.ROOST_AGENTS_DOMAIN}"


def is_agents_host(host: str) -> bool:
    """Whether a `Host` header names something below the agents' domain, an agent or not."""
    return _name(host).endswith("." + _name(settings.ROOST_AGENTS_DOMAIN))


def agent_of(host: str) -> str | None:
    """The id that a `Host` header stands for; None where it cannot be an agent's."""
    label, _, domain = _name(host).partition(".")
    if domain != _name(settings.ROOST_AGENTS_DOMAIN) or not LABEL.fullmatch(label):
        return None
    return label.replace("-", "_", 1)


def _name(host: str) -> str:
    """Without the port, which a proxy in front of the gateway may leave out."""
    return host.partition(":")[0].lower()

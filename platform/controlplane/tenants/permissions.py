"""Who may do what: the one table. A token's scopes are the same words."""

from controlplane.tenants.models import Role

ALL = frozenset(Role)
WRITERS = frozenset({Role.OWNER, Role.ADMIN, Role.DEVELOPER})
MANAGERS = frozenset({Role.OWNER, Role.ADMIN})

PERMISSIONS: dict[str, frozenset[Role]] = {
    "org:read": ALL,
    "org:write": MANAGERS,
    "agents:read": ALL,  # with their timeline, logs and conversations
    "agents:write": WRITERS,
    "agents:chat": WRITERS,  # talking to an agent makes it act
    "keys:read": ALL,  # names and hints; values are readable by nobody
    "keys:write": WRITERS,
    "tokens:read": MANAGERS,
    "tokens:write": MANAGERS,
}


def scopes_of(role: str) -> frozenset[str]:
    return frozenset(name for name, roles in PERMISSIONS.items() if role in roles)

"""The parts of an agent's state, each true, false or not known, derived from how a pass went."""

from controlplane.agents.lifecycle import ON_NODE, Status

READY, WORKSPACE, KEYS, IMAGE, ENGINE = (
    "Ready",
    "WorkspaceMounted",
    "KeysDelivered",
    "ImagePresent",
    "EngineReachable",
)
CURRENT = "RowIsCurrent"  # see provisioner.older
TYPES = (READY, WORKSPACE, KEYS, IMAGE, ENGINE)

# Which part a reason speaks of. Such a pass did not come as far as the other parts.
SPEAKS_OF = {
    "vault_unavailable": KEYS,
    "key_gone": KEYS,
    "image_missing": IMAGE,
    "engine_silent": ENGINE,
    "workspace_lost": WORKSPACE,
    "workspace_foreign": WORKSPACE,
    "workspace_trouble": WORKSPACE,
}
AWAY = {Status.STOPPED, Status.SUSPENDED, Status.DELETED, Status.CRASH_LOOPING, Status.FAILED}


def conditions_of(status: Status, reason: str) -> dict[str, bool | None]:
    """Only what this status tells; a type that is not in it stays as it was."""
    found: dict[str, bool | None] = {
        READY: {Status.RUNNING: True, Status.UNKNOWN: None}.get(status, False),
        ENGINE: reason != "engine_silent",
    }
    if status in {Status.RUNNING, Status.DEGRADED}:
        found |= {WORKSPACE: True, KEYS: True, IMAGE: True}
    elif status in AWAY:
        found |= {WORKSPACE: False, KEYS: False}
    if part := SPEAKS_OF.get(reason):
        found[part] = None if status in ON_NODE and part != ENGINE else False
    return found

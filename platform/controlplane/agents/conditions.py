"""What holds of an agent beside its status: its credentials, its last drill."""

from django.utils.timezone import now

from controlplane.agents.models import Agent, Condition


def set_condition(agent: Agent, kind: str, *, status: bool, reason: str, message: str) -> None:
    """`since` stays for as long as the status does. Call inside the transaction of its cause."""
    row = agent.conditions.filter(type=kind).first()
    since = row.since if row is not None and row.status == status else now()
    Condition.objects.update_or_create(
        agent=agent,
        type=kind,
        defaults={"status": status, "since": since, "reason": reason, "message": message[:500]},
    )

"""
What can keep an operator's wish from being carried out:

* Refusal
  - NothingToAdopt    there is no disk of that agent, or it is an agent already
  - OwnerUnknown      nobody knows whose it is, or it is another organisation's
  - RuntimeUnknown    nothing tells which runtime it was
  - PlanUnknown       there is no such plan, or it was agreed to before
  - PlanTooOld        more than an hour has passed since
  - PlanChanged       what it lists is not what would be removed now
  - DatabaseDoubtful  the database looks as if it was restored
"""

from collections.abc import Iterable

from controlplane.errors import Refusal


class NothingToAdopt(Refusal):
    code = "nothing_to_adopt"

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"There is no workspace of {agent} here that could be adopted. Look at `python -m "
            "django strays`: it may be an agent already, be on another node, or be removed now."
        )


class OwnerUnknown(Refusal):
    code = "owner_unknown"


class RuntimeUnknown(Refusal):
    code = "runtime_unknown"

    def __init__(self, runtimes: Iterable[str]) -> None:
        super().__init__(
            "Its container is gone, so nothing tells which runtime it was. Name it: "
            f"{', '.join(sorted(runtimes))}."
        )


class PlanUnknown(Refusal):
    code = "plan_unknown"

    def __init__(self, plan: str) -> None:
        super().__init__(f"There is no plan {plan[:40]!r} to agree to. Make one by a dry run.")


class PlanTooOld(Refusal):
    code = "plan_too_old"

    def __init__(self) -> None:
        super().__init__("This plan is older than an hour. Make another by a dry run, and read it.")


class PlanChanged(Refusal):
    code = "plan_changed"

    def __init__(self) -> None:
        super().__init__(
            "What this plan lists is not what would be removed now. Make another by a dry run, and "
            "read it."
        )


class DatabaseDoubtful(Refusal):
    code = "database_doubtful"

    def __init__(self, why: str, installation: str) -> None:
        super().__init__(
            f"The database looks as if it was restored: {why}. What no row speaks of may then be "
            "somebody's newest work: adopt it. Should the database be right all the same, repeat "
            f"this with --the-database-is-right {installation}."
        )

"""
Errors a caller of this app can meet:

* Refusal
  - UnknownScope        a scope that is not in the table
  - ScopeTooWide        a token cannot have more than its maker
  - OrganisationChanged somebody changed it since you read it (412)
  - OrganisationPaused  nothing of this organisation may start
"""

from controlplane.errors import Invalid, Refusal


class UnknownScope(Invalid):
    code = "unknown_scope"


class ScopeTooWide(Refusal):
    code = "scope_too_wide"
    status = 403

    def __init__(self, scopes: list[str]) -> None:
        super().__init__(f"You cannot give what you do not have: {', '.join(scopes)}.")


class OrganisationChanged(Refusal):
    code = "organisation_changed"
    status = 412

    def __init__(self) -> None:
        super().__init__("Somebody changed this organisation since you read it. Read it again.")


class OrganisationPaused(Refusal):
    code = "organisation_paused"
    status = 402

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} is paused: {reason} Nothing starts until that is settled.")

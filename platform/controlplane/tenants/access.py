"""One caller in one organisation: the only way in for dashboard and API alike.

Everything is loaded *through* an Access, so the check cannot be forgotten.
"""

from dataclasses import dataclass

from controlplane.audit.actor import Actor
from controlplane.errors import Forbidden, NotFound
from controlplane.tenants.models import ApiToken, Membership, Organisation, User
from controlplane.tenants.permissions import PERMISSIONS, scopes_of


@dataclass(frozen=True)
class Access:
    organisation: Organisation
    actor: Actor
    user: User
    scopes: frozenset[str]
    role: str

    def may(self, permission: str) -> bool:
        if permission not in PERMISSIONS:
            raise KeyError(permission)
        return permission in self.scopes

    def still_may(self, permission: str) -> bool:
        """The same as `may`, but as things are now."""
        return right_stands(
            permission,
            organisation=self.organisation.pk,
            user=self.user.pk,
            token=self.actor.id if self.actor.kind == "token" else "",
        )

    def require(self, permission: str) -> None:
        """Raises Forbidden with what is missing and who can help."""
        if not self.may(permission):
            able = ", ".join(sorted(PERMISSIONS[permission]))
            raise Forbidden(
                f"This needs the permission {permission}, which {self.actor.label} does not have. "
                f"An {able} of {self.organisation} has it and can give it to you."
            )


def of_member(user: User, *, ip: str | None = None, **organisation: str) -> Access:
    """A signed-in person in an organisation named by `slug=` or `id=`.

    Raises NotFound for strangers and for what is not there, alike.
    """
    lookup = {f"organisation__{name}": value for name, value in organisation.items()}
    membership = (
        Membership.objects.filter(user=user, **lookup).select_related("organisation").first()
    )
    if membership is None:
        raise NotFound("This organisation")
    actor = Actor("member", str(user.pk), str(user), ip)
    return Access(membership.organisation, actor, user, scopes_of(membership.role), membership.role)


def of_token(token: ApiToken, organisation_id: str, *, ip: str | None = None) -> Access:
    """A token in the organisation a path names. A token never has more than its maker has now."""
    if token.organisation_id != organisation_id:
        raise NotFound("This organisation")
    membership = Membership.objects.filter(
        organisation_id=organisation_id, user_id=token.created_by_id
    ).first()
    role = membership.role if membership else ""
    scopes = frozenset(token.scopes) & scopes_of(role)
    actor = Actor("token", token.pk, f"token {token.name}", ip)
    return Access(token.organisation, actor, token.created_by, scopes, role)


def right_stands(permission: str, *, organisation: str, user: int, token: str = "") -> bool:
    """Whether somebody still has a right, read afresh: for what outlasts its request."""
    membership = Membership.objects.filter(
        organisation=organisation, user=user, user__is_active=True
    ).first()
    if membership is None or permission not in scopes_of(membership.role):
        return False
    if not token:
        return True
    found = ApiToken.objects.live().filter(pk=token, organisation=organisation).first()
    return found is not None and permission in found.scopes

"""Everything that changes an organisation, its people and its tokens."""

import secrets
from datetime import datetime

from django.db import transaction
from django.utils.timezone import now

from controlplane.audit.actor import Actor
from controlplane.audit.record import record
from controlplane.naming import check_title
from controlplane.tenants.access import Access
from controlplane.tenants.errors import OrganisationChanged, ScopeTooWide, UnknownScope
from controlplane.tenants.models import ApiToken, Membership, Organisation, Role, User
from controlplane.tenants.permissions import PERMISSIONS


@transaction.atomic
def create_organisation(*, name: str, slug: str, owner: User, by: Actor) -> Organisation:
    organisation = Organisation.objects.create(name=name, slug=slug)
    Membership.objects.create(organisation=organisation, user=owner, role=Role.OWNER)
    record(by, "organisation.created", organisation.pk, organisation=organisation.pk, label=name)
    return organisation


@transaction.atomic
def rename_organisation(access: Access, *, name: str, if_match: str | None = None) -> Organisation:
    access.require("org:write")
    check_title(name)
    organisation = Organisation.objects.select_for_update(no_key=True).get(
        pk=access.organisation.pk
    )
    if if_match is not None and if_match not in {organisation.etag, "*"}:
        raise OrganisationChanged
    if name == organisation.name:
        return organisation
    old, organisation.name = organisation.name, name
    organisation.save(update_fields=["name"])
    record(
        access.actor,
        "organisation.renamed",
        organisation.pk,
        organisation=organisation.pk,
        label=name,
        data={"from": old, "to": name},
    )
    return organisation


@transaction.atomic
def issue_token(
    access: Access,
    *,
    name: str,
    scopes: list[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Returns the row and the text, which is kept nowhere. Scopes default to the maker's."""
    access.require("tokens:write")
    check_title(name)
    wanted = access.scopes if scopes is None else frozenset(scopes)
    if unknown := sorted(wanted - PERMISSIONS.keys()):
        raise UnknownScope(
            "scopes", f"There is no scope {unknown[0]!r}. Known: {', '.join(PERMISSIONS)}."
        )
    if too_wide := sorted(wanted - access.scopes):
        raise ScopeTooWide(too_wide)
    prefix = f"rst_{secrets.token_hex(4)}"
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    token = ApiToken.objects.create(
        organisation=access.organisation,
        name=name,
        prefix=prefix,
        digest=ApiToken.digest_of(text),
        scopes=sorted(wanted),
        created_by=access.user,
        expires_at=expires_at,
    )
    _record_token(access, "token.issued", token)
    return token, text


@transaction.atomic
def revoke_token(access: Access, token: ApiToken) -> None:
    access.require("tokens:write")
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now()):
        _record_token(access, "token.revoked", token)


def _record_token(access: Access, action: str, token: ApiToken) -> None:
    record(
        access.actor,
        action,
        token.pk,
        organisation=token.organisation_id,
        label=token.name,
        data={"scopes": token.scopes},
    )

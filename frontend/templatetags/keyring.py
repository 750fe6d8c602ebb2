"""How the page of keys speaks."""

from django import template
from django.urls import reverse

from controlplane.keys.actions import noun
from controlplane.keys.models import Key, Secret
from controlplane.tenants.access import Access

register = template.Library()


@register.filter
def rotation_address(thing: Key | Secret, access: Access) -> str:
    """Where the panel of its rotation is asked for again."""
    return reverse(f"frontend:{noun(thing)}_rotation", args=[access.organisation.slug, thing.pk])


@register.filter
def reason(check_message: str) -> str:
    """The words "not checked" stand beside it already."""
    return check_message.removeprefix("Not checked: ")

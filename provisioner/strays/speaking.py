"""Which rows speak of copies and of networks: asked by a look, and again before a removal."""

from collections.abc import Iterable

from django.conf import settings

from controlplane.snapshots.models import Restore, Snapshot
from provisioner import names
from provisioner.models import Block


def copies(clones: Iterable[str]) -> set[str]:
    """Those of them that a snapshot is, or that a restore keeps what was there as."""
    asked = set(clones)
    snapshots = Snapshot.objects.filter(pk__in=asked).values_list("pk", flat=True)
    restores = Restore.objects.filter(keep_as__in=asked).values_list("keep_as", flat=True)
    return {*snapshots, *restores}


def networks() -> set[str]:
    """The names of all that organisations have."""
    numbers = Block.objects.values_list("number", flat=True)
    return {names.network(settings.ROOST_INSTALLATION, number) for number in numbers}

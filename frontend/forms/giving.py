"""Which of an organisation's secrets can be given to an agent."""

from collections.abc import Iterable

from controlplane.errors import Invalid
from controlplane.keys.models import Secret
from controlplane.keys.rules import check_secret_fits
from controlplane.tenants.access import Access
from runtimes.catalog import Runtime


def fitting_secrets(
    access: Access, runtimes: Iterable[Runtime]
) -> list[tuple[Secret, list[Runtime]]]:
    """By name, those that fit one of the runtimes, each with the runtimes it fits."""
    runtimes = list(runtimes)
    live = Secret.objects.of(access.organisation).live().order_by("name")
    fitting = [(one, [run for run in runtimes if _fits(run, one.name)]) for one in live]
    return [(secret, fits) for secret, fits in fitting if fits]


def _fits(runtime: Runtime, name: str) -> bool:
    try:
        check_secret_fits(runtime, name)
    except Invalid:
        return False
    return True

"""One scan from claim to signed report. Nothing it meets on a disk can change what it does."""

import logging
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import DatabaseError, transaction

from controlplane.agents.models import Agent, Level
from controlplane.agents.timeline import tell
from controlplane.jobs.claim import Claim
from controlplane.keys.vault import VaultUnavailable
from controlplane.scans.models import OperatorReport, Scan
from controlplane.scans.signing import sign
from provisioner.backend import Backend
from provisioner.engines.base import EngineRefused, EngineUnavailable
from provisioner.scan import alarm
from provisioner.scan.context import Context
from provisioner.scan.needles import Needles, Secret
from provisioner.scan.packed import Budget
from provisioner.scan.place import Place
from provisioner.scan.places import SPOTS, Spot
from provisioner.scan.places.trees import NOT_ALLOWED
from provisioner.scan.progress import Progress
from provisioner.scan.report import operators_report_of, report_of, total
from provisioner.scan.signing_key import signing_key
from provisioner.scan.wanted import wanted

log = logging.getLogger(__name__)


def run(claim: Claim, backend: Backend) -> None:
    """Raises ClaimLost."""
    scan = load(claim.job_id)
    try:
        key = signing_key(backend.vault)
        secrets = wanted(backend, scan.agent)
    except VaultUnavailable as error:
        _fail(claim, scan, error)
        return
    places = look(claim, backend, scan.agent, secrets)
    _finish(claim, scan, secrets, places, key)


def load(scan_id: str) -> Scan:
    related = ("agent", "agent__release", "agent__release__key", "agent__organisation")
    return Scan.objects.defer("report").select_related(*related).get(pk=scan_id)


def look(claim: Claim, backend: Backend, agent: Agent, secrets: list[Secret]) -> list[Place]:
    """Every place, in order; trouble in one does not keep us from the next. Raises ClaimLost."""
    progress = Progress(claim, len(SPOTS))
    own = Context(backend, agent, Needles(secrets))
    shared = replace(own, budget=Budget())  # what others keep takes nothing from its own places
    for number, spot in enumerate(SPOTS):
        progress.begin(number, spot.title)
        read = progress.pause if spot.shared else progress.read
        place = Place(spot.name, spot.title, own.needles, read, spot.noun, spot.shared)
        _visit(shared if spot.shared else own, spot, place)
        own.done[spot.name] = place
    return list(own.done.values())


def _visit(context: Context, spot: Spot, place: Place) -> None:
    try:
        spot.look(context, place)
    except EngineUnavailable:
        _broken(place, "The engine does not answer.")
    except PermissionError:
        _broken(place, NOT_ALLOWED)
    except (OSError, EngineRefused, DatabaseError) as error:
        # The type alone: what an exception says may quote what was read.
        log.warning("%s could not be looked at: %s", spot.name, type(error).__name__)
        _broken(place, f"It could not be read ({type(error).__name__}).")


def _broken(place: Place, why: str) -> None:
    """What was found before still counts, and is told."""
    if place.findings:
        place.skip("breaks before its end")
    else:
        place.why_not = why


def _finish(
    claim: Claim, scan: Scan, secrets: list[Secret], places: list[Place], key: Ed25519PrivateKey
) -> None:
    before = _places_of_the_last_alarm(scan.agent)
    own = [place for place in places if not place.shared]
    shared = [place for place in places if place.shared]
    signed = sign(key, report_of(scan, secrets, places, key))
    for_operators = sign(key, operators_report_of(scan, secrets, shared))
    with transaction.atomic():
        claim.finish(
            place="",
            places_done=len(places),
            findings=total(own),
            unseen=sum(not place.looked_at for place in own),
            report=signed,
        )
        OperatorReport.keep(
            scan,
            findings=total(shared),
            unseen=sum(not place.looked_at for place in shared),
            report=for_operators,
        )
        if total(own):
            alarm.ring(scan.agent, own)
        else:
            alarm.all_clear(scan.agent, own, before)
    if total(shared):
        alarm.tell_operators(scan, shared)


def _places_of_the_last_alarm(agent: Agent) -> list[str]:
    last = Scan.objects.filter(agent=agent, findings__gt=0).order_by("-created_at").first()
    report = last.report["report"] if last is not None and last.report else {}
    return sorted({finding["place"] for finding in report.get("findings", [])})


def _fail(claim: Claim, scan: Scan, error: VaultUnavailable) -> None:
    message = f"{error} Without the vault nobody knows what to look for. Start the scan again then."
    with transaction.atomic():
        claim.fail(error.code, message)
        title = "A search for credentials could not be made"
        tell(scan.agent, "scan.failed", title, detail=message, level=Level.WARN)

"""Releases: what one pins, and when a change makes the next."""

from dataclasses import dataclass, replace

from django.conf import settings

from controlplane.agents.models import Agent, Cause, Release
from controlplane.agents.rules import Settings, runtime_of
from controlplane.errors import Invalid
from controlplane.keys.models import Provider
from runtimes.references import image_of

# What makes a release differ from another, besides its secrets.
SPEC = (
    *("key", "model", "memory_mb", "cpu_millis", "disk_gib"),
    *("egress", "egress_hosts", "isolation", "background"),
)
LONGEST_WHY = 300


@dataclass(frozen=True)
class Pin:
    """The image of a release, and the version of the runtime that is in it."""

    image: str
    version: str


def release_of(agent: Agent) -> Release:
    assert agent.release is not None  # noqa: S101  set in the transaction that made the agent
    return agent.release


def differs(release: Release, spec: Settings) -> bool:
    return any(getattr(release, field) != getattr(spec, field) for field in SPEC) or set(
        release.secrets.all()
    ) != set(spec.secrets)


def newest_pin(agent: Agent) -> Pin:
    """What the catalogue has for its runtime now."""
    runtime = runtime_of(agent.runtime)
    return Pin(image_of(runtime), runtime.version)


def pin_of(release: Release) -> Pin:
    return Pin(release.image, release.runtime_version)


def update_for(agent: Agent) -> Pin | None:
    """The newer image that it could be upgraded to; None where it runs the newest, and where its
    runtime left the catalogue."""
    try:
        newest = newest_pin(agent)
    except Invalid:
        return None
    return newest if newest.image != release_of(agent).image else None


def settings_of(release: Release) -> Settings:
    """What it pins beside its image, as it is: nothing is checked anew."""
    pinned = {field: getattr(release, field) for field in SPEC}
    return Settings(**pinned, secrets=list(release.secrets.all()))


def keep_disk(spec: Settings, current: Release) -> Settings:
    """A workspace never shrinks: an older release's smaller one is passed over."""
    return replace(spec, disk_gib=max(spec.disk_gib, current.disk_gib))


def new_release(
    agent: Agent,
    spec: Settings,
    author: str,
    *,
    cause: Cause = Cause.CHANGED,
    why: str = "",
    pin: Pin | None = None,
) -> Release:
    """The next one, not saved on the agent yet. Without a `pin` it keeps the image of the one
    before: only an upgrade moves an agent to another."""
    before = agent.release
    pinned = pin or (pin_of(before) if before else newest_pin(agent))
    made = Release.objects.create(
        agent=agent,
        # Above what was seen to run too, which a database that was restored may not know.
        number=max(before.number if before else 0, agent.observed_release) + 1,
        image=pinned.image,
        runtime_version=pinned.version,
        key=spec.key,
        provider=spec.key.provider if spec.key else Provider.CUSTOM,
        base_url=spec.key.base_url if spec.key else settings.ROOST_STANDIN_URL,
        model=spec.model,
        memory_mb=spec.memory_mb,
        cpu_millis=spec.cpu_millis,
        disk_gib=spec.disk_gib,
        egress=spec.egress,
        egress_hosts=spec.egress_hosts,
        isolation=spec.isolation,
        background=spec.background,
        author_label=author,
        cause=cause,
        why=(why or cause.label)[:LONGEST_WHY],
    )
    made.secrets.set(spec.secrets)
    agent.release = made
    return made

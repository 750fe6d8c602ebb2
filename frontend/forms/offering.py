"""Which models can be chosen, and with which runtimes, providers and keys. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from controlplane.keys.models import Key
from runtimes.catalog import Runtime


@dataclass
class Offer:
    """Where a model can be chosen. `known`: by a runtime, so that a new key may well use it."""

    providers: set[str] = field(default_factory=set)
    runtimes: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    known: bool = False


def offered_models(runtimes: Sequence[Runtime], keys: Collection[Key]) -> dict[str, Offer]:
    """What a key may use where that is known, else what the runtimes know of its provider. Those
    that the runtimes know come first, in their order: they know their best."""
    offers: dict[str, Offer] = {}
    for runtime in runtimes:
        for slug, provider in runtime.providers.items():
            for model in provider.models:
                offer = offers.setdefault(model, Offer(known=True))
                offer.providers.add(slug)
                offer.runtimes.add(runtime.slug)
    for key in keys:
        for model in sorted(key.models):
            offer = offers.setdefault(model, Offer())
            offer.providers.add(key.provider)
            offer.runtimes |= {one.slug for one in runtimes if key.provider in one.providers}
    for model, offer in offers.items():
        of = [key for key in keys if key.provider in offer.providers]
        offer.keys = {key.pk for key in of if not key.models or model in key.models}
    return offers

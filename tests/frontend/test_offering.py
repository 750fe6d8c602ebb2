"""Which models a form offers, and when."""

from dataclasses import replace

from controlplane.keys.models import Key
from frontend.forms.offering import offered_models
from runtimes.catalog import CATALOG, Provider, Runtime


def runtime(slug: str, **models: tuple[str, ...]) -> Runtime:
    template = CATALOG["hermes"].providers["custom"]
    providers: dict[str, Provider] = {
        name: replace(template, models=known) for name, known in models.items()
    }
    return replace(CATALOG["hermes"], slug=slug, providers=providers)


def key(pk: str, provider: str, *models: str) -> Key:
    return Key(pk=pk, provider=provider, models=list(models))


def test_what_runtimes_know_comes_first_in_their_order() -> None:
    one = runtime("one", openai=("gpt-5.5", "gpt-5.4"))

    offers = offered_models([one], [key("k", "openai", "babbage", "gpt-5.4")])

    assert list(offers) == ["gpt-5.5", "gpt-5.4", "babbage"]


def test_a_key_that_knows_its_models_offers_those_alone() -> None:
    one = runtime("one", openai=("gpt-5.5",))

    offers = offered_models([one], [key("knows", "openai", "gpt-5.4"), key("not", "openai")])

    assert offers["gpt-5.5"].keys == {"not"}
    assert offers["gpt-5.4"].keys == {"knows", "not"}


def test_a_model_of_a_key_goes_with_every_runtime_of_its_provider() -> None:
    runtimes = [runtime("one", openai=("a",)), runtime("two", openai=()), runtime("three")]

    offers = offered_models(runtimes, [key("k", "openai", "b")])

    assert offers["a"].runtimes == {"one"}
    assert offers["b"].runtimes == {"one", "two"}


def test_a_model_that_two_providers_have_is_offered_once() -> None:
    one = runtime("one", openai=("gpt-5.5",), custom=())

    offers = offered_models([one], [key("k", "custom", "gpt-5.5")])

    assert offers["gpt-5.5"].providers == {"openai", "custom"}
    assert offers["gpt-5.5"].keys == {"k"}

"""What people may call things. Names are seen by everyone, so no key may hide in one."""

import re

from controlplane.errors import Invalid


class LooksLikeSecret(Invalid):
    code = "looks_like_secret"

    def __init__(self, field: str = "name") -> None:
        super().__init__(
            field,
            "This looks like the key itself. It was not stored anywhere. Names are seen by "
            "everyone; put the key into its own field.",
        )


# The beginnings that providers give their keys. Those that are words too need a long rest.
_KNOWN_SECRET = re.compile(
    r"\b(sk-|sk_|[pr]k_live_|[pr]k_test_|rst_|hf_|gsk_|gh[pousr]_|github_pat_|glpat-|r8_|dop_v1_"
    r"|xox[abeprs]-|AIza|AKIA|ASIA|ya29\.|eyJ)\S{8,}"
    r"|\b(xai|pplx|nvapi|fw|tgp_v1|lsv2)[-_]\S{24,}"
    r"|-----BEGIN ",
)
_RANDOM_WORD = re.compile(
    r"(?=\S*[0-9])(?=\S*[a-z])(?=\S*[A-Z])\S{24,}"
    r"|\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{32,}\b"
)
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def refuse_known_secret(text: str, field: str) -> None:
    """Only the known beginnings: for words that may honestly look random, such as a model's."""
    if _KNOWN_SECRET.search(text):
        raise LooksLikeSecret(field)


def refuse_secret(text: str, field: str = "name") -> None:
    """Raises LooksLikeSecret for text shaped like a credential."""
    if _KNOWN_SECRET.search(text) or _RANDOM_WORD.search(text):
        raise LooksLikeSecret(field)


def mask(text: str) -> str:
    """`text` with *** for each word shaped like a credential. For short text: its time grows
    with the square of the longest word."""
    return _RANDOM_WORD.sub("***", _KNOWN_SECRET.sub("***", text))


def check_title(text: str, field: str = "name") -> None:
    """For names in people's own words. Raises LooksLikeSecret, Invalid."""
    refuse_secret(text, field)
    if not text.strip() or _UNSEEN.search(text):
        raise Invalid(field, "A name is one line of visible text. Type it anew.")

"""
Errors a caller of this app can meet:

* Refusal
  - KeyNameTaken       the organisation has a live key (or secret) of that name;
                       the code of a secret is secret_name_taken
  - KeyRevoked         it was revoked and cannot change any more
  * Invalid
    - LooksLikeSecret  a key was pasted where everybody can read it
    - ImpossibleKey    no provider hands out such a value
    - KeyRefused       its provider was asked and does not take it
    - ImpossibleSecret a value that a secret of its kind cannot have
    - ReservedName     an environment variable that means something else
* Unavailable
  - VaultUnavailable   see vault.base
"""

from controlplane.errors import Invalid, Refusal
from controlplane.naming import LooksLikeSecret as LooksLikeSecret


class KeyNameTaken(Refusal):
    code = "key_name_taken"

    def __init__(self, name: str, noun: str = "key") -> None:
        self.code = f"{noun}_name_taken"
        super().__init__(f"You already have a {noun} called {name}. Choose another name.")


class KeyRevoked(Refusal):
    code = "key_revoked"

    def __init__(self, name: str, noun: str = "key") -> None:
        super().__init__(f"{name} was revoked and its value is gone. Add a new {noun}.")


class ImpossibleKey(Invalid):
    code = "impossible_key"

    def __init__(self, message: str) -> None:
        super().__init__("value", message)


class KeyRefused(Invalid):
    code = "key_refused"

    def __init__(self, message: str) -> None:
        super().__init__("value", message)


class ImpossibleSecret(Invalid):
    code = "impossible_secret"


class ReservedName(Invalid):
    code = "reserved_name"

    def __init__(self, message: str, field: str = "name") -> None:
        super().__init__(field, message)

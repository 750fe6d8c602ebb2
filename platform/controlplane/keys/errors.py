"""
Errors a caller of this app can meet:

* Refusal
  - KeyNameTaken       the organisation has a live key of that name
  - KeyRevoked         it was revoked and cannot change any more
  * Invalid
    - LooksLikeSecret  a key was pasted where everybody can read it
    - ImpossibleKey    no provider hands out such a value
* Unavailable
  - VaultUnavailable   see vault.base
"""

from controlplane.errors import Invalid, Refusal
from controlplane.naming import LooksLikeSecret as LooksLikeSecret


class KeyNameTaken(Refusal):
    code = "key_name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"You already have a key called {name}. Choose another name.")


class KeyRevoked(Refusal):
    code = "key_revoked"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was revoked and its value is gone. Add a new key.")


class ImpossibleKey(Invalid):
    code = "impossible_key"

    def __init__(self, message: str) -> None:
        super().__init__("value", message)

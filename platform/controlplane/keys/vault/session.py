"""Being signed in to the vault: by role, renewed in time, signed in anew when that ends.

Safe to share by threads. One of them signs in or renews while the others go on with the token
there is, or wait for the new one: a thousand agents that start at once bring one sign-in.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import hvac
import requests
from django.conf import settings
from hvac import exceptions

from controlplane.keys.vault.base import VaultUnavailable
from controlplane.keys.vault.breaker import Breaker

T = TypeVar("T")
TIMEOUT = 3  # seconds; the client's own default of 30 would hold up a request
MARGIN = 5  # seconds before its end in which a token is not used any more
RETRY = 30  # seconds until a renewal is tried again that the vault did not hear
NOT_DURABLE = "inmem"  # how the names of storages begin that forget everything at a restart
FORGETFUL = "it keeps everything in memory (dev mode) and forgets every key when it stops"


@dataclass
class Grant:
    """How long a token is good for, on our own clock."""

    full: float  # seconds that a sign-in gives
    renew_at: float
    ends_at: float

    @classmethod
    def of(cls, seconds: float, full: float) -> "Grant":
        """A vault's answer. Processes that began together do not renew together."""
        if seconds <= 0:
            return cls(0, float("inf"), float("inf"))  # it never ends
        moment = time.monotonic()
        return cls(full, moment + seconds * random.uniform(0.5, 0.7), moment + seconds - MARGIN)  # noqa: S311


class Session:
    def __init__(self) -> None:
        # An empty token: the client would take one that it finds in the environment, or at home.
        self.client = hvac.Client(
            url=settings.VAULT_ADDR,
            token="",
            timeout=TIMEOUT,
            namespace=settings.VAULT_NAMESPACE or None,
        )
        # Proxies of the environment are for other traffic than keys.
        self.client.session.trust_env = False
        self._breaker = Breaker()
        self._signing_in, self._renewing = Lock(), Lock()
        self._grant = Grant(0, 0, 0)
        self._doubted: bool = settings.VAULT_MUST_BE_DURABLE

    def call(self, act: Callable[[hvac.Client], T]) -> T:
        """`act` with a token that is good. Raises VaultUnavailable; what the vault says about a
        path (InvalidPath, InvalidRequest) is the caller's to understand."""
        try:
            self._breaker.enter()
            token = self._fresh()
            try:
                answer = act(self.client)
            except exceptions.Forbidden:
                # A token that was revoked looks like a token that may not: sign in once and see.
                self._sign_in(instead_of=token)
                answer = act(self.client)
        except requests.Timeout as error:
            # `from None`: a request's exception carries the request, and that the value.
            why = f"it does not answer ({type(error).__name__})"
            self._breaker.hung(why)
            raise VaultUnavailable(why) from None
        except (exceptions.VaultError, requests.RequestException) as error:
            self._breaker.answered()
            match error:
                case exceptions.InvalidPath() | exceptions.InvalidRequest():
                    raise
                case exceptions.VaultDown():
                    raise VaultUnavailable("it is sealed") from error
                case exceptions.Forbidden():
                    raise VaultUnavailable("it does not let this process do that") from error
            raise VaultUnavailable(f"it does not answer ({type(error).__name__})") from None
        self._breaker.answered()
        return answer

    def _fresh(self) -> str:
        """The token, renewed or replaced where its time has come."""
        moment = time.monotonic()
        token: str = self.client.token
        if not token or moment >= self._grant.ends_at:
            self._sign_in(instead_of=token)
        elif moment >= self._grant.renew_at and self._renewing.acquire(blocking=False):
            try:
                self._renew(token)
            finally:
                self._renewing.release()
        return str(self.client.token)

    def _renew(self, token: str) -> None:
        try:
            seconds = float(self.client.auth.token.renew_self()["auth"]["lease_duration"])
        except (exceptions.Forbidden, exceptions.InvalidRequest):
            self._sign_in(instead_of=token)
        except (exceptions.VaultError, requests.RequestException):
            self._grant.renew_at = time.monotonic() + RETRY  # it is good for a while yet
        else:
            # Near the end of the longest life it may have, a renewal gives less and less.
            if seconds < self._grant.full / 2:
                self._sign_in(instead_of=token)
            else:
                self._grant = Grant.of(seconds, self._grant.full)

    def _sign_in(self, instead_of: str | None = None) -> None:
        """By role; where another thread was first, with what that one got."""
        with self._one_at_a_time():
            if instead_of is not None and self.client.token != instead_of:
                return
            if self._doubted:
                self._doubted = self.is_forgetful()
            if self._doubted:
                raise VaultUnavailable(f"{FORGETFUL}. It needs storage on a disk")
            try:
                answer: dict[str, Any] = self.client.auth.approle.login(
                    settings.VAULT_ROLE_ID,
                    settings.VAULT_SECRET_ID,
                    mount_point=settings.VAULT_APPROLE_MOUNT,
                )
            except (exceptions.InvalidRequest, exceptions.Forbidden):
                self._breaker.answered()
                # `from None`: whose request this was is no secret, what it held is.
                raise VaultUnavailable("it does not let this process in") from None
            seconds = float(answer["auth"]["lease_duration"])
            self._grant = Grant.of(seconds, seconds)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        waited = not self._signing_in.acquire(blocking=False)
        if waited:
            self._signing_in.acquire()
        try:
            if waited:
                self._breaker.enter()  # the one before may have hung
            yield
        finally:
            self._signing_in.release()

    def is_forgetful(self) -> bool:
        """Whether it keeps everything in memory, as in dev mode. Needs no token."""
        return str(self.client.seal_status.get("storage_type", "")).startswith(NOT_DURABLE)

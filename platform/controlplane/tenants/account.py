from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedSignup(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Operators make the accounts; nobody signs up from outside."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

"""Behind TLS, with real services. Refuses to start on anything that is only fit for trying out."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings.base import *  # noqa: F403
from controlplane.settings.base import (
    ALLOWED_HOSTS,
    GATEWAY_SECRET,
    ROOST_STANDIN_URL,
    SECRET_KEY,
    VAULT_ROLE_ID,
)

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_SSL_REDIRECT = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

if len(SECRET_KEY) < 50 or "insecure" in SECRET_KEY:
    raise ImproperlyConfigured("SECRET_KEY must be a random text of 50 characters or more.")
if len(GATEWAY_SECRET) < 32:
    raise ImproperlyConfigured("GATEWAY_SECRET must be a random text of 32 characters or more.")
if not VAULT_ROLE_ID:
    raise ImproperlyConfigured("VAULT_ROLE_ID is missing: production keeps keys in a real vault.")
if ROOST_STANDIN_URL:
    raise ImproperlyConfigured("ROOST_STANDIN_URL is for local use; production has no stand-in.")
if "*" in ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS must name the hosts that Roost answers for.")

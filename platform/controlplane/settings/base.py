"""Settings shared by every installation. Values come from the environment; see docs/operate.md."""

import os
from pathlib import Path

import django_stubs_ext

from controlplane.settings.env import env

# Lets `ModelAdmin[Agent]` be written where Django itself is not yet generic.
django_stubs_ext.monkeypatch()

REPOSITORY = Path(__file__).resolve().parents[3]

SECRET_KEY = env.str("SECRET_KEY")
DEBUG = False
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# --- Roost ---------------------------------------------------------------------------------------
ROOST_URL = env.str("ROOST_URL", default="http://127.0.0.1:8700")
ROOST_STATE_DIR = Path(env.str("ROOST_STATE_DIR", default=str(REPOSITORY / "var")))
ROOST_INSTALLATION = env.str("ROOST_INSTALLATION", default="local")
ROOST_NODE = env.str("ROOST_NODE", default="node-1")
ROOST_ENGINE = env.str("ROOST_ENGINE", default="docker")
ROOST_WORKSPACE_DRIVER = env.str("ROOST_WORKSPACE_DRIVER", default="loop")
ROOST_NETWORK_POOL = env.str("ROOST_NETWORK_POOL", default="10.213.0.0/16")
ROOST_SERVICE_ADDRESS = env.str("ROOST_SERVICE_ADDRESS", default="10.213.255.1")
# Ports on the service address that agents may reach: the stand-in model locally, nothing elsewhere.
ROOST_SERVICE_PORTS = env.list("ROOST_SERVICE_PORTS", cast=int, default=[])
# How many agents of a node boot at once; the others wait for their turn.
ROOST_PARALLEL_BOOTS = env.int("ROOST_PARALLEL_BOOTS", default=max(2, os.cpu_count() or 2))
ROOST_GUARD = env.bool("ROOST_GUARD", default=True)
ROOST_KEYS_DIR = Path(env.str("ROOST_KEYS_DIR", default=str(ROOST_STATE_DIR / "keys")))
# A deleted agent's workspace can be brought back by an operator until this has passed.
ROOST_DELETE_GRACE_SECONDS = env.int("ROOST_DELETE_GRACE_SECONDS", default=7 * 24 * 3600)
# What no row speaks of (docs/operate.md) may be removed, by an operator, once it was seen for so
# long, and so many at once.
ROOST_REAP_AGE_SECONDS = env.int("ROOST_REAP_AGE_SECONDS", default=7 * 24 * 3600)
ROOST_REAP_AT_ONCE = env.int("ROOST_REAP_AT_ONCE", default=10)
# The base URL and name of the stand-in model; empty where there is none.
ROOST_STANDIN_URL = env.str("ROOST_STANDIN_URL", default="")

# Agents' own web UIs have a host below this domain each (with a port where it is not the usual).
ROOST_AGENTS_DOMAIN = env.str("ROOST_AGENTS_DOMAIN", default="localhost:8702")
ROOST_AGENTS_SCHEME = env.str("ROOST_AGENTS_SCHEME", default="http")

# Where our own processes write their logs: looked through by a scan for credentials.
ROOST_LOG_DIR = Path(env.str("ROOST_LOG_DIR", default=str(ROOST_STATE_DIR / "log")))

GATEWAY_URL = env.str("GATEWAY_URL", default="http://127.0.0.1:8702")
GATEWAY_SECRET = env.str("GATEWAY_SECRET", default="")

VAULT_BACKEND = "controlplane.keys.vault.openbao.OpenBaoVault"
VAULT_ADDR = env.str("VAULT_ADDR", default="http://127.0.0.1:8703")
VAULT_MOUNT = env.str("VAULT_MOUNT", default="roost")
VAULT_ROLE_ID = env.str("VAULT_ROLE_ID", default="")
VAULT_SECRET_ID = env.str("VAULT_SECRET_ID", default="")
VAULT_APPROLE_MOUNT = env.str("VAULT_APPROLE_MOUNT", default="approle")
VAULT_NAMESPACE = env.str("VAULT_NAMESPACE", default="")
VAULT_MUST_BE_DURABLE = False  # production's own

# Requests that go where a customer says (a key's provider, a webhook) reach public addresses only,
# and these: host:port or a network, such as models.internal:8000, 10.20.0.0/16.
ROOST_OUTBOUND_ALLOW = env.list("ROOST_OUTBOUND_ALLOW", default=[])
ROOST_RESOLVER = "controlplane.outbound.names.system"
# Where a key is checked, by provider: {"openai": "https://…/v1"}. Else the catalogue's addresses.
ROOST_PROVIDER_URLS = env.json("ROOST_PROVIDER_URLS", default={})

# What restarts this node's engine for a drill, such as `systemctl restart docker`. All agents of
# the node feel it, so without a command such drills are refused.
ROOST_DRILL_ENGINE_COMMAND = env.str("ROOST_DRILL_ENGINE_COMMAND", default="")

# Snapshots go off-site to a bucket of S3's kind; without an endpoint they stay on the node.
S3_ENDPOINT_URL = env.str("S3_ENDPOINT_URL", default="")
S3_BUCKET = env.str("S3_BUCKET", default="")
S3_ACCESS_KEY_ID = env.str("S3_ACCESS_KEY_ID", default="")
S3_SECRET_ACCESS_KEY = env.str("S3_SECRET_ACCESS_KEY", default="")
S3_REGION = env.str("S3_REGION", default="us-east-1")
# The endpoint as browsers reach it, for links to downloads; empty where it is the same.
S3_PUBLIC_ENDPOINT_URL = env.str("S3_PUBLIC_ENDPOINT_URL", default="")

# When an off-site snapshot of each organisation is brought back and compared: minute, hour, day,
# month, weekday. An organisation's own time is up to four hours later. Empty: never by itself.
ROOST_TRIAL_RESTORES = env.str("ROOST_TRIAL_RESTORES", default="15 1 * * 0")
ROOST_TRIAL_RESTORES_TIMEZONE = env.str("ROOST_TRIAL_RESTORES_TIMEZONE", default="UTC")
# Exports and imports go through the same store. The web process has none of its keys, and is told
# with ROOST_ARCHIVES that there is one. For how long an archive is kept, how long a link
# to it holds, and the largest archive that may be uploaded (S3 takes 5 GiB at once).
ROOST_ARCHIVES = env.bool("ROOST_ARCHIVES", default=bool(S3_ENDPOINT_URL))
ROOST_EXPORT_KEEP_SECONDS = env.int("ROOST_EXPORT_KEEP_SECONDS", default=24 * 3600)
ROOST_EXPORT_LINK_SECONDS = env.int("ROOST_EXPORT_LINK_SECONDS", default=3600)
ROOST_IMPORT_MAX_BYTES = env.int("ROOST_IMPORT_MAX_BYTES", default=5 * 1024**3)

# --- Django --------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "controlplane.audit",
    "controlplane.api",
    "controlplane.tenants",
    "controlplane.keys",
    "controlplane.agents",
    "controlplane.scans",
    "controlplane.snapshots",
    "controlplane.drills",
    "controlplane.trials",
    "controlplane.upgrades",
    "controlplane.portability",
    "provisioner",
    "frontend",
    "allauth",
    "allauth.account",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "controlplane.api.middleware.RequestIdMiddleware",
    "frontend.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "frontend.context.shell",
            ],
        },
    },
]

DATABASES = {"default": env.db("DATABASE_URL")}
# Threads come and go under ASGI, so connections belong to a pool of the process, not to threads;
# one that was lost is noticed before a request meets it.
DATABASES["default"]["CONN_MAX_AGE"] = 0
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
    "min_size": 1,
    "max_size": env.int("ROOST_DATABASE_POOL", default=20),
    "timeout": 10,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The page size of the API bounds what one request may read; bodies are bounded here.
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# An uploaded file may be a secret: it is never laid down on a disk, and too large a one is dropped.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE

AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
ACCOUNT_ADAPTER = "controlplane.tenants.account.ClosedSignup"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = ROOST_STATE_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"

# --- Queue ---------------------------------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL")
# redis-py and Celery spell the address of a local socket differently.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = f"node.{ROOST_NODE}"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# A queue that is away must not hold up a request: the sweep finds the work anyway.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "max_retries": 0,
    "interval_start": 0,
    "socket_connect_timeout": 1,
    # Longer than a worker's own blocking wait for messages, shorter than anybody's patience.
    "socket_timeout": 5,
    "retry_on_timeout": False,
}
# Counts sign-in attempts. In the database, so that nobody is locked out, or let through, while the
# queue is away.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "api_cache",
    }
}

# --- API -----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["controlplane.tenants.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "controlplane.api.schema.RoostAutoSchema",
    "DEFAULT_PAGINATION_CLASS": "controlplane.api.pagination.CursorPages",
    "EXCEPTION_HANDLER": "controlplane.api.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Roost",
    "DESCRIPTION": "Hosted agents whose state survives.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "AgentStatus": "controlplane.agents.lifecycle.Status",
        "AgentGoal": "controlplane.agents.lifecycle.Goal",
        "Role": "controlplane.tenants.models.Role",
        "Provider": "controlplane.keys.models.Provider",
        "SecretKind": "controlplane.keys.models.Kind",
        "JobStatus": "controlplane.jobs.models.JobStatus",
        "EventLevel": "controlplane.agents.models.Level",
        "DiskLevel": "controlplane.agents.models.DiskLevel",
        "DrillKind": "controlplane.drills.models.Hurt",
        "ReleaseCause": "controlplane.agents.models.Cause",
        "ReleaseField": "controlplane.agents.history.FIELDS",
        "UpgradeOutcome": "controlplane.upgrades.models.Outcome",
        "FileKind": "controlplane.snapshots.api.looking.KINDS",
    },
}

# --- Logs ----------------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname:<7} {name}: {message}", "style": "{"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    # These print whole requests, and a request may hold a key.
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "urllib3": {"level": "WARNING"},
        "docker": {"level": "WARNING"},
        "boto3": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
        "s3transfer": {"level": "WARNING"},
    },
}

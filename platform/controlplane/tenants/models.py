import hashlib
from datetime import timedelta
from typing import Any, Self

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from controlplane import ids


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)


class User(AbstractBaseUser, PermissionsMixin):
    """A person. Signs in by e-mail; what they may do hangs on their memberships."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100, blank=True)
    is_staff = models.BooleanField("operator", default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = []
    objects = UserManager()

    def __str__(self) -> str:
        return self.name or self.email

    def get_full_name(self) -> str:
        return str(self)


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    DEVELOPER = "developer"
    VIEWER = "viewer"


# First parts of addresses that are not an organisation's.
RESERVED_SLUGS = {"accounts", "admin", "api", "gateway", "static"}


def refuse_reserved(slug: str) -> None:
    if slug in RESERVED_SLUGS:
        raise ValidationError(f"{slug} is an address of Roost itself. Choose another.")


class OrganisationQuerySet(models.QuerySet["Organisation"]):
    def of(self, user: User) -> Self:
        return self.filter(memberships__user=user)


class Organisation(models.Model):
    """A tenant. Limits are numbers here; what they cost is nobody's business below billing."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.organisation_id)
    name = models.CharField(max_length=100)
    slug = models.SlugField(unique=True, max_length=40, validators=[refuse_reserved])
    agent_limit = models.PositiveIntegerField(default=10)
    memory_mb_limit = models.PositiveIntegerField(default=16_384)
    disk_gib_limit = models.PositiveIntegerField(default=100)
    paused_reason = models.CharField(
        max_length=200, blank=True, help_text="While set, nothing of this organisation may start."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OrganisationQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def etag(self) -> str:
        """Of what its own people can change."""
        return f'"{self.pk}.{hashlib.sha256(self.name.encode()).hexdigest()[:16]}"'


class Membership(models.Model):
    # Not editable, or the admin's inline would ask people for it.
    id = models.CharField(
        primary_key=True, max_length=24, default=ids.membership_id, editable=False
    )
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="member_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="member_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def of(self, organisation: Organisation) -> Self:
        return self.filter(organisation=organisation)

    def live(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now()), revoked_at=None)


class ApiToken(models.Model):
    """A program's way in. Only a hash is kept; the text is shown once, when it is made."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.token_id)
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_by = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @staticmethod
    def digest_of(text: str) -> str:
        """Plain SHA-256: the text has 200 random bits, so there is nothing to guess or to salt."""
        return hashlib.sha256(text.encode()).hexdigest()

    def seen(self) -> None:
        """Note the use, at most once a minute, so that reading does not become writing."""
        moment = now()
        if self.last_used_at is None or moment - self.last_used_at > timedelta(minutes=1):
            ApiToken.objects.filter(pk=self.pk).update(last_used_at=moment)

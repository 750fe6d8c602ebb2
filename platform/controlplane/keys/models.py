from typing import Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane import ids
from controlplane.tenants.models import Organisation

Row = TypeVar("Row", bound=models.Model, covariant=True)


class Provider(models.TextChoices):
    ANTHROPIC = "anthropic", "Anthropic (Claude)"
    OPENAI = "openai", "OpenAI (GPT)"
    GEMINI = "gemini", "Google (Gemini)"
    CUSTOM = "custom", "Own endpoint, OpenAI-shaped"


class Kind(models.TextChoices):
    ENV = "env", "Variable"  # its text is the value of the variable of its name
    FILE = "file", "File"  # any bytes; the variable of its name says where the file lies


class VaultedQuerySet(models.QuerySet[Row]):
    def of(self, organisation: Organisation) -> Self:
        return self.filter(organisation=organisation)

    def live(self) -> Self:
        return self.filter(revoked_at=None)


class Vaulted(models.Model):
    """What the database knows of a value that is in the vault alone. `version` is the vault's own
    number of the value that counts: one the vault holds beyond it was never accepted."""

    version = models.PositiveIntegerField(default=1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    rotated_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Key(Vaulted):
    """A model provider's credential: its name and hint. The value is in the vault alone."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.key_id)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="keys")
    name = models.CharField(max_length=60)
    provider = models.CharField(max_length=12, choices=Provider)
    base_url = models.CharField(max_length=200, blank=True)
    hint = models.CharField(max_length=4, help_text="The last characters, to tell keys apart.")
    # When its provider took the value that counts now; null: it could not be asked.
    checked_at = models.DateTimeField(null=True, blank=True)
    check_message = models.CharField(max_length=300, blank=True)  # what the check came to
    models = models.JSONField(default=list, blank=True)  # what it may use; empty: not known

    objects = VaultedQuerySet["Key"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"],
                condition=Q(revoked_at=None),
                name="key_name_once_per_organisation",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def vault_path(self) -> str:
        return f"orgs/{self.organisation_id}/keys/{self.pk}"


class Secret(Vaulted):
    """Any other value an agent is given, under the name of an environment variable."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.secret_id)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="secrets")
    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=4, choices=Kind, default=Kind.ENV)
    size = models.PositiveIntegerField(help_text="Of the value, in bytes.")

    objects = VaultedQuerySet["Secret"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"],
                condition=Q(revoked_at=None),
                name="secret_name_once_per_organisation",
            ),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="secret_kind_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def vault_path(self) -> str:
        return f"orgs/{self.organisation_id}/secrets/{self.pk}"

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane import ids
from controlplane.tenants.models import Organisation


class Provider(models.TextChoices):
    ANTHROPIC = "anthropic", "Anthropic (Claude)"
    OPENAI = "openai", "OpenAI (GPT)"
    GEMINI = "gemini", "Google (Gemini)"
    CUSTOM = "custom", "Own endpoint, OpenAI-shaped"


class KeyQuerySet(models.QuerySet["Key"]):
    def of(self, organisation: Organisation) -> Self:
        return self.filter(organisation=organisation)

    def live(self) -> Self:
        return self.filter(revoked_at=None)


class Key(models.Model):
    """A model provider's credential: its name and hint. The value is in the vault alone."""

    id = models.CharField(primary_key=True, max_length=24, default=ids.key_id)
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="keys")
    name = models.CharField(max_length=60)
    provider = models.CharField(max_length=12, choices=Provider)
    base_url = models.CharField(max_length=200, blank=True)
    hint = models.CharField(max_length=4, help_text="The last characters, to tell keys apart.")
    version = models.PositiveIntegerField(default=1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    rotated_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = KeyQuerySet.as_manager()

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

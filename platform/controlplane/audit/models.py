from django.db import models


class AuditEvent(models.Model):
    """Who did what to which object, from where. Append-only: the database refuses the rest.

    Ids are plain text, not foreign keys: the record outlives what it speaks of.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    organisation = models.CharField(max_length=24, blank=True, db_index=True)
    actor_kind = models.CharField(max_length=10)
    actor = models.CharField(max_length=24, blank=True)
    actor_label = models.CharField(max_length=254)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=24)
    target_label = models.CharField(max_length=254, blank=True)
    ip = models.GenericIPAddressField(null=True)
    data = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["organisation", "-id"])]

    def __str__(self) -> str:
        return f"{self.actor_label}: {self.action} {self.target_label or self.target}"

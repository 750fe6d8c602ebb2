from django.db import models


class IdempotencyRecord(models.Model):
    """The answer to a POST, kept so that the same POST again gets it without a second effect."""

    scope = models.CharField(max_length=64)  # who asked: a token's id
    key = models.CharField(max_length=128)
    fingerprint = models.CharField(max_length=64)  # keyed hash of method, path and body
    status = models.PositiveSmallIntegerField(null=True)  # null while the first is under way
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "key"], name="idempotency_once")]

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"

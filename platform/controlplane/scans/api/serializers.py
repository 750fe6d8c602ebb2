from typing import Any

from rest_framework import serializers

from controlplane.jobs.models import JobStatus
from controlplane.scans.models import Scan


class ScanSerializer(serializers.Serializer[Scan]):
    id = serializers.CharField()
    agent = serializers.CharField(source="agent_id")
    status = serializers.ChoiceField(choices=JobStatus.choices)
    reason = serializers.CharField(help_text="Why it failed, for programs.")
    message = serializers.CharField(help_text="Why, and what to do, for people.")
    clean = serializers.BooleanField(
        source="found_nothing",
        allow_null=True,
        help_text="Whether nothing was found; null until it is done.",
    )
    findings = serializers.IntegerField()
    unseen = serializers.IntegerField(help_text="Places that could not be looked at.")
    place = serializers.CharField(help_text="What it looks at now.")
    places_done = serializers.IntegerField()
    places_total = serializers.IntegerField()
    bytes_read = serializers.IntegerField()
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    deadline_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class SignatureSerializer(serializers.Serializer[Any]):
    algorithm = serializers.CharField()
    key_id = serializers.CharField()
    public_key = serializers.CharField(help_text="base64")
    value = serializers.CharField(help_text="base64")


class SignedReportSerializer(serializers.Serializer[Any]):
    report = serializers.DictField(help_text="See docs/api.md, Scans.")
    signature = SignatureSerializer()


class ScanWithReportSerializer(ScanSerializer):
    report = SignedReportSerializer(allow_null=True, help_text="null until it is done.")


class ScanKeySerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    public_key = serializers.CharField(help_text="base64")
    created_at = serializers.DateTimeField()


class ScanKeysSerializer(serializers.Serializer[Any]):
    algorithm = serializers.CharField()
    keys = ScanKeySerializer(many=True, help_text="Newest first; older ones signed older reports.")

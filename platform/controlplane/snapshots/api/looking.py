"""Looking into snapshots: what differs between two, a folder of one, the text of one file.

The node reads its copies; these pass it on.
"""

import re
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.agents import gateway
from controlplane.agents.api.streams import StreamingAgentView
from controlplane.errors import Invalid
from controlplane.ids import ALPHABET
from controlplane.snapshots.models import Snapshot
from controlplane.snapshots.queries import get_snapshot

SNAPSHOT = re.compile(f"snp_[{ALPHABET}]{{16}}")
KINDS = ["file", "folder", "link", "pipe", "device"]
PATH_HELP = (
    "Below the workspace. A backslash is written as two; bytes that are no UTF-8 and characters "
    "that cannot be printed are written as \\x and two digits each."
)
AGAINST = OpenApiParameter(
    "against", str, required=True, description="The snapshot it is held against: the older one."
)
PATH = OpenApiParameter("path", str, required=True, description=PATH_HELP)
FOLDER = OpenApiParameter("path", str, description=f"Default: the workspace itself. {PATH_HELP}")
CURSOR = OpenApiParameter("cursor", int, description="Where to go on: `next` of the page before.")


class EntrySerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text=PATH_HELP)
    kind = serializers.ChoiceField(choices=KINDS)


class SizedSerializer(EntrySerializer):
    size = serializers.IntegerField(help_text="Of a file, in bytes; of others 0.")


class ChangedSerializer(EntrySerializer):
    size_before = serializers.IntegerField()
    size_after = serializers.IntegerField()


class TotalsSerializer(serializers.Serializer[Any]):
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    removed = serializers.IntegerField()
    touched = serializers.IntegerField()


class PageSerializer(serializers.Serializer[Any]):
    truncated = serializers.BooleanField(help_text="There is more: go on at `next`.")
    next = serializers.IntegerField(allow_null=True)


class SnapshotDiffSerializer(PageSerializer):
    """At most 2,000 paths of all kinds together, `added` first; `totals` counts all."""

    added = SizedSerializer(many=True)
    changed = ChangedSerializer(many=True)
    removed = SizedSerializer(many=True)
    touched = EntrySerializer(many=True, help_text="Only times, owner, rights or attributes.")
    totals = TotalsSerializer()


class SnapshotFileSerializer(SizedSerializer):
    name = serializers.CharField()
    modified_at = serializers.DateTimeField(allow_null=True)
    target = serializers.CharField(help_text="Where a link points to; else empty.")


class SnapshotFilesSerializer(PageSerializer):
    path = serializers.CharField()
    entries = SnapshotFileSerializer(many=True)
    total = serializers.IntegerField()


class SnapshotTextSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    diff = serializers.CharField(help_text="Unified, with three lines around each change.")
    why = serializers.CharField(help_text="Why there is no diff; else empty.")


class LookingView(StreamingAgentView):
    needs = {"GET": "agents:read"}

    def asked(self, snapshot_id: str) -> Snapshot:
        """Raises NotFound, also for other agents' snapshots."""
        return get_snapshot(self.access, self.agent(), snapshot_id)

    def against(self, request: Request) -> Snapshot:
        wanted = request.query_params.get("against", "")
        if not SNAPSHOT.fullmatch(wanted):
            raise Invalid("against", "Say with against= which snapshot it is held against.")
        return self.asked(wanted)

    def path(self, request: Request) -> str:
        path = request.query_params.get("path", "")
        if len(path) > 20_000 or "\0" in path:
            raise Invalid("path", "This is no path of a workspace.")
        return path

    def cursor(self, request: Request) -> int:
        text = request.query_params.get("cursor", "0")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise Invalid("cursor", "This cursor is not one of ours. Start without it.")
        return int(text)


class SnapshotDiff(LookingView):
    query = ("against", "cursor")
    serializer_class = SnapshotDiffSerializer

    @extend_schema(operation_id="snapshots_diff", parameters=[AGAINST, CURSOR])
    def get(self, request: Request, org: str, agt: str, snp: str) -> Response:
        """What was added, changed and removed from `against` to this one. Both copies must be on
        the node."""
        new, old, cursor = self.asked(snp), self.against(request), self.cursor(request)
        found = gateway.snapshot_diff(self.access, new.agent, new.pk, against=old.pk, cursor=cursor)
        return Response(self.waited_for(found))


class SnapshotText(LookingView):
    query = ("against", "path")
    serializer_class = SnapshotTextSerializer

    @extend_schema(operation_id="snapshots_diff_text", parameters=[AGAINST, PATH])
    def get(self, request: Request, org: str, agt: str, snp: str) -> Response:
        """What changed in one file, where it is text of at most 256 KiB in both."""
        new, old, path = self.asked(snp), self.against(request), self.path(request)
        found = gateway.snapshot_text(self.access, new.agent, new.pk, against=old.pk, path=path)
        return Response(self.waited_for(found))


class SnapshotFiles(LookingView):
    query = ("path", "cursor")
    serializer_class = SnapshotFilesSerializer

    @extend_schema(operation_id="snapshots_files", parameters=[FOLDER, CURSOR])
    def get(self, request: Request, org: str, agt: str, snp: str) -> Response:
        """What lies in one folder of it."""
        one, path, cursor = self.asked(snp), self.path(request), self.cursor(request)
        found = gateway.snapshot_files(self.access, one.agent, one.pk, path=path, cursor=cursor)
        return Response(self.waited_for(found))

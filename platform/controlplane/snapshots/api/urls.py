from django.urls import path

from controlplane.snapshots.api import looking, views

AGENT = "orgs/<org:org>/agents/<agt:agt>"

urlpatterns = [
    path(f"{AGENT}/snapshots", views.Snapshots.as_view()),
    path(f"{AGENT}/snapshots/<snp:snp>", views.OneSnapshot.as_view()),
    path(f"{AGENT}/snapshots/<snp:snp>/restore", views.SnapshotRestores.as_view()),
    path(f"{AGENT}/snapshots/<snp:snp>/fork", views.SnapshotForks.as_view()),
    path(f"{AGENT}/snapshot-plan", views.Plan.as_view()),
    path(f"{AGENT}/snapshots/<snp:snp>/diff", looking.SnapshotDiff.as_view()),
    path(f"{AGENT}/snapshots/<snp:snp>/diff/text", looking.SnapshotText.as_view()),
    path(f"{AGENT}/snapshots/<snp:snp>/files", looking.SnapshotFiles.as_view()),
    path(f"{AGENT}/restores", views.Restores.as_view()),
    path(f"{AGENT}/restores/<rst:rst>", views.OneRestore.as_view()),
]

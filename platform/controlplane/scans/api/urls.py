from django.urls import path

from controlplane.scans.api import views

SCANS = "orgs/<org:org>/agents/<agt:agt>/scans"

urlpatterns = [
    path(SCANS, views.Scans.as_view()),
    path(f"{SCANS}/<scn:scn>", views.OneScan.as_view()),
    path("scan-key", views.ScanKeys.as_view()),
]

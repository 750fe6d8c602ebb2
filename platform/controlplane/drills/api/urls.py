from django.urls import path

from controlplane.drills.api import views

AGENT = "orgs/<org:org>/agents/<agt:agt>"

urlpatterns = [
    path(f"{AGENT}/drills", views.Drills.as_view()),
    path(f"{AGENT}/drills/<drl:drl>", views.OneDrill.as_view()),
    path(f"{AGENT}/drill-plan", views.Plan.as_view()),
]

from django.urls import path

from controlplane.trials.api import views

urlpatterns = [
    path("orgs/<org:org>/trial-restores", views.TrialRestores.as_view()),
    path("orgs/<org:org>/trial-restores/<trl:trl>", views.OneTrialRestore.as_view()),
]

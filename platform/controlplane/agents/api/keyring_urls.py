from django.urls import path

from controlplane.agents.api import keyring as views

KEY, SECRET = "orgs/<org:org>/keys/<key:key>", "orgs/<org:org>/secrets/<sec:sec>"

urlpatterns = [
    path(KEY, views.OneKey.as_view()),
    path(f"{KEY}/rotate", views.RotateKey.as_view()),
    path(f"{KEY}/agents", views.KeyAgents.as_view()),
    path(SECRET, views.OneSecret.as_view()),
    path(f"{SECRET}/rotate", views.RotateSecret.as_view()),
    path(f"{SECRET}/agents", views.SecretAgents.as_view()),
]

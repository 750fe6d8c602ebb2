from django.urls import path

from controlplane.keys.api import views

urlpatterns = [
    path("orgs/<org:org>/keys", views.Keys.as_view()),
    path("orgs/<org:org>/secrets", views.Secrets.as_view()),
]
